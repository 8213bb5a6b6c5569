package store

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/store/column"
)

// Mail is a mail that waits to be sent.
type Mail struct {
	ID        string
	Kind      string
	AccountID string // of what it is about; empty: no account, or not known yet
	LinkID    string // of the portal link in it; empty: none
	Sealed    string // whom it goes to and what it says
	Attempts  int    // that were begun, the current one included
	Claim     string // of who is sending it
	CreatedAt time.Time
}

// InsertMail puts a mail into the queue, due at once.
func (t *Tx) InsertMail(m *Mail) error {
	at := column.Micros(m.CreatedAt)
	return t.db.Insert("mails (id, kind, account_id, link_id, sealed, created_at, due_at)",
		m.ID, m.Kind, column.TextOrNull(m.AccountID), column.TextOrNull(m.LinkID), m.Sealed, at, at)
}

// NextMailDue returns when the first mail of the queue is to be sent, or ErrNotFound when there is none. Mail made at
// since or before is left out; what is due at far or later was put off by a clock that was wrong, and is due now.
func (q Queries) NextMailDue(ctx context.Context, now, since, far time.Time) (due time.Time, err error) {
	err = q.db.Row(ctx, `SELECT CASE WHEN EXISTS (SELECT 1 FROM mails
			WHERE failed_at IS NULL AND due_at >= $3 AND created_at > $1) AND due_at > $2 THEN $2 ELSE due_at END
		FROM mails WHERE failed_at IS NULL AND created_at > $1 ORDER BY due_at, id LIMIT 1`,
		[]any{column.Micros(since), column.Micros(now), column.Micros(far)}, column.Time(&due))
	return due, err
}

// ClaimMail gives the caller, under a name for this one claim, the mail that is due the longest: until a time, nobody
// else gets it. It returns ErrNotFound when none is due. Mail made at since or before is left out; what is due at far
// or later was put off by a clock that was wrong, and counts as due.
func (t *Tx) ClaimMail(claim string, now, until, since, far time.Time) (*Mail, error) {
	m := &Mail{Claim: claim}
	return m, t.db.Row(t.Context(), `UPDATE mails SET claim = $1, due_at = $2, attempts = attempts + 1 WHERE id = (
			SELECT id FROM mails WHERE failed_at IS NULL AND (due_at <= $3 OR due_at >= $5)
			AND created_at > $4 ORDER BY due_at, id LIMIT 1`+t.db.Dialect.SkipLocked+`)
		RETURNING id, kind, account_id, link_id, sealed, attempts, created_at`,
		[]any{claim, column.Micros(until), column.Micros(now), column.Micros(since), column.Micros(far)},
		&m.ID, &m.Kind, column.Text(&m.AccountID), column.Text(&m.LinkID), &m.Sealed, &m.Attempts, column.Time(&m.CreatedAt))
}

// DeleteMail takes a mail that was sent out of the queue, or returns ErrNotFound when the claim has ended.
func (t *Tx) DeleteMail(m *Mail) error {
	return t.db.One("DELETE FROM mails WHERE id = $1 AND claim = $2 AND failed_at IS NULL", m.ID, m.Claim)
}

// DelayMail puts a mail back into the queue for a time, or returns ErrNotFound when the claim has ended.
func (t *Tx) DelayMail(m *Mail, due time.Time) error {
	return t.db.One("UPDATE mails SET claim = NULL, due_at = $1 WHERE id = $2 AND claim = $3 AND failed_at IS NULL",
		column.Micros(due), m.ID, m.Claim)
}

// FailMail records that a mail is not sent any more, and why, and forgets what it said. It returns ErrNotFound when the
// claim has ended.
func (t *Tx) FailMail(m *Mail, failure string, at time.Time) error {
	return t.db.One(`UPDATE mails SET sealed = '', claim = NULL, failed_at = $1, failure = $2
		WHERE id = $3 AND claim = $4 AND failed_at IS NULL`, column.Micros(at), failure, m.ID, m.Claim)
}

// ExpireMails does the same with up to limit mails that were made at since or before and are not being sent, and
// returns how many there were. What is due at far or later is not being sent, as with ClaimMail.
func (t *Tx) ExpireMails(failure string, since, now, far time.Time, limit int) (int64, error) {
	return t.db.Exec(`UPDATE mails SET sealed = '', claim = NULL, failed_at = $1, failure = $2 WHERE id IN (
		SELECT id FROM mails WHERE failed_at IS NULL AND created_at <= $3
		AND (due_at <= $1 OR due_at >= $5) ORDER BY due_at, id LIMIT $4`+t.db.Dialect.SkipLocked+")",
		column.Micros(now), failure, column.Micros(since), limit, column.Micros(far))
}

// MailCounts returns how many mails wait to be sent, and how many records of failed ones are kept.
func (q Queries) MailCounts(ctx context.Context) (queued, failed int64, err error) {
	err = q.db.Row(ctx, "SELECT COUNT(*) - COUNT(failed_at), COUNT(failed_at) FROM mails", nil, &queued, &failed)
	return queued, failed, err
}
