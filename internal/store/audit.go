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
	if err := t.row(t.ctx, "UPDATE accounts SET audit_count = audit_count + 1 WHERE id = $1 RETURNING audit_count, audit_head",
		[]any{e.AccountID}, &e.Seq, &previous); err != nil {
		return err
	}
	e.Hash = audit.ChainHash(previous, e, string(metadata))
	if err := t.one("UPDATE accounts SET audit_head = $1 WHERE id = $2", e.Hash, e.AccountID); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO audit_events (id, account_id, seq, user_id, at, code, actor_type, actor_id, actor_name, source, target_type, target_id,
		ip, user_agent, metadata, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		e.ID, e.AccountID, e.Seq, e.UserID, micros(e.At), string(e.Code), string(e.Actor.Type), textOrNull(e.Actor.ID), e.Actor.Name,
		string(e.Actor.Source), string(e.Target.Type), textOrNull(e.Target.ID), textOrNull(e.Actor.IP), textOrNull(e.Actor.UserAgent),
		string(metadata), e.Hash)
	return err
}

// AuditFilter narrows the log; zero values do not.
type AuditFilter struct {
	From, To   *time.Time // From inclusive, To exclusive
	Code       audit.Code
	ActorType  audit.ActorType
	ActorID    string
	Source     audit.Source
	TargetType audit.TargetType
	TargetID   string
}

// conditions returns the filter as SQL, its parameters numbered after those already there.
func (f *AuditFilter) conditions(args []any) (string, []any) {
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

const auditColumns = "id, account_id, seq, user_id, at, code, actor_type, actor_id, actor_name, source, target_type, target_id, ip, user_agent, metadata, hash"

// AuditPage returns events newest first and how many match. Without a filter a page is a range of the dense sequence
// and costs the same at any depth.
func (q Queries) AuditPage(ctx context.Context, accountID string, f AuditFilter, page, limit int) ([]*audit.Event, int64, error) {
	var total int64
	args := []any{accountID}
	where, args := f.conditions(args)
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
	if err := scan(&e.ID, &e.AccountID, &e.Seq, &e.UserID, &at, &e.Code, &e.Actor.Type, &actorID, &e.Actor.Name, &e.Actor.Source,
		&e.Target.Type, &targetID, &ip, &userAgent, &metadata, &e.Hash); err != nil {
		return nil, "", err
	}
	e.At, e.Actor.ID, e.Target.ID, e.Actor.IP, e.Actor.UserAgent = timeOf(at), actorID.String, targetID.String, ip.String, userAgent.String
	return e, metadata, json.Unmarshal([]byte(metadata), &e.Metadata)
}
