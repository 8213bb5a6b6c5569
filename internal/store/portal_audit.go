package store

import (
	"context"

	"github.com/assayhq/assay/internal/domain/audit"
)

// AuditCount returns how many audit events an account has; the newest has this sequence number.
func (q Queries) AuditCount(ctx context.Context, accountID string) (int64, error) {
	var n int64
	err := q.row(ctx, "SELECT audit_count FROM accounts WHERE id = $1", []any{accountID}, &n)
	return n, err
}

// AuditBelow returns up to limit events that match the filter and whose sequence number is not above seq, newest first.
// Nothing is counted: what it costs does not grow with the log, as long as the filter names times, or a code or an actor.
func (q Queries) AuditBelow(ctx context.Context, accountID string, f AuditFilter, seq int64, limit int) ([]*audit.Event, error) {
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
	if lead, value := f.lead(); lead != "" { // a range of the index that begins with what is looked for
		args = append(args, value)
		span, sorted = "("+lead+", seq) <= ($5, $2) AND ("+lead+", seq) > ($5, $3)", lead+" DESC, seq DESC"
	}
	where, args := f.conditions(args)
	var events []*audit.Event
	err := q.rows(ctx, "SELECT "+auditColumns+" FROM audit_events WHERE account_id = $1 AND "+span+where+" ORDER BY "+sorted+" LIMIT $4", args,
		func(scan func(...any) error) error {
			e, _, err := scanAudit(scan)
			events = append(events, e)
			return err
		})
	return events, err
}

// lead takes out of the filter what an index of the log begins with: the code, or else the actor.
func (f *AuditFilter) lead() (column, value string) {
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
	err := q.row(ctx, `SELECT COALESCE((SELECT seq FROM audit_events WHERE account_id = $1 AND at < $2 ORDER BY at DESC LIMIT 1), 0)`, []any{accountID, at}, &seq)
	return seq, err
}

// AuditEventOf returns an event of the account by its sequence number.
func (q Queries) AuditEventOf(ctx context.Context, accountID string, seq int64) (*audit.Event, error) {
	found, err := q.AuditBelow(ctx, accountID, AuditFilter{}, seq, 1)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 || found[0].Seq != seq {
		return nil, ErrNotFound
	}
	return found[0], nil
}
