package store_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// insertPhotos makes an account with some Test photos and returns both.
func insertPhotos(t *testing.T, s *store.Store, count int) (accountID string, names []string) {
	t.Helper()
	at := time.UnixMicro(1).UTC()
	a := &access.Account{ID: uuid7.New(), Name: "Acme", Locale: text.English, CreatedAt: at}
	rows := make([]photo.Stored, count)
	for i := range rows {
		rows[i] = photo.Stored{
			Name: photo.NewName(photo.PNG), Tenant: access.Tenant{
				AccountID:   a.ID,
				Environment: access.Test,
			}, Width: 1, Height: 1, CreatedAt: at,
		}
		names = append(names, rows[i].Name)
	}
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertAccount(a); err != nil {
			return err
		}
		return tx.InsertPhotos(rows)
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID, names
}

func TestUsePhotos(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		accountID, names := insertPhotos(t, s, 3)
		use := func(env access.Environment, names ...string) []string {
			t.Helper()
			var known map[string]bool
			err := s.Update(t.Context(), func(tx *store.Tx) (err error) {
				known, err = tx.UsePhotos(access.Tenant{AccountID: accountID, Environment: env}, names)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return slices.Sorted(maps.Keys(known))
		}
		tests := []struct {
			name  string
			env   access.Environment
			names []string
			want  []string
		}{
			{"Fresh", access.Test, names[:1], names[:1]},
			{"Again", access.Test, names[:1], names[:1]},
			{"FreshAndUsed", access.Test, names[:2], names[:2]},
			{"Unknown", access.Test, []string{photo.NewName(photo.PNG)}, nil},
			{"KnownAndUnknown", access.Test, []string{names[2], photo.NewName(photo.PNG)}, names[2:]},
			{"OtherEnvironment", access.Live, names, nil},
			{"None", access.Test, nil, nil},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if got, want := use(tt.env, tt.names...), slices.Sorted(slices.Values(tt.want)); !slices.Equal(got, want) {
					t.Errorf("known are %v, want %v", got, want)
				}
			})
		}
		t.Run("KeptFromDeletion", func(t *testing.T) {
			err := s.Update(t.Context(), func(tx *store.Tx) error {
				gone, err := tx.DeleteUnusedPhotos(time.Now(), 10)
				if len(gone) != 0 {
					t.Errorf("photos in use were deleted: %v", gone)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	})
}

// TestUsePhotos_Shared makes two orders with the same photos at once: once a photo is in use, nobody waits for it.
func TestUsePhotos_Shared(t *testing.T) {
	s := storetest.Open(t, pgtest.Database(t)) // SQLite has one writer: there is no "at once"
	accountID, names := insertPhotos(t, s, 2)
	use := func(tx *store.Tx) error {
		_, err := tx.UsePhotos(access.Tenant{AccountID: accountID, Environment: access.Test}, names)
		return err
	}
	if err := s.Update(t.Context(), use); err != nil {
		t.Fatal(err)
	}
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		if err := use(tx); err != nil {
			return err
		}
		return s.Update(t.Context(), use)
	})
	if err != nil {
		t.Errorf("the second order waited for the first: %v", err)
	}
}

// TestNewestPhotos checks that the newest photos are those of the last orders and uploads, without erased ones.
func TestNewestPhotos(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		want := func(names ...string) {
			t.Helper()
			got, err := s.NewestPhotos(t.Context(), 3)
			if err != nil || !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(names))) {
				t.Errorf("the newest photos are %v, %v, want %v", got, err, names)
			}
		}
		want()
		b := newBuyer(t, s)
		if err := s.CreateOrder(t.Context(), "newest", b.creation()); err != nil {
			t.Fatal(err)
		}
		ordered := []string{b.photos[0].Name, b.photos[1].Name, b.photos[2].Name}
		want(ordered...)
		fresh := photo.Stored{Name: photo.NewName(photo.PNG), Tenant: b.tenant, CreatedAt: time.UnixMicro(2).UTC()}
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.ErasePhotos(ordered[:1], time.UnixMicro(3).UTC()); err != nil {
				return err
			}
			return tx.InsertPhotos([]photo.Stored{fresh})
		}); err != nil {
			t.Fatal(err)
		}
		want(fresh.Name, ordered[1], ordered[2])
		if got, err := s.NewestPhotos(t.Context(), 1); err != nil || !slices.Equal(got, []string{fresh.Name}) {
			t.Errorf("the newest photo is %v, %v, want %s", got, err, fresh.Name)
		}
	})
}

// TestPhotoTotals checks that the totals follow what is uploaded and what is deleted.
func TestPhotoTotals(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		want := func(photos, bytes int64) {
			t.Helper()
			if got, err := s.PhotoTotals(t.Context()); err != nil || got != (photo.Totals{Photos: photos, Bytes: bytes}) {
				t.Errorf("totals %+v, %v, want %d of %d bytes", got, err, photos, bytes)
			}
		}
		want(0, 0)
		accountID, names := insertPhotos(t, s, 3)
		want(3, 0)
		at := time.UnixMicro(5).UTC()
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.UsePhotos(access.Tenant{AccountID: accountID, Environment: access.Test}, names[:1]); err != nil {
				return err
			}
			return tx.InsertPhotos([]photo.Stored{
				{
					Name: photo.NewName(photo.PNG), Tenant: access.Tenant{AccountID: accountID, Environment: access.Live}, Bytes: 700,
					CreatedAt: at,
				},
				{
					Name: photo.NewName(photo.PNG), Tenant: access.Tenant{AccountID: accountID, Environment: access.Test}, Bytes: 11,
					CreatedAt: at,
				},
			})
		}); err != nil {
			t.Fatal(err)
		}
		want(5, 711)
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.DeleteUnusedPhotos(at.Add(time.Microsecond), 100)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		want(1, 0) // the one that is used
	})
}
