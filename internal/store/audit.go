package store

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// chainedLog is where a log is kept: its table, the table of its head with the columns for the number of entries and
// the sealed hash of the last, and the name of its chain.
type chainedLog struct{ table, heads, count, head, chain string }

var accountLogs = map[audit.Log]chainedLog{
	audit.AuditLog:  {"audit_events", "accounts", "audit_count", "audit_head", audit.OfAnAccount},
	audit.PortalLog: {"portal_events", "accounts", "portal_count", "portal_head", audit.OfThePortal},
}

var staffLog = chainedLog{"staff_actions", "staff_actions_head", "entries", "head", audit.Administration}

// ErrNoChain is returned where a log would be sealed without a key, because SealLogs was not called.
var ErrNoChain = errors.New("the logs cannot be sealed without a key")

func (t *Tx) checkChain() error {
	if t.chain.IsZero() {
		return ErrNoChain
	}
	return nil
}

// seal gives an entry the next number of a log, whose head is in the row with an id, and makes it the newest. hash
// returns the hash of the entry with the number and that of the one before it.
func (t *Tx) seal(log chainedLog, id any, accountID string, hash func(number int64, previous string) string) error {
	if err := t.checkChain(); err != nil {
		return err
	}
	head := audit.Head{Chain: log.chain, AccountID: accountID}
	var stored string
	if err := t.db.Row(t.Context(), "UPDATE "+log.heads+" SET "+log.count+" = "+log.count+" + 1 WHERE id = $1 RETURNING "+
		log.count+", "+log.head, []any{id}, &head.Number, &stored); err != nil {
		return err
	}
	head.SetStored(stored)
	head.Hash = hash(head.Number, head.Hash)
	return t.db.One("UPDATE "+log.heads+" SET "+log.head+" = $1 WHERE id = $2", t.chain.SealHead(&head), id)
}

// AppendEvent writes an event to the account's log of the portal and, where the integration API knows its code, to its
// audit log. It belongs at the end of a transaction: everybody's events of the account wait for it.
func (t *Tx) AppendEvent(e *audit.Event) error {
	kept := *e
	if err := t.appendEvent(audit.PortalLog, &kept); err != nil {
		return err
	}
	if !slices.Contains(audit.Codes, e.Code) {
		*e = kept
		return nil
	}
	return t.AppendAudit(e)
}

// AppendAudit seals the event into the chain of the account's audit log and stores it. It sets ID, Seq and Hash.
func (t *Tx) AppendAudit(e *audit.Event) error { return t.appendEvent(audit.AuditLog, e) }

func (t *Tx) appendEvent(to audit.Log, e *audit.Event) error {
	metadata, err := detailsText(&e.Metadata)
	if err != nil {
		return err
	}
	e.ID, e.Personal = uuid7.New(), audit.NewPersonal()
	e.At = RoundTime(e.At)
	log := accountLogs[to]
	if err := t.seal(log, e.AccountID, e.AccountID, func(number int64, previous string) string {
		e.Seq = number
		e.Hash = t.chain.EventHash(previous, e, metadata)
		return e.Hash
	}); err != nil {
		return err
	}
	return t.db.Insert(log.table+" ("+auditColumns+")", e.ID, e.AccountID, e.Seq, e.UserID, column.Micros(e.At),
		string(e.Code), string(e.Actor.Type), column.TextOrNull(e.Actor.ID), e.Actor.Name, string(e.Actor.Source),
		string(e.Target.Type), column.TextOrNull(e.Target.ID), column.TextOrNull(e.Actor.IP),
		column.TextOrNull(e.Actor.UserAgent), metadata, e.Hash, e.Personal.Salt, nil)
}

// detailsText returns what an entry of a log tells besides, as JSON; without anything that is an empty object.
func detailsText(details *map[string]any) (string, error) {
	if *details == nil {
		*details = map[string]any{}
	}
	text, err := json.Marshal(*details)
	return string(text), err
}

// auditConditions returns the filter as SQL and adds its parameters.
func auditConditions(f audit.Filter, args *db.Arguments) string {
	where := ""
	if f.From != nil { // the log knows microseconds: round up, and To likewise
		where += " AND at >= " + args.Add(column.Micros(f.From.Add(time.Microsecond-1)))
	}
	if f.To != nil {
		where += " AND at < " + args.Add(column.Micros(f.To.Add(time.Microsecond-1)))
	}
	return where + args.Equal("code", string(f.Code)) + args.Equal("actor_type", string(f.ActorType)) +
		args.Equal("actor_id", f.ActorID) + args.Equal("source", string(f.Source)) +
		args.Equal("target_type", string(f.TargetType)) + args.Equal("target_id", f.TargetID)
}

