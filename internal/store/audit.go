package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
)

// AppendAudit seals the event into the account's chain and stores it. It sets ID, Seq and Hash.
func (t *Tx) AppendAudit(e *audit.Event) error {
	if e.Metadata == nil {
		e.Metadata = map[string]any{}
	}
	metadata, err := json.Marshal(e.Metadata)
	if err != nil {
		return err
	}
	e.ID = NewID()
	e.At = e.At.UTC().Truncate(time.Microsecond)
	var previous string
	if err := t.row(t.ctx, `UPDATE accounts SET audit_count = audit_count + 1
			WHERE id = $1 RETURNING audit_count, audit_head`,
		[]any{e.AccountID}, &e.Seq, &previous); err != nil {
		return err
	}
	e.Hash = audit.ChainHash(previous, e, string(metadata))
	if err := t.one("UPDATE accounts SET audit_head = $1 WHERE id = $2", e.Hash, e.AccountID); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO audit_events (id, account_id, seq, user_id, at, code, actor_type, actor_id, actor_name,
		source, target_type, target_id,
		ip, user_agent, metadata, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		e.ID, e.AccountID, e.Seq, e.UserID, micros(e.At), string(e.Code), string(e.Actor.Type), textOrNull(e.Actor.ID),
		e.Actor.Name,
		string(e.Actor.Source), string(e.Target.Type), textOrNull(e.Target.ID), textOrNull(e.Actor.IP),
		textOrNull(e.Actor.UserAgent),
		string(metadata), e.Hash)
	return err
}

// auditConditions returns the filter as SQL, its parameters numbered after those already there.
func auditConditions(f audit.Filter, args []any) (string, []any) {
	var b strings.Builder
	add := func(column, operator string, value any) {
		args = append(args, value)
		fmt.Fprintf(&b, " AND %s %s $%d", column, operator, len(args))
	}
	if f.From != nil {
		add("at", ">=", micros(f.From.Add(time.Microsecond-1))) // the log knows microseconds: round up, and To likewise
	}
	if f.To != nil {
		add("at", "<", micros(f.To.Add(time.Microsecond-1)))
	}
	for _, c := range []struct{ column, value string }{
		{"code", string(f.Code)},
		{"actor_type", string(f.ActorType)},
		{"actor_id", f.ActorID},
		{"source", string(f.Source)},
		{"target_type", string(f.TargetType)},
		{"target_id", f.TargetID},
	} {
		if c.value != "" {
			add(c.column, "=", c.value)
		}
	}
	return b.String(), args
}

const auditColumns = `id, account_id, seq, user_id, at, code, actor_type, actor_id, actor_name, source,
	target_type, target_id, ip, user_agent, metadata, hash`

// AuditPage returns events newest first and how many match. Without a filter a page is a range of the dense sequence
// and costs the same at any depth.
func (q Queries) AuditPage(
	ctx context.Context, accountID string, f audit.Filter, page, limit int,
) ([]*audit.Event, int64, error) {
	var total int64
	args := []any{accountID}
	where, args := auditConditions(f, args)
	var err error
	if where == "" {
		err = q.row(ctx, "SELECT audit_count FROM accounts WHERE id = $1", args, &total)
	} else {
		err = q.row(ctx, "SELECT COUNT(*) FROM audit_events WHERE account_id = $1"+where, args, &total)
	}
	if err != nil {
		return nil, 0, err
	}
	text := "SELECT " + auditColumns + " FROM audit_events WHERE account_id = $1"
	if where == "" {
		high, low := seqRange(total, page, limit)
		text += " AND seq <= $2 AND seq > $3 ORDER BY seq DESC"
		args = append(args, high, low)
	} else {
		text += where + fmt.Sprintf(" ORDER BY seq DESC LIMIT $%d OFFSET $%d", len(args)+1, len(args)+2)
		if int64(page-1) > total/int64(limit) {
			return []*audit.Event{}, total, nil // past the end; the product could overflow
		}
		args = append(args, limit, int64(page-1)*int64(limit))
	}
	events := []*audit.Event{}
	err = q.rows(ctx, text, args, func(scan func(...any) error) error {
		e, _, err := scanAudit(scan)
		events = append(events, e)
		return err
	})
	return events, total, err
}

