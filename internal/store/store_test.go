package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
)

func TestUpdate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a := &access.Account{ID: store.NewID(), Name: "Acme", Locale: text.English, CreatedAt: time.UnixMicro(1).UTC()}
		insert := func(tx *store.Tx) error { return tx.InsertAccount(a) }
		if err := s.Update(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
		t.Run("UniqueViolation", func(t *testing.T) {
			b := *a
			b.ID = store.NewID()
			if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(&b) }); !errors.Is(err, store.ErrExists) {
				t.Errorf("second account of the same name: %v, want ErrExists", err)
			}
		})
		t.Run("RollsBackAlone", func(t *testing.T) {
			boom := errors.New("boom")
			b := &access.Account{ID: store.NewID(), Name: "Bolt", Locale: text.Japanese, CreatedAt: a.CreatedAt}
			if err := s.Update(t.Context(), func(tx *store.Tx) error { return errors.Join(tx.InsertAccount(b), boom) }); !errors.Is(err, boom) {
				t.Errorf("got %v, want the error of the function", err)
			}
			if _, err := s.Account(t.Context(), b.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("account of a failed transaction: %v, want ErrNotFound", err)
			}
			if got, err := s.Account(t.Context(), a.ID); err != nil || *got != *a {
				t.Errorf("got %+v, %v, want %+v", got, err, a)
			}
		})
		t.Run("Panic", func(t *testing.T) {
			if err := s.Update(t.Context(), func(*store.Tx) error { panic("oh") }); err == nil {
				t.Error("a panic in a transaction was taken for success")
			}
		})
	})
}