const auditColumns = `id, account_id, seq, user_id, at, code, actor_type, actor_id, actor_name, source,
	target_type, target_id, ip, user_agent, metadata, hash, salt, seal`

// AuditPage returns events newest first and how many match. Without a filter a page is a range of the dense sequence
// and costs the same at any depth.
func (q Queries) AuditPage(
	ctx context.Context, accountID string, f audit.Filter, page, limit int,
) ([]*audit.Event, int64, error) {
	args := db.Arguments{accountID}
	where := auditConditions(f, &args)
	text := "SELECT " + auditColumns + " FROM audit_events WHERE account_id = $1" + where
	if where == "" {
		total, err := q.AuditCount(ctx, accountID)
		if err != nil {
			return nil, 0, err
		}
		high, low := seqRange(total, page, limit)
		events, err := db.Collect(ctx, q.db, scanEvent, text+" AND seq <= $2 AND seq > $3 ORDER BY seq DESC", accountID,
			high, low)
		return events, total, err
	}
	total, err := db.Value[int64](ctx, q.db, "SELECT COUNT(*) FROM audit_events WHERE account_id = $1"+where, args...)
	if err != nil {
		return nil, 0, err
	}
	if int64(page-1) > total/int64(limit) {
		return []*audit.Event{}, total, nil // past the end; the product could overflow
	}
	text += " ORDER BY seq DESC LIMIT " + args.Add(limit) + " OFFSET " + args.Add(int64(page-1)*int64(limit))
	events, err := db.Collect(ctx, q.db, scanEvent, text, args...)
	return events, total, err
}

func scanEvent(scan db.Scanner) (*audit.Event, error) {
	e, metadata, err := scanStoredEvent(scan)
	if err != nil {
		return nil, err
	}
	return e, json.Unmarshal([]byte(metadata), &e.Metadata)
}

// scanStoredEvent returns an event with the stored text of its metadata.
func scanStoredEvent(scan db.Scanner) (e *audit.Event, metadata string, err error) {
	e = new(audit.Event)
	err = scan(&e.ID, &e.AccountID, &e.Seq, &e.UserID, column.Time(&e.At), &e.Code, &e.Actor.Type,
		column.Text(&e.Actor.ID),
		&e.Actor.Name, &e.Actor.Source, &e.Target.Type, column.Text(&e.Target.ID), column.Text(&e.Actor.IP),
		column.Text(&e.Actor.UserAgent), &metadata, &e.Hash, column.Text(&e.Personal.Salt), column.Text(&e.Personal.Seal))
	return e, metadata, err
}

// AuditCount returns how many audit events an account has; the newest has this sequence number.
func (q Queries) AuditCount(ctx context.Context, accountID string) (int64, error) {
	return q.EventCount(ctx, audit.AuditLog, accountID)
}

// EventCount returns the sequence number of the newest event of a log of an account.
func (q Queries) EventCount(ctx context.Context, of audit.Log, accountID string) (int64, error) {
	return db.Value[int64](ctx, q.db, "SELECT "+accountLogs[of].count+" FROM accounts WHERE id = $1", accountID)
}

// AuditBelow returns up to limit events that match the filter and whose sequence number is not above seq, newest first.
// Nothing is counted: what it costs does not grow with the log, as long as the filter names times, or a code or an
// actor.
func (q Queries) AuditBelow(
	ctx context.Context, accountID string, f audit.Filter, seq int64, limit int,
) ([]*audit.Event, error) {
	table := accountLogs[f.Log].table
	if f.To != nil { // times and sequence run alike: begin where the time is reached
		high, err := q.auditSeqBefore(ctx, table, accountID, column.Micros(*f.To))
		if err != nil {
			return nil, err
		}
		seq = min(seq, high+auditSkew)
	}
	low := int64(0)
	if f.From != nil {
		first, err := q.auditSeqBefore(ctx, table, accountID, column.Micros(*f.From))
		if err != nil {
			return nil, err
		}
		low = first - auditSkew
	}
	args := db.Arguments{accountID, seq, low, limit}
	span, sorted := "seq <= $2 AND seq > $3", "seq DESC"
	if lead, value := takeIndexedField(&f); lead != "" { // a range of the index that begins with what is looked for
		args.Add(value)
		span, sorted = "("+lead+", seq) <= ($5, $2) AND ("+lead+", seq) > ($5, $3)", lead+" DESC, seq DESC"
	}
	where := auditConditions(f, &args)
	return db.Collect(ctx, q.db, scanEvent, "SELECT "+auditColumns+" FROM "+table+
		" WHERE account_id = $1 AND "+span+where+" ORDER BY "+sorted+" LIMIT $4", args...)
}

