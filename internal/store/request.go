package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/partition"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// oldBlocks is how many of the oldest blocks are looked at when a tenant has too many requests: with each new one.
const oldBlocks = 8

// insertRequests stores a block. One that is there was stored by a transaction whose end was not heard of.
const insertRequests = `INSERT INTO request_log (id, account_id, environment, first_id, requests, seq, body)
	VALUES ($1, $2, $3, $4, $5, CAST($5 AS BIGINT) + COALESCE((SELECT newest.seq FROM request_log AS newest
		WHERE newest.account_id = $2 AND newest.environment = $3 ORDER BY newest.id DESC LIMIT 1), 0), $6)
	ON CONFLICT (id) DO NOTHING RETURNING seq`

// InsertRequests stores blocks of the request log, in one round trip. Of a tenant with more than most requests the
// oldest are deleted, in a second one.
func (t *Tx) InsertRequests(blocks []*requestlog.Block, most int64) error {
	inserts := make([]db.Command, len(blocks))
	var surplus []db.Command
	for i, b := range blocks {
		inserts[i] = db.Command{
			Text: insertRequests,
			Args: []any{
				b.Last.String(), b.AccountID, string(b.Environment), b.First.String(), int64(b.Requests), b.Text(),
			},
			Each: func(r *db.Record) error {
				if over := r.Integer(0) - most; over > 0 {
					surplus = append(surplus, deleteSurplus(b.Tenant, over))
				}
				return nil
			},
		}
	}
	if err := t.db.Batch(inserts, false); err != nil {
		return err
	}
	return t.db.Batch(surplus, false)
}

// deleteSurplus deletes the oldest blocks of a tenant, as far as a number in its sequence.
func deleteSurplus(tenant access.Tenant, upTo int64) db.Command {
	return db.Command{
		Text: `DELETE FROM request_log WHERE id IN (SELECT id FROM request_log
			WHERE account_id = $1 AND environment = $2 ORDER BY id LIMIT $3) AND seq <= $4`,
		Args: []any{tenant.AccountID, string(tenant.Environment), int64(oldBlocks), upTo},
	}
}

// StoredBlock is a block of the request log as it is stored.
type StoredBlock struct {
	First, Last uuid.UUID
	Body        string
}

// RequestBlocks returns up to limit blocks of a tenant, by their last ids from the highest. They follow after, which is
// excluded unless it is zero, are not below until, and have at least one id below before, unless it is zero.
func (q Queries) RequestBlocks(
	ctx context.Context, tenant access.Tenant, after, until, before uuid.UUID, limit int,
) ([]StoredBlock, error) {
	args := db.Arguments{tenant.AccountID, string(tenant.Environment), limit, until.String()}
	where := ""
	if after != uuid.Nil {
		where += " AND id < " + args.Add(after.String())
	}
	if before != uuid.Nil {
		where += " AND first_id < " + args.Add(before.String())
	}
	return db.Collect(ctx, q.db, func(scan db.Scanner) (b StoredBlock, err error) {
		var first, last string
		if err = scan(&first, &last, &b.Body); err != nil {
			return b, err
		}
		if b.First, err = uuid.Parse(first); err == nil {
			b.Last, err = uuid.Parse(last)
		}
		return b, err
	}, `SELECT first_id, id, body FROM request_log WHERE account_id = $1 AND environment = $2 AND id >= $4`+where+
		" ORDER BY id DESC LIMIT $3", args...)
}

// HasRequests reports whether there are requests from before the time that DeleteOldRequests would delete.
func (q Queries) HasRequests(ctx context.Context, before time.Time) (bool, error) {
	return q.db.Exists(ctx, "FROM "+partition.Rest(q.db.Dialect, "request_log")+" WHERE id < $1", uuid7.First(before))
}

// DeleteOldRequests deletes up to limit blocks of requests from before the time, the oldest first, and returns how
// many. In PostgreSQL those are deleted that belong to no part; the others go with it, see DropOld.
func (t *Tx) DeleteOldRequests(before time.Time, limit int) (int, error) {
	from := partition.Rest(t.db.Dialect, "request_log")
	n, err := t.db.Exec("DELETE FROM "+from+" WHERE id IN (SELECT id FROM "+from+" WHERE id < $1 ORDER BY id LIMIT $2)",
		uuid7.First(before), limit)
	return int(n), err
}
