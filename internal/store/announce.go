package store

import (
	"context"
	"slices"
	"strings"
)

// The channels of announcements.
const (
	deliveryChannel = "assay_deliveries"
	photoChannel    = "assay_photos"
	changeChannel   = "assay_changes"
)

var channels = []string{deliveryChannel, photoChannel, changeChannel}

// Shared says whether other nodes may work on this database: on PostgreSQL they may, on SQLite there is one server.
func (s *Store) Shared() bool { return s.db.Shared() }

// AnnounceDeliveries tells the senders of all nodes that deliveries are due; from names the caller. On SQLite there is
// nobody to tell. It is not part of the transaction that queues a delivery, because PostgreSQL runs the commits of all
// transactions that notify one after the other; a message lost in a crash is made up for by the senders' polling.
func (s *Store) AnnounceDeliveries(ctx context.Context, from string) error {
	return s.db.Announce(ctx, deliveryChannel, from)
}

// announcedPhotos is how many names fit into an announcement, which may have 8,000 bytes.
const announcedPhotos = 75

// AnnouncePhotos tells the nodes that make images of photos of an account that will be looked at.
func (s *Store) AnnouncePhotos(ctx context.Context, accountID string, names []string) error {
	for some := range slices.Chunk(names, announcedPhotos) {
		if err := s.db.Announce(ctx, photoChannel, accountID+" "+strings.Join(some, " ")); err != nil {
			return err
		}
	}
	return nil
}

// ListenPhotos calls heard with the account and the photos of each announcement, and with none once it listens. It
// returns when ctx ends or the connection breaks, never nil.
func (s *Store) ListenPhotos(ctx context.Context, heard func(accountID string, names []string)) error {
	return s.db.Listen(ctx, photoChannel, func(message string) {
		accountID, names, _ := strings.Cut(message, " ")
		heard(accountID, strings.Fields(names))
	})
}

// ListenDeliveries calls heard for each announcement, with the name of who made it. It
// returns when ctx ends or the connection breaks, never nil. heard is also called, with an empty name, once it listens:
// what was announced before is not heard.
func (s *Store) ListenDeliveries(ctx context.Context, heard func(from string)) error {
	return s.db.Listen(ctx, deliveryChannel, heard)
}

// AnnounceChange tells all nodes that something has changed which they look at now and then.
func (s *Store) AnnounceChange(ctx context.Context, change string) error {
	return s.db.Announce(ctx, changeChannel, change)
}

// ListenChanges calls heard for each announced change, and with an empty one once it listens. It returns when ctx ends
// or the connection breaks, never nil.
func (s *Store) ListenChanges(ctx context.Context, heard func(change string)) error {
	return s.db.Listen(ctx, changeChannel, heard)
}
