package store

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// statisticsPage is how many orders of a day a statement reads at most: each has the time limit of a read to itself, so
// that a day is read to its end however busy it was.
const statisticsPage = 1000

const endedOrders = `SELECT id, status, outcome, answer_time, due_at, ended_at, assignee_id FROM orders
	WHERE environment = 'live' AND ended_at IS NOT NULL AND (ended_at, id) > ($1, $2) AND ended_at < $3
	ORDER BY ended_at, id LIMIT $4`

// EachEndedOrder calls each for the Live orders that ended in [from, to): a range of an index, as long as the period is
// busy, in pages. It reads what statistics need: the columns above.
func (q Queries) EachEndedOrder(ctx context.Context, from, to time.Time, each func(*order.Order)) error {
	after, afterID := from, "" // before every id
	for {
		n := 0
		args := []any{column.Micros(after), afterID, column.Micros(to), statisticsPage}
		err := q.db.Rows(ctx, endedOrders, args, func(scan db.Scanner) error {
			var o order.Order
			if err := scan(&o.ID, &o.Status, column.Text(&o.Outcome), &o.AnswerTime, column.TimeOrNil(&o.DueAt),
				column.TimeOrNil(&o.EndedAt), column.Text(&o.AssigneeID)); err != nil {
				return err
			}
			n, after, afterID = n+1, *o.EndedAt, o.ID
			each(&o)
			return nil
		})
		if err != nil || n < statisticsPage {
			return err
		}
	}
}

// clockSlack is how far the clocks behind ids and behind the times of orders may differ.
const clockSlack = time.Hour

const createdOrders = `SELECT COUNT(*), COALESCE(MAX(id), ''),
	COALESCE(SUM(CASE WHEN environment = 'live' AND created_at >= $4 AND created_at < $5 THEN 1 ELSE 0 END), 0)
	FROM (SELECT id, environment, created_at FROM orders WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3) AS page`

// CountCreatedOrders counts the Live orders that were created in [from, to). Ids are in order of time, so it is a range
// of the primary key, in pages.
func (q Queries) CountCreatedOrders(ctx context.Context, from, to time.Time) (created int64, err error) {
	after, end := uuid7.First(from.Add(-clockSlack)), uuid7.First(to.Add(clockSlack))
	for {
		var read, counted int64
		err := q.db.Row(ctx, createdOrders, []any{after, end, statisticsPage, column.Micros(from), column.Micros(to)},
			&read, &after, &counted)
		created += counted
		if err != nil || read < statisticsPage {
			return created, err
		}
	}
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