func scanAudit(scan func(...any) error) (*audit.Event, string, error) {
	e := new(audit.Event)
	var at int64
	var actorID, targetID, ip, userAgent sql.NullString
	var metadata string
	if err := scan(&e.ID, &e.AccountID, &e.Seq, &e.UserID, &at, &e.Code, &e.Actor.Type, &actorID, &e.Actor.Name,
		&e.Actor.Source, &e.Target.Type, &targetID, &ip, &userAgent, &metadata, &e.Hash); err != nil {
		return nil, "", err
	}
	e.At, e.Actor.ID, e.Target.ID = timeOf(at), actorID.String, targetID.String
	e.Actor.IP, e.Actor.UserAgent = ip.String, userAgent.String
	return e, metadata, json.Unmarshal([]byte(metadata), &e.Metadata)
}

// AuditCount returns how many audit events an account has; the newest has this sequence number.
func (q Queries) AuditCount(ctx context.Context, accountID string) (int64, error) {
	var n int64
	err := q.row(ctx, "SELECT audit_count FROM accounts WHERE id = $1", []any{accountID}, &n)
	return n, err
}

// AuditBelow returns up to limit events that match the filter and whose sequence number is not above seq, newest first.
// Nothing is counted: what it costs does not grow with the log, as long as the filter names times, or a code or an
// actor.
func (q Queries) AuditBelow(
	ctx context.Context, accountID string, f audit.Filter, seq int64, limit int,
) ([]*audit.Event, error) {
	if f.To != nil { // times and sequence run alike: begin where the time is reached
		high, err := q.auditSeqBefore(ctx, accountID, micros(*f.To))
		if err != nil {
			return nil, err
		}
		seq = min(seq, high+auditSkew)
	}
	low := int64(0)
	if f.From != nil {
		first, err := q.auditSeqBefore(ctx, accountID, micros(*f.From))
		if err != nil {
			return nil, err
		}
		low = first - auditSkew
	}
	args := []any{accountID, seq, low, limit}
	span, sorted := "seq <= $2 AND seq > $3", "seq DESC"
	if lead, value := auditLead(&f); lead != "" { // a range of the index that begins with what is looked for
		args = append(args, value)
		span, sorted = "("+lead+", seq) <= ($5, $2) AND ("+lead+", seq) > ($5, $3)", lead+" DESC, seq DESC"
	}
	where, args := auditConditions(f, args)
	var events []*audit.Event
	err := q.rows(ctx, "SELECT "+auditColumns+` FROM audit_events
			WHERE account_id = $1 AND `+span+where+" ORDER BY "+sorted+" LIMIT $4", args,
		func(scan func(...any) error) error {
			e, _, err := scanAudit(scan)
			events = append(events, e)
			return err
		})
	return events, err
}

// auditLead takes out of the filter what an index of the log begins with: the code, or else the actor.
func auditLead(f *audit.Filter) (column, value string) {
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

func (q Queries) auditSeqBefore(ctx context.Context, accountID string, at int64) (int64, error) {
	var seq int64
	err := q.row(
		ctx,
		`SELECT COALESCE((SELECT seq FROM audit_events WHERE account_id = $1 AND at < $2 ORDER BY at DESC LIMIT 1), 0)`,
		[]any{accountID, at}, &seq,
	)
	return seq, err
}

// AuditEvent returns an event of the account by its sequence number.
func (q Queries) AuditEvent(ctx context.Context, accountID string, seq int64) (*audit.Event, error) {
	e, err := first(q.AuditBelow(ctx, accountID, audit.Filter{}, seq, 1))
	if err == nil && e.Seq != seq {
		return nil, ErrNotFound
	}
	return e, err
}
