package store

import (
	"context"
	"database/sql"
)

// Snapshot runs f over the database as it is at one moment, whatever others write meanwhile. f reads one result to its
// end before it asks for the next: the snapshot is one connection. On SQLite the log of changes cannot be cut back while a
// snapshot is open, so f should not wait for anything but the database.
func (s *Store) Snapshot(ctx context.Context, f func(Queries) error) error {
	// SQLite knows no isolation levels: each of its transactions is a snapshot.
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return wrap(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return f(Queries{c: txConn{tx}, d: s.d})
}