// takeIndexedField removes from the filter the field that an index of the log begins with, the code or else the actor,
// and returns it.
func takeIndexedField(f *audit.Filter) (column, value string) {
	switch {
	case f.Code != "":
		column, value = "code", string(f.Code)
		f.Code = ""
	case f.ActorID != "":
		column, value = "actor_id", f.ActorID
		f.ActorID = ""
	}
	return column, value
}

// auditSkew is how far sequence and time may be apart where events were written at the same moment by several nodes.
const auditSkew = 1000

func (q Queries) auditSeqBefore(ctx context.Context, table, accountID string, at int64) (int64, error) {
	return db.Value[int64](ctx, q.db, "SELECT COALESCE((SELECT seq FROM "+table+
		" WHERE account_id = $1 AND at < $2 ORDER BY at DESC LIMIT 1), 0)", accountID, at)
}

// AuditEvent returns an event of a log of the account by its sequence number.
func (q Queries) AuditEvent(ctx context.Context, of audit.Log, accountID string, seq int64) (*audit.Event, error) {
	e, err := db.First(q.AuditBelow(ctx, accountID, audit.Filter{Log: of}, seq, 1))
	if err == nil && e.Seq != seq {
		return nil, ErrNotFound
	}
	return e, err
}

// AppendStaffAction seals an entry into the log of administration and sets ID, Seq and Hash. Nothing removes one. It
// belongs at the end of a transaction: everybody's entries wait for it.
func (t *Tx) AppendStaffAction(a *audit.Action) error {
	details, err := detailsText(&a.Details)
	if err != nil {
		return err
	}
	a.ID, a.Personal = uuid7.New(), audit.NewPersonal()
	a.At = RoundTime(a.At)
	if err := t.seal(staffLog, 1, "", func(number int64, previous string) string {
		a.Seq = number
		a.Hash = t.chain.ActionHash(previous, a, details)
		return a.Hash
	}); err != nil {
		return err
	}
	return t.db.Insert("staff_actions ("+actionColumns+")", a.ID, a.Seq, column.Micros(a.At), string(a.Code),
		column.TextOrNull(a.StaffID), a.StaffName, column.TextOrNull(a.AccountID), string(a.Target.Type), a.Target.ID,
		a.Target.Name, column.TextOrNull(a.IP), column.TextOrNull(a.UserAgent), details, a.Hash, a.Personal.Salt, nil)
}

const actionColumns = `id, seq, at, code, staff_id, staff_name, account_id, target_type, target_id, target_name, ip,
	user_agent, details, hash, salt, seal`

// scanStoredAction returns an entry with the stored text of its details.
func scanStoredAction(scan db.Scanner) (a *audit.Action, details string, err error) {
	a = new(audit.Action)
	err = scan(&a.ID, &a.Seq, column.Time(&a.At), &a.Code, column.Text(&a.StaffID), &a.StaffName,
		column.Text(&a.AccountID), &a.Target.Type, &a.Target.ID, &a.Target.Name, column.Text(&a.IP),
		column.Text(&a.UserAgent), &details, &a.Hash, column.Text(&a.Personal.Salt), column.Text(&a.Personal.Seal))
	return a, details, err
}

// StaffActions returns up to limit entries of the log after a cursor, the newest first. Nothing is counted: a page is a
// range of an index, at any depth.
func (q Queries) StaffActions(
	ctx context.Context, f audit.ActionFilter, after audit.ActionCursor, limit int,
) ([]*audit.Action, error) {
	at := int64(math.MaxInt64)
	if after.ID != "" {
		at = column.Micros(after.At)
	}
	args := db.Arguments{at, after.ID, limit}
	where := args.Equal("code", string(f.Code)) + args.Equal("staff_id", f.StaffID) +
		args.Equal("account_id", f.AccountID) + args.Equal("target_id", f.TargetID)
	if f.From != nil {
		where += " AND at >= " + args.Add(column.Micros(*f.From))
	}
	if f.To != nil {
		where += " AND at < " + args.Add(column.Micros(*f.To))
	}
	if f.Operator {
		where += " AND staff_id IS NULL"
	}
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*audit.Action, error) {
		a, details, err := scanStoredAction(scan)
		if err != nil {
			return nil, err
		}
		return a, json.Unmarshal([]byte(details), &a.Details)
	}, "SELECT "+actionColumns+" FROM staff_actions WHERE (at, id) < ($1, $2)"+where+
		" ORDER BY at DESC, id DESC LIMIT $3", args...)
}

