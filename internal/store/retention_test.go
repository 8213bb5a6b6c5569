package store_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestNothingToExpire is what housekeeping asks most of the time.
func TestNothingToExpire(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		before := time.UnixMicro(1)
		if some, err := s.HasUnusedPhotos(t.Context(), before); some || err != nil {
			t.Errorf("unused photos: %t, %v", some, err)
		}
		for _, aged := range []store.Aged{
			store.OldSessions, store.OldSignInAttempts, store.LaterAttempts, store.OldDevices, store.OldChallenges,
			store.OldLinks, store.OldCaptureLinks, store.OldIdempotencyKeys, store.OldFailedMails, store.OldDeliveryLeases,
			store.OldCatalogs, store.OldCatalogDrafts,
		} {
			if n, err := s.DeleteAged(t.Context(), aged, before, 10); n != 0 || err != nil {
				t.Errorf("%+v: %d, %v", aged, n, err)
			}
			must.NoError(t, s.Update(t.Context(), func(tx *store.Tx) error {
				n, err := tx.DeleteAged(aged, before, 10)
				if n != 0 {
					t.Errorf("%+v: %d deleted", aged, n)
				}
				return err
			}))
		}
	})
}
