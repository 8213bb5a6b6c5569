package store

import (
	"context"
	"database/sql"
)

// Snapshot runs f over the database as it is at one moment, regardless of concurrent writes. f reads one result to its
// end before it asks for the next: the snapshot is one connection. On SQLite the write-ahead log cannot be truncated
// while a snapshot is open, so f should wait for nothing but the database.
func (s *Store) Snapshot(ctx context.Context, f func(Queries) error) error {
	return s.SnapshotTx(ctx, func(tx *sql.Tx) error { return f(Queries{c: txConn{tx}, d: s.d}) })
}

// SnapshotTx is Snapshot for the packages below this one, which bring their own SQL.
func (s *Store) SnapshotTx(ctx context.Context, f func(*sql.Tx) error) error {
	// SQLite has no isolation levels: each of its transactions is a snapshot.
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return Classify(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return f(tx)
}