// BeginStaffLog seals the head of the log of administration while it has no entry, with the chain of a new
// installation: from then on an empty log can be told from one that was emptied.
func (t *Tx) BeginStaffLog(c audit.Chain) error {
	return t.exec("UPDATE staff_actions_head SET head = $1 WHERE id = 1 AND entries = 0 AND head = ''",
		c.SealHead(&audit.Head{Chain: audit.Administration}))
}

// AdministrationHead returns the newest entry of the log of administration.
func (q Queries) AdministrationHead(ctx context.Context) (audit.Head, error) {
	h := audit.Head{Chain: audit.Administration}
	var stored string
	err := q.db.Row(ctx, "SELECT entries, head FROM staff_actions_head WHERE id = 1", nil, &h.Number, &stored)
	h.SetStored(stored)
	return h, err
}

// AuditHeads returns the newest entry of the logs of up to limit accounts whose ids follow the given one, in the order
// of ids.
func (q Queries) AuditHeads(ctx context.Context, accountID string, limit int) ([]audit.Head, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (audit.Head, error) {
		h := audit.Head{Chain: audit.OfAnAccount}
		var stored string
		err := scan(&h.AccountID, &h.Number, &stored)
		h.SetStored(stored)
		return h, err
	}, "SELECT id, audit_count, audit_head FROM accounts WHERE id > $1 ORDER BY id LIMIT $2", accountID, limit)
}

// PortalHeads is AuditHeads for the logs of the portal that have entries.
func (q Queries) PortalHeads(ctx context.Context, accountID string, limit int) ([]audit.Head, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (audit.Head, error) {
		h, err := scanPortalHead(scan)
		return h.Head, err
	}, "SELECT "+portalHeadColumns+" FROM accounts WHERE id > $1 AND portal_count > 0 ORDER BY id LIMIT $2", accountID,
		limit)
}

// PortalHeadOf returns the newest entry of an account's log of the portal.
func (q Queries) PortalHeadOf(ctx context.Context, accountID string) (PortalHead, error) {
	return db.First(db.Collect(ctx, q.db, scanPortalHead, "SELECT "+portalHeadColumns+" FROM accounts WHERE id = $1",
		accountID))
}

const portalHeadColumns = "id, portal_count, portal_head, portal_gone, portal_anchor"

func scanPortalHead(scan db.Scanner) (PortalHead, error) {
	h := PortalHead{Head: audit.Head{Chain: audit.OfThePortal}, Trimmed: audit.Head{Chain: audit.PortalTrimmed}}
	var head, anchor string
	err := scan(&h.AccountID, &h.Number, &head, &h.Trimmed.Number, &anchor)
	h.Trimmed.AccountID = h.AccountID
	h.SetStored(head)
	h.Trimmed.SetStored(anchor)
	return h, err
}

// PortalHead is the newest entry of an account's log of the portal, with the last one that is not kept any more.
type PortalHead struct {
	audit.Head
	Trimmed audit.Head
}

const headBatch = 500

// LogHeads returns the newest entry of the log of administration and of the logs of every account, without their seals,
// which say nothing outside the database.
func (q Queries) LogHeads(ctx context.Context) ([]audit.Head, error) {
	return q.FirstLogHeads(ctx, math.MaxInt)
}

// FirstLogHeads is LogHeads for up to limit logs.
func (q Queries) FirstLogHeads(ctx context.Context, limit int) ([]audit.Head, error) {
	head, err := q.AdministrationHead(ctx)
	if err != nil {
		return nil, err
	}
	heads, err := moreHeads(ctx, []audit.Head{head}, limit, q.AuditHeads)
	if err != nil {
		return nil, err
	}
	heads, err = moreHeads(ctx, heads, limit, q.PortalHeads)
	for i := range heads {
		heads[i].Seal = ""
	}
	return heads, err
}

// moreHeads adds the heads that page returns, account by account, until there are limit.
func moreHeads(
	ctx context.Context, heads []audit.Head, limit int, page func(context.Context, string, int) ([]audit.Head, error),
) ([]audit.Head, error) {
	for last := ""; len(heads) < limit; {
		n := min(headBatch, limit-len(heads))
		more, err := page(ctx, last, n)
		if err != nil {
			return nil, err
		}
		if heads = append(heads, more...); len(more) < n {
			break
		}
		last = more[len(more)-1].AccountID
	}
	return heads, nil
}
