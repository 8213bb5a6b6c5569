package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

const deliveryChannel = "assay_deliveries"

// Shared says whether other nodes may work on this database: on PostgreSQL they may, on SQLite there is one server.
func (s *Store) Shared() bool { return s.writer == nil }

// AnnounceDeliveries tells the senders of all nodes that deliveries are due; from names the caller. On SQLite there is
// nobody to tell. It is not part of the transaction that queues a delivery, because PostgreSQL runs the commits of all
// transactions that notify one after the other; a message lost in a crash is made up for by the senders' polling.
func (s *Store) AnnounceDeliveries(ctx context.Context, from string) error {
	if !s.Shared() {
		return nil
	}
	_, err := s.db.ExecContext(ctx, "SELECT pg_notify($1, $2)", deliveryChannel, from)
	return Classify(err)
}

// ListenDeliveries calls heard for each announcement, with the name of who made it, on a connection of its own. It
// returns when ctx ends or the connection breaks, never nil. heard is also called, with an empty name, once it listens:
// what was announced before is not heard.
func (s *Store) ListenDeliveries(ctx context.Context, heard func(from string)) error {
	if !s.Shared() {
		<-ctx.Done()
		return ctx.Err()
	}
	c, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return errors.New("connect to PostgreSQL to listen for deliveries") // the cause may hold the password
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if _, err := c.Exec(ctx, "LISTEN "+deliveryChannel); err != nil {
		return Classify(err)
	}
	heard("")
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return Classify(err)
		}
		heard(n.Payload)
	}
}
