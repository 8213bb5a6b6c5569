package store

import (
	"context"
	"time"
)

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
	if s.d == &postgresDialect {
		engine = "SELECT 'PostgreSQL ' || current_setting('server_version')"
		size = "SELECT pg_database_size(current_database())"
	}
	if err := s.row(ctx, engine, nil, &f.Engine); err != nil {
		return nil, err
	}
	if err := s.row(ctx, size, nil, &f.Bytes); err != nil {
		return nil, err
	}
	return f, s.row(ctx, "SELECT MAX(version_id) FROM goose_db_version", nil, &f.Schema)
}

// RevokedCertificate is a certificate that was taken back, in a list.
type RevokedCertificate struct {
	ID          string
	OrderID     string
	OrderNumber string
	Test        bool
	Reason      string
	At          time.Time
}

// RevokedCertificates returns the certificates that were taken back last, the newest first.
func (q Queries) RevokedCertificates(ctx context.Context, limit int) ([]RevokedCertificate, error) {
	var found []RevokedCertificate
	err := q.rows(ctx, `SELECT c.id, c.order_id, o.number, CASE o.environment WHEN 'test' THEN 1 ELSE 0 END,
		c.revoked_reason, c.revoked_at
		FROM certificates c JOIN orders o ON o.id = c.order_id WHERE c.revoked_at IS NOT NULL
		ORDER BY c.revoked_at DESC LIMIT $1`, []any{limit},
		func(scan func(...any) error) error {
			var c RevokedCertificate
			var test, at int64
			err := scan(&c.ID, &c.OrderID, &c.OrderNumber, &test, &c.Reason, &at)
			c.Test, c.At = test == 1, timeOf(at)
			found = append(found, c)
			return err
		})
	return found, err
}
