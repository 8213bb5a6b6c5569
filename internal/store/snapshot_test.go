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

func TestSnapshot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		insert := func(name string) {
			a := &access.Account{ID: store.NewID(), Name: name, Locale: text.English, CreatedAt: time.UnixMicro(1)}
			if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(a) }); err != nil {
				t.Fatal(err)
			}
		}
		insert("before")
		boom := errors.New("boom")
		err := s.Snapshot(t.Context(), func(q store.Queries) error {
			for _, during := range []string{"during", "still"} {
				ids, err := q.AccountIDs(t.Context())
				if err != nil {
					return err
				}
				if len(ids) != 1 {
					t.Errorf("the snapshot sees %v, want the account from before alone", ids)
				}
				insert(during)
			}
			return boom
		})
		if !errors.Is(err, boom) {
			t.Errorf("got %v, want the error of the function", err)
		}
		if ids, err := s.AccountIDs(t.Context()); err != nil || len(ids) != 3 {
			t.Errorf("got %v, %v after the snapshot, want three accounts", ids, err)
		}
	})
}
