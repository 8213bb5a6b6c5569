package store

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// Erasure counts what was erased, by what it is.
type Erasure map[string]int64

// add counts what a statement has changed.
func (e Erasure) add(what string, n int64, err error) error {
	e[what] += n
	return err
}

// erase runs statements with the same arguments, and counts what each has changed.
func (t *Tx) erase(e Erasure, statements [][2]string, args ...any) error {
	for _, s := range statements {
		n, err := t.db.Exec(s[1], args...)
		if err := e.add(s[0], n, err); err != nil {
			return err
		}
	}
	return nil
}

// ErasePhotos marks photos as erased and forgets what their files were called. It returns those that were not erased
// before: their files are deleted after the transaction.
func (t *Tx) ErasePhotos(names []string, at time.Time) (erased []photo.Stored, err error) {
	err = db.InBatches(names, func(names []string) error {
		some, err := db.Collect(t.Context(), t.db.Queries, scanErased, `UPDATE photos SET erased_at = $1, original_name = ''
			WHERE erased_at IS NULL AND name IN `+db.List(2, len(names))+" RETURNING name, account_id, environment, bytes",
			append([]any{column.Micros(at)}, db.Anys(names)...)...)
		erased = append(erased, some...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return erased, t.countPhotos(erased, -1)
}

// ErasePhotosOf erases the photos of orders, except those that open Live orders have: the desk still needs them. It
// returns all of the others; those that were erased before are marked as such: their files are gone unless that was
// interrupted. The photos of an order that cannot be read stay, and those that an open one that cannot be read may
// have: their errors are returned by the orders' ids. The photos are locked before it is asked what open orders have:
// an order that takes one is seen, or does not get it any more.
func (t *Tx) ErasePhotosOf(ids []string, at time.Time) (gone []photo.Stored, unreadable map[string]error, err error) {
	ofOrders, unreadable, err := t.photosOfOrders(ids)
	if err != nil {
		return nil, nil, err
	}
	photos, err := t.lockPhotos(ofOrders)
	if err != nil {
		return nil, nil, err
	}
	open, err := t.openPhotosBeside(photos)
	if err != nil {
		return nil, nil, err
	}
	erase := make(map[string]bool)
	for _, id := range ids {
		some, err := open.without(ofOrders[id], photos)
		if err != nil {
			unreadable[id] = err
			continue
		}
		for _, name := range some {
			erase[name] = true
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(erase)) {
		if p := photos[name]; p.Erased {
			gone = append(gone, p)
		} else {
			names = append(names, name)
		}
	}
	erased, err := t.ErasePhotos(names, at)
	return append(erased, gone...), unreadable, err
}

// photosOfOrders returns the names of the photos of orders, by order, and the errors of those that cannot be read.
func (t *Tx) photosOfOrders(ids []string) (names map[string][]string, unreadable map[string]error, err error) {
	names, unreadable = make(map[string][]string), make(map[string]error)
	err = db.InBatches(ids, func(ids []string) error {
		return t.photoNames("id IN "+db.List(1, len(ids)), db.Anys(ids), names, unreadable)
	})
	return names, unreadable, err
}

// photoNames adds the names of the photos of some orders, by order, and the errors of those that cannot be read.
func (t *Tx) photoNames(orders string, args []any, names map[string][]string, unreadable map[string]error) error {
	err := t.db.Rows(t.Context(), "SELECT id, creation FROM orders WHERE "+orders, args, func(scan db.Scanner) error {
		var id, text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		var c creation
		if err := readable(id, decodeCreation(text, &c)); err != nil {
			unreadable[id] = err
			return nil
		}
		for _, p := range c.Photos {
			names[id] = append(names[id], p.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.db.Rows(t.Context(), `SELECT order_id, photo FROM order_photos WHERE photo IS NOT NULL
		AND order_id IN (SELECT id FROM orders WHERE round > 0 AND `+orders+")", args, func(scan db.Scanner) error {
		var id, name string
		err := scan(&id, &name)
		if unreadable[id] == nil {
			names[id] = append(names[id], name)
		}
		return err
	})
}

// lockPhotos returns what is known of the photos of orders, by name, and keeps orders from taking them meanwhile.
func (t *Tx) lockPhotos(ofOrders map[string][]string) (map[string]photo.Stored, error) {
	var names []string
	for _, some := range ofOrders {
		names = append(names, some...)
	}
	slices.Sort(names) // always in the same order: none waits for the other
	names = slices.Compact(names)
	if lock := t.db.Dialect.ForUpdate; lock != "" {
		if err := db.InBatches(names, func(names []string) error {
			return t.exec("SELECT name FROM photos WHERE name IN "+db.List(1, len(names))+" ORDER BY name"+lock,
				db.Anys(names)...)
		}); err != nil {
			return nil, err
		}
	}
	return t.photos(t.Context(), names)
}

// openPhotos is what the Live orders have that have not ended.
type openPhotos struct {
	names   map[string]bool
	unknown map[string]error // by account: one of its orders cannot be read, which may have any photo of it
}

// openPhotosBeside returns the photos of the open orders of the accounts whose Live photos may be erased, with two
// statements for each account. Open orders are Live, and have no photos of Test orders.
func (t *Tx) openPhotosBeside(photos map[string]photo.Stored) (*openPhotos, error) {
	open := &openPhotos{names: make(map[string]bool), unknown: make(map[string]error)}
	accounts := make(map[string]bool)
	for _, p := range photos {
		if p.Environment == access.Live && !p.Erased {
			accounts[p.AccountID] = true
		}
	}
	for accountID := range accounts {
		names, unreadable := make(map[string][]string), make(map[string]error)
		if err := t.photoNames(liveOpen, []any{accountID}, names, unreadable); err != nil {
			return nil, err
		}
		for _, some := range names {
			for _, name := range some {
				open.names[name] = true
			}
		}
		for _, id := range slices.Sorted(maps.Keys(unreadable)) {
			open.unknown[accountID] = errors.Join(open.unknown[accountID], unreadable[id])
		}
	}
	return open, nil
}

// without returns those of the names that no open order has, or the error of one that may have one of them.
func (o *openPhotos) without(names []string, photos map[string]photo.Stored) (others []string, err error) {
	for _, name := range names {
		p, ok := photos[name]
		if !ok || o.names[name] && !p.Erased {
			continue
		}
		if err := o.unknown[p.AccountID]; err != nil && p.Environment == access.Live && !p.Erased {
			return nil, err
		}
		others = append(others, name)
	}
	return others, nil
}

func scanErased(scan db.Scanner) (p photo.Stored, err error) {
	err = scan(&p.Name, &p.AccountID, &p.Environment, &p.Bytes)
	return p, err
}

// EraseUnusedPhotosOf marks up to limit photos of an account that no order has as erased, and returns them. Their rows
// go after their files, with DropErasedPhotos: an erasure that is run again finds what it has left.
func (t *Tx) EraseUnusedPhotosOf(accountID string, limit int, at time.Time) ([]photo.Stored, error) {
	before, err := db.Collect(t.Context(), t.db.Queries, func(scan db.Scanner) (p photo.Stored, err error) {
		p, err = scanErased(scan)
		p.Erased = true
		return p, err
	}, `SELECT name, account_id, environment, bytes FROM photos
		WHERE account_id = $1 AND used = 0 AND erased_at IS NOT NULL ORDER BY name LIMIT $2`, accountID, limit)
	if err != nil {
		return nil, err
	}
	erased, err := db.Collect(t.Context(), t.db.Queries, scanErased, `UPDATE photos SET erased_at = $1, original_name = ''
		WHERE used = 0 AND erased_at IS NULL AND name IN (SELECT name FROM photos
		WHERE account_id = $2 AND used = 0 AND erased_at IS NULL ORDER BY name LIMIT $3)
		RETURNING name, account_id, environment, bytes`, column.Micros(at), accountID, limit-len(before))
	if err != nil {
		return nil, err
	}
	return append(erased, before...), t.countPhotos(erased, -1)
}

// UnusedPhotosOf returns the photos of an account that no order has.
func (q Queries) UnusedPhotosOf(ctx context.Context, accountID string) ([]photo.Stored, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (p photo.Stored, err error) {
		err = scan(&p.Name, &p.AccountID, &p.Environment, &p.Bytes, &p.Erased)
		return p, err
	}, `SELECT name, account_id, environment, bytes, erased_at IS NOT NULL FROM photos
		WHERE account_id = $1 AND used = 0`, accountID)
}

// DropErasedPhotos removes the rows of erased photos that no order has.
func (t *Tx) DropErasedPhotos(photos []photo.Stored) error {
	return db.InBatches(namesOf(photos), func(names []string) error {
		return t.exec("DELETE FROM photos WHERE used = 0 AND erased_at IS NOT NULL AND name IN "+db.List(1, len(names)),
			db.Anys(names)...)
	})
}

// liveOpen is the Live orders of an account that have not ended.
const liveOpen = ofLiveTenant + " AND COALESCE(outcome, status) IN ('queued', 'processing', 'update-photos')"

// LiveOpenOrders returns the ids of the Live orders of an account that have not ended.
func (q Queries) LiveOpenOrders(ctx context.Context, accountID string) ([]string, error) {
	return db.Column[string](ctx, q.db, "SELECT id FROM orders WHERE "+liveOpen+" ORDER BY id", accountID)
}

// OrdersOf returns the ids of up to limit orders of a tenant that follow a number in its sequence, and the last number.
func (q Queries) OrdersOf(
	ctx context.Context, tenant access.Tenant, after int64, limit int,
) (ids []string, last int64, err error) {
	err = q.db.Records(ctx, "SELECT id, seq FROM orders WHERE "+ofTenant+" AND seq > $3 ORDER BY seq LIMIT $4",
		[]any{tenant.AccountID, string(tenant.Environment), after, int64(limit)}, func(r *db.Record) error {
			ids, last = append(ids, r.Text(0)), r.Integer(1)
			return nil
		})
	return ids, last, err
}

// eraseOfOrder is what is deleted of an order: what people wrote.
var eraseOfOrder = [][2]string{
	{"order_notes", "DELETE FROM order_notes WHERE order_id = $1"},
	{"verdict_drafts", "DELETE FROM verdict_drafts WHERE order_id = $1"},
	{"external_ids", "UPDATE orders SET external_id = NULL WHERE id = $1 AND external_id IS NOT NULL"},
}

// eraseBesideOrder is what is deleted besides, unless it goes with the account: links, and copies of what the order's
// row says.
var eraseBesideOrder = [][2]string{
	{"capture_links", "DELETE FROM capture_links WHERE order_id = $1"},
	{"events", `DELETE FROM events WHERE order_id = $1
		AND api_key_id = (SELECT api_key_id FROM orders WHERE id = $1)`},
	{"idempotency_keys", `DELETE FROM idempotency_keys
		WHERE tenant = (SELECT tenant FROM orders WHERE id = $1)
		AND answer LIKE '%' || $1 || '%'`},
}

// EraseOrderTexts erases what people wrote for an order, and copies of it.
func (t *Tx) EraseOrderTexts(e Erasure, orderID string) error {
	if err := t.erase(e, eraseBesideOrder, orderID); err != nil {
		return err
	}
	if err := t.eraseDeliveries(e, orderID); err != nil {
		return err
	}
	return t.eraseTexts(e, orderID, false)
}

// EraseAccountOrderTexts erases what people wrote for an order of an account that is erased, and the names of the keys
// and users who moved it. Copies of it go with the account.
func (t *Tx) EraseAccountOrderTexts(e Erasure, orderID string) error {
	return t.eraseTexts(e, orderID, true)
}

func (t *Tx) eraseTexts(e Erasure, orderID string, names bool) error {
	if err := t.erase(e, eraseOfOrder, orderID); err != nil {
		return err
	}
	if err := t.eraseFacts(e, orderID, names); err != nil {
		return err
	}
	return t.eraseTimeline(e, orderID, names)
}

// eraseDeliveries deletes the deliveries of an order.
func (t *Tx) eraseDeliveries(e Erasure, orderID string) error {
	ids, err := db.Column[string](t.Context(), t.db.Queries, "SELECT id FROM deliveries WHERE order_id = $1 ORDER BY id",
		orderID)
	if err != nil {
		return err
	}
	return t.dropDeliveries(e, ids)
}

func (t *Tx) eraseFacts(e Erasure, orderID string, names bool) error {
	var facts, created string
	err := t.db.Row(t.Context(), "SELECT facts, creation FROM orders WHERE id = $1", []any{orderID}, &facts, &created)
	if err != nil {
		return err
	}
	recorded, err := order.DecodeRecorded(facts)
	if err != nil {
		return err
	}
	var c creation
	if err := decodeCreation(created, &c); err != nil {
		return err
	}
	if names {
		c.KeyName = ""
	}
	recorded.EraseTexts()
	newFacts, err := json.Marshal(recorded)
	if err != nil {
		return err
	}
	newCreation, err := json.Marshal(&c)
	if err != nil || string(newFacts) == facts && string(newCreation) == created {
		return err
	}
	n, err := t.db.Exec("UPDATE orders SET facts = $1, creation = $2 WHERE id = $3", string(newFacts), string(newCreation),
		orderID)
	return e.add("order_texts", n, err)
}

// writtenDetails are those of a timeline that people wrote, or that may contain it.
var writtenDetails = []string{"note", "reason_text", "unreadable"}

func (t *Tx) eraseTimeline(e Erasure, orderID string, names bool) error {
	entries, err := db.Pairs[int64, string](t.Context(), t.db.Queries,
		"SELECT seq, details FROM order_events WHERE order_id = $1", orderID)
	if err != nil {
		return err
	}
	for _, seq := range slices.Sorted(maps.Keys(entries)) {
		var details map[string]json.RawMessage
		if err := json.Unmarshal([]byte(entries[seq]), &details); err != nil {
			return err
		}
		before := len(details)
		for _, name := range writtenDetails {
			delete(details, name)
		}
		if len(details) == before {
			continue
		}
		text, err := json.Marshal(details)
		if err != nil {
			return err
		}
		n, err := t.db.Exec("UPDATE order_events SET details = $1 WHERE order_id = $2 AND seq = $3",
			string(text), orderID, seq)
		if err := e.add("timeline_texts", n, err); err != nil {
			return err
		}
	}
	if !names {
		return nil
	}
	return t.erase(e, [][2]string{{"timeline_names", `UPDATE order_events SET actor_name = ''
		WHERE order_id = $1 AND actor_type IN ('user', 'api-key') AND actor_name <> ''`}}, orderID)
}

const usersOf = " IN (SELECT id FROM users WHERE account_id = $1)"

// eraseOfAccount is what is deleted or emptied of an account when it is closed.
var eraseOfAccount = [][2]string{
	{"sessions", "DELETE FROM sessions WHERE audience = 'portal' AND user_id" + usersOf},
	{"second_factors", "DELETE FROM totp WHERE audience = 'portal' AND user_id" + usersOf},
	{"recovery_codes", "DELETE FROM recovery_codes WHERE audience = 'portal' AND user_id" + usersOf},
	{"passkeys", "DELETE FROM passkeys WHERE audience = 'portal' AND user_id" + usersOf},
	{"browsers", "DELETE FROM sign_in_devices WHERE audience = 'portal' AND user_id" + usersOf},
	{"mails", "DELETE FROM mails WHERE account_id = $1"},
	{"capture_links", "DELETE FROM capture_links WHERE account_id = $1"},
	{"approvals", `UPDATE approvals SET target_name = '', deed = '{}',
		status = CASE WHEN status = 'open' THEN 'withdrawn' ELSE status END,
		decided_at = COALESCE(decided_at, requested_at) WHERE account_id = $1 AND deed <> '{}'`},
	{"links", "DELETE FROM links WHERE account_id = $1"},
	{"endpoint_hours", `DELETE FROM endpoint_hours WHERE endpoint_id IN
		(SELECT id FROM webhook_endpoints WHERE account_id = $1
		UNION ALL SELECT id FROM deleted_endpoints WHERE account_id = $1)`},
	{"deleted_endpoints", "DELETE FROM deleted_endpoints WHERE account_id = $1"},
	{"webhook_endpoints", "DELETE FROM webhook_endpoints WHERE account_id = $1"},
	// Any of the uploaded catalogs may have its name and its prices, and all can be uploaded again.
	{"catalog_drafts", "DELETE FROM catalog_drafts WHERE EXISTS (SELECT 1 FROM accounts WHERE id = $1)"},
	{"users", `UPDATE users SET email = 'erased-' || id || '@erased.invalid', password_hash = ''
		WHERE account_id = $1 AND password_hash <> ''`},
	{"api_keys", `UPDATE api_keys SET name = 'erased', networks = ''
		WHERE account_id = $1 AND (name <> 'erased' OR networks <> '')`},
	{"account_names", "UPDATE accounts SET name = 'erased ' || id WHERE id = $1 AND name <> 'erased ' || id"},
}

// EraseAccount closes an account and erases what is known of it and its users. Its orders, photos and logs, and the
// rows that may be many, are erased apart, in batches.
func (t *Tx) EraseAccount(e Erasure, accountID string, at time.Time) error {
	if err := t.LockTeam(accountID); err != nil {
		return err
	}
	if err := errors.Join(
		t.exec("UPDATE users SET removed_at = $2 WHERE account_id = $1 AND removed_at IS NULL", accountID, column.Micros(at)),
		t.exec("UPDATE api_keys SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL", accountID,
			column.Micros(at)),
	); err != nil {
		return err
	}
	return t.erase(e, eraseOfAccount, accountID)
}

// manyOfAccount is what may be too much of an account to be deleted at once: tables, their keys, and which rows are
// the account's.
var manyOfAccount = []struct{ table, key, where, first string }{
	{"request_log", "id", "account_id = $1", "environment, id"},
	{"idempotency_keys", "tenant, key", ofAccount, "tenant, key"},
	{
		"events", "api_key_id, seq, created_at", "api_key_id IN (SELECT id FROM api_keys WHERE account_id = $1)",
		"api_key_id, seq",
	},
}

// EraseAccountRows deletes up to limit rows of an account from each of the tables in which it may have many, deliveries
// with what there is of them. It reports whether more may be left.
func (t *Tx) EraseAccountRows(e Erasure, accountID string, limit int) (more bool, err error) {
	for _, m := range manyOfAccount {
		n, err := t.db.Exec("DELETE FROM "+m.table+" WHERE ("+m.key+") IN (SELECT "+m.key+" FROM "+m.table+
			" WHERE "+m.where+" ORDER BY "+m.first+" LIMIT $2)", accountID, limit)
		if err := e.add(m.table, n, err); err != nil {
			return false, err
		}
		more = more || n == int64(limit)
	}
	ids, err := db.Column[string](t.Context(), t.db.Queries,
		"SELECT id FROM deliveries WHERE account_id = $1 ORDER BY environment, id LIMIT $2", accountID, limit)
	if err != nil {
		return false, err
	}
	return more || len(ids) == limit, t.dropDeliveries(e, ids)
}

// dropDeliveries deletes deliveries, and then what there is of them: none that is gone gets into the queue any more.
func (t *Tx) dropDeliveries(e Erasure, ids []string) error {
	for _, what := range []string{"deliveries", "delivery_queue", "delivery_attempts"} {
		e[what] += 0 // the report also names what there was nothing of
	}
	return db.InBatches(ids, func(ids []string) error { return t.dropDeliveryBatch(e, ids) })
}

func (t *Tx) dropDeliveryBatch(e Erasure, ids []string) error {
	list, args := db.List(1, len(ids)), db.Anys(ids)
	gone, err := db.Pairs[string, string](t.Context(), t.db.Queries,
		"DELETE FROM deliveries WHERE id IN "+list+" RETURNING id, endpoint_id", args...)
	if err != nil {
		return err
	}
	e["deliveries"] += int64(len(gone))
	endpoints := slices.Compact(slices.Sorted(maps.Values(gone)))
	for _, endpointID := range endpoints {
		n, err := t.db.Exec("DELETE FROM delivery_queue WHERE endpoint_id = $1 AND delivery_id IN "+db.List(2, len(ids)),
			append([]any{endpointID}, args...)...)
		if err := e.add("delivery_queue", n, err); err != nil {
			return err
		}
	}
	n, err := t.db.Exec("DELETE FROM delivery_attempts WHERE delivery_id IN "+list, args...)
	return e.add("delivery_attempts", n, err)
}

// CountAccountRows counts what EraseAccountRows would delete in all.
func (q Queries) CountAccountRows(ctx context.Context, e Erasure, accountID string) error {
	const ofDeliveries = "delivery_id IN (SELECT id FROM deliveries WHERE account_id = $1)"
	rows := [][2]string{
		{"deliveries", "account_id = $1"}, {"delivery_queue", ofDeliveries}, {"delivery_attempts", ofDeliveries},
	}
	for _, m := range manyOfAccount {
		rows = append(rows, [2]string{m.table, m.where})
	}
	for _, of := range rows {
		n, err := db.Value[int64](ctx, q.db, "SELECT COUNT(*) FROM "+of[0]+" WHERE "+of[1], accountID)
		if err := e.add(of[0], n, err); err != nil {
			return err
		}
	}
	return nil
}

// EraseEvents erases what up to limit entries of a log of an account after a number say of people. It returns the
// number of the last of them, 0 when there was none. The chain holds as before.
func (t *Tx) EraseEvents(
	e Erasure, of audit.Log, accountID string, after int64, limit int,
) (last int64, err error) {
	table := accountLogs[of].table
	type entry struct {
		*audit.Event
		metadata string
	}
	entries, err := db.Collect(t.Context(), t.db.Queries, func(scan db.Scanner) (x entry, err error) {
		x.Event, x.metadata, err = scanStoredEvent(scan)
		return x, err
	}, "SELECT "+auditColumns+" FROM "+table+" WHERE account_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
		accountID, after, limit)
	for _, x := range entries {
		if last = x.Seq; x.Personal.Salt == "" {
			continue
		}
		n, err := t.db.Exec("UPDATE "+table+` SET actor_name = '', ip = NULL, user_agent = NULL, metadata = $1, salt = NULL,
			seal = $2 WHERE id = $3`, audit.Nothing, t.chain.EventSeal(x.Event, x.metadata), x.ID)
		if err := e.add(table, n, err); err != nil {
			return 0, err
		}
	}
	return last, err
}

// EraseStaffLog erases what the entries of the log of administration about an account call it and its users. Who did
// what, when and from where stays: that is about those who run the service.
func (t *Tx) EraseStaffLog(e Erasure, accountID string) error {
	type entry struct {
		*audit.Action
		details string
	}
	entries, err := db.Collect(t.Context(), t.db.Queries, func(scan db.Scanner) (x entry, err error) {
		x.Action, x.details, err = scanStoredAction(scan)
		return x, err
	}, "SELECT "+actionColumns+" FROM staff_actions WHERE account_id = $1 AND salt IS NOT NULL", accountID)
	if err != nil {
		return err
	}
	for _, x := range entries {
		n, err := t.db.Exec("UPDATE staff_actions SET target_name = '', details = $1, salt = NULL, seal = $2 WHERE id = $3",
			audit.Nothing, t.chain.ActionSeal(x.Action, x.details), x.ID)
		if err := e.add("staff_actions", n, err); err != nil {
			return err
		}
	}
	return nil
}
