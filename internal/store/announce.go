package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// The channels of announcements.
const (
	deliveryChannel = "assay_deliveries"
	photoChannel    = "assay_photos"
)

// Shared says whether other nodes may work on this database: on PostgreSQL they may, on SQLite there is one server.
func (s *Store) Shared() bool { return s.writer == nil }

// AnnounceDeliveries tells the senders of all nodes that deliveries are due; from names the caller. On SQLite there is
// nobody to tell. It is not part of the transaction that queues a delivery, because PostgreSQL runs the commits of all
// transactions that notify one after the other; a message lost in a crash is made up for by the senders' polling.
func (s *Store) AnnounceDeliveries(ctx context.Context, from string) error {
	return s.announce(ctx, deliveryChannel, from)
}

// announcedPhotos is how many names fit into an announcement, which may have 8,000 bytes.
const announcedPhotos = 75

// AnnouncePhotos tells the nodes that make images of photos of an account that will be looked at.
func (s *Store) AnnouncePhotos(ctx context.Context, accountID string, names []string) error {
	for some := range slices.Chunk(names, announcedPhotos) {
		if err := s.announce(ctx, photoChannel, accountID+" "+strings.Join(some, " ")); err != nil {
			return err
		}
	}
	return nil
}

// ListenPhotos calls heard with the account and the photos of each announcement, and with none once it listens. It
// returns when ctx ends or the connection breaks, never nil.
func (s *Store) ListenPhotos(ctx context.Context, heard func(accountID string, names []string)) error {
	return s.listen(ctx, photoChannel, func(message string) {
		accountID, names, _ := strings.Cut(message, " ")
		heard(accountID, strings.Fields(names))
	})
}

func (s *Store) announce(ctx context.Context, channel, message string) error {
	if !s.Shared() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_, err := s.db.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, message)
	return Classify(err)
}

// ListenDeliveries calls heard for each announcement, with the name of who made it, on a connection of its own. It
// returns when ctx ends or the connection breaks, never nil. heard is also called, with an empty name, once it listens:
// what was announced before is not heard.
func (s *Store) ListenDeliveries(ctx context.Context, heard func(from string)) error {
	return s.listen(ctx, deliveryChannel, heard)
}

func (s *Store) listen(ctx context.Context, channel string, heard func(message string)) error {
	if !s.Shared() {
		<-ctx.Done()
		return ctx.Err()
	}
	c, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return errors.New("connect to PostgreSQL to listen for announcements") // the cause may hold the password
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
		defer cancel()
		_ = c.Close(closing)
	}()
	beginning, cancel := context.WithTimeout(ctx, readTimeout)
	_, err = c.Exec(beginning, "LISTEN "+channel)
	cancel()
	if err != nil {
		return Classify(err)
	}
	heard("")
	for {
		message, err := nextNotification(ctx, c)
		if err != nil {
			return Classify(err)
		}
		if message != "" {
			heard(message)
		}
	}
}

// listenCheck is after how much silence the connection that listens is checked.
const listenCheck = 10 * time.Second

// nextNotification returns the next announcement, or, after a silence in which the connection still answers, nothing.
func nextNotification(ctx context.Context, c *pgx.Conn) (message string, err error) {
	waiting, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	n, err := c.WaitForNotification(waiting)
	if err == nil {
		return n.Payload, nil
	}
	if ctx.Err() != nil || waiting.Err() == nil {
		return "", err
	}
	checking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return "", c.Ping(checking)
}
