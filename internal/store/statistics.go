package store

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/uuid7"
)

const endedOrders = `SELECT status, outcome, answer_time, due_at, ended_at, assignee_id FROM orders
	WHERE environment = 'live' AND ended_at IS NOT NULL AND ended_at >= $1 AND ended_at < $2`

// EachEndedOrder calls each for the Live orders that ended in [from, to): a range of an index, as long as the period is
// busy. It reads what statistics need: the columns above.
func (q Queries) EachEndedOrder(ctx context.Context, from, to time.Time, each func(*order.Order)) error {
	return q.db.Rows(ctx, endedOrders, []any{column.Micros(from), column.Micros(to)}, func(scan db.Scanner) error {
		var o order.Order
		if err := scan(&o.Status, column.Text(&o.Outcome), &o.AnswerTime, column.TimeOrNil(&o.DueAt),
			column.TimeOrNil(&o.EndedAt), column.Text(&o.AssigneeID)); err != nil {
			return err
		}
		each(&o)
		return nil
	})
}

// clockSlack is how far the clocks behind ids and behind the times of orders may differ.
const clockSlack = time.Hour

const createdOrders = `SELECT COUNT(*) FROM orders WHERE id >= $1 AND id < $2 AND environment || '' = 'live'
	AND created_at >= $3 AND created_at < $4`

// CountCreatedOrders counts the Live orders that were created in [from, to). Ids are in order of time, so it is a range
// of the primary key; the environment is hidden from the planner, which would otherwise read all Live orders.
func (q Queries) CountCreatedOrders(ctx context.Context, from, to time.Time) (int64, error) {
	return db.Value[int64](ctx, q.db, createdOrders,
		uuid7.First(from.Add(-clockSlack)), uuid7.First(to.Add(clockSlack)), column.Micros(from), column.Micros(to))
}

// ClaimedOrders returns how many Live orders each staff user has claimed and not judged yet, by staff id.
func (q Queries) ClaimedOrders(ctx context.Context) (map[string]int64, error) {
	return db.Pairs[string, int64](ctx, q.db, claimedOrders)
}

const claimedOrders = `SELECT assignee_id, COUNT(*) FROM orders WHERE environment = 'live' AND status = 'processing'
	AND assignee_id IS NOT NULL GROUP BY assignee_id`

// DailyStatistics returns the saved figures of the days from one to another, both included, by day.
func (q Queries) DailyStatistics(ctx context.Context, from, to string) (map[string]string, error) {
	const text = "SELECT day, figures FROM daily_statistics WHERE day >= $1 AND day <= $2"
	return db.Pairs[string, string](ctx, q.db, text, from, to)
}

// LastStatisticsDay returns the newest day whose figures are saved; empty when there is none.
func (q Queries) LastStatisticsDay(ctx context.Context) (string, error) {
	return db.Value[string](ctx, q.db, "SELECT COALESCE(MAX(day), '') FROM daily_statistics")
}

// FirstOrderAt returns when the first order of all was created, or ErrNotFound.
func (q Queries) FirstOrderAt(ctx context.Context) (at time.Time, err error) {
	err = q.db.Row(ctx, "SELECT created_at FROM orders ORDER BY id LIMIT 1", nil, column.Time(&at))
	return at, err
}

// SaveDailyStatistics saves the figures of a day that is over. Another node may have saved them already: they are the
// same, unless its clock was ahead.
func (t *Tx) SaveDailyStatistics(day, figures string) error {
	return t.exec(`INSERT INTO daily_statistics (day, figures) VALUES ($1, $2)
		ON CONFLICT (day) DO UPDATE SET figures = excluded.figures`, day, figures)
}

// DeleteDailyStatistics deletes the figures of a day and all after it.
func (t *Tx) DeleteDailyStatistics(from string) error {
	return t.exec("DELETE FROM daily_statistics WHERE day >= $1", from)
}

// QueueSample is how many Live orders were open at a time.
type QueueSample struct {
	At                               time.Time
	Queued, Processing, UpdatePhotos int64
}

// HasQueueSample reports whether there is a sample of the time.
func (q Queries) HasQueueSample(ctx context.Context, at time.Time) (bool, error) {
	return q.db.Exists(ctx, "FROM queue_samples WHERE at = $1", column.Micros(at))
}

// SaveQueueSample saves a sample, unless there is one of the time, and deletes those before first and after last.
func (t *Tx) SaveQueueSample(s *QueueSample, first, last time.Time) error {
	if _, err := t.db.Exec(`INSERT INTO queue_samples (at, queued, processing, update_photos)
			VALUES ($1, $2, $3, $4) ON CONFLICT (at) DO NOTHING`,
		column.Micros(s.At), s.Queued, s.Processing, s.UpdatePhotos); err != nil {
		return err
	}
	return t.exec("DELETE FROM queue_samples WHERE at < $1 OR at > $2", column.Micros(first), column.Micros(last))
}

// QueueSamples returns the samples from a time on, the oldest first.
func (q Queries) QueueSamples(ctx context.Context, from time.Time) ([]QueueSample, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (s QueueSample, err error) {
		err = scan(column.Time(&s.At), &s.Queued, &s.Processing, &s.UpdatePhotos)
		return s, err
	}, "SELECT at, queued, processing, update_photos FROM queue_samples WHERE at >= $1 ORDER BY at", column.Micros(from))
}

// SystemFacts is what the database tells of itself.
type SystemFacts struct {
	Engine  string // with its version
	Schema  int64  // version of the schema
	Bytes   int64  // of the database as a whole
	Latency time.Duration
}

// SystemFacts asks the database how it is. The latency is that of a smallest read.
func (s *Store) SystemFacts(ctx context.Context, now func() time.Time) (*SystemFacts, error) {
	begun := now()
	if err := s.Ping(ctx); err != nil {
		return nil, err
	}
	f := &SystemFacts{Latency: now().Sub(begun)}
	engine := "SELECT 'SQLite ' || sqlite_version()"
	size := "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
	if s.db.Dialect == &db.Postgres {
		engine = "SELECT 'PostgreSQL ' || current_setting('server_version')"
		size = "SELECT pg_database_size(current_database())"
	}
	if err := s.db.Row(ctx, engine, nil, &f.Engine); err != nil {
		return nil, err
	}
	if err := s.db.Row(ctx, size, nil, &f.Bytes); err != nil {
		return nil, err
	}
	return f, s.db.Row(ctx, "SELECT MAX(version_id) FROM goose_db_version", nil, &f.Schema)
}
