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

// eraseOrderKeys deletes the idempotency key of an order, which was written with it and has its time: by that it is
// found. Its tenant is hidden from the planner, which would otherwise read all keys of the tenant.
const eraseOrderKeys = `DELETE FROM idempotency_keys WHERE created_at = (SELECT created_at FROM orders WHERE id = $1)
	AND tenant + 0 = (SELECT tenant FROM orders WHERE id = $1) AND answer LIKE '%' || $1 || '%'`

// eraseOrderEvents deletes the events of an order from n times.
func eraseOrderEvents(n int) string {
	return "DELETE FROM events WHERE order_id = $1 AND created_at IN " + db.List(2, n)
}

// eraseCopies deletes copies of what the order's row says, unless they go with the account. No index leads from an
// order to its events: each has the time of the move that it tells of, which is in the timeline.
func (t *Tx) eraseCopies(e Erasure, orderID string) error {
	times, err := db.Column[int64](t.Context(), t.db.Queries,
		"SELECT DISTINCT at FROM order_events WHERE order_id = $1 ORDER BY at", orderID)
	if err != nil {
		return err
	}
	e["events"] += 0 // the report also names what there was nothing of
	if err := db.InBatches(times, func(times []int64) error {
		n, err := t.db.Exec(eraseOrderEvents(len(times)), append([]any{orderID}, db.Anys(times)...)...)
		return e.add("events", n, err)
	}); err != nil {
		return err
	}
	return t.erase(e, [][2]string{{"idempotency_keys", eraseOrderKeys}}, orderID)
}

// EraseOrderTexts erases what people wrote for an order, and copies of it.
func (t *Tx) EraseOrderTexts(e Erasure, orderID string) error {
	if err := t.eraseCopies(e, orderID); err != nil {
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

// eraseFacts locks the order: what a move writes meanwhile must not be lost.
func (t *Tx) eraseFacts(e Erasure, orderID string, names bool) error {
	var facts, created string
	if err := t.db.Row(t.Context(), "SELECT facts, creation FROM orders WHERE id = $1"+t.db.Dialect.ForUpdate,
		[]any{orderID}, &facts, &created); err != nil {
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
	if _, err := t.releaseUnsubmitted("account_id = $1", accountID); err != nil {
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
	if err := t.checkChain(); err != nil {
		return 0, err
	}
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
	if err := t.checkChain(); err != nil {
		return err
	}
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
