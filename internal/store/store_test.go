package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

func TestUpdate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a := &access.Account{ID: uuid7.New(), Name: "Acme", Locale: text.English, CreatedAt: time.UnixMicro(1).UTC()}
		insert := func(tx *store.Tx) error { return tx.InsertAccount(a) }
		if err := s.Update(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
		t.Run("UniqueViolation", func(t *testing.T) {
			b := *a
			b.ID = uuid7.New()
			if err := s.Update(t.Context(), func(tx *store.Tx) error {
				return tx.InsertAccount(&b)
			}); !errors.Is(err, store.ErrExists) {
				t.Errorf("second account of the same name: %v, want ErrExists", err)
			}
		})
		t.Run("RollsBackAlone", func(t *testing.T) {
			boom := errors.New("boom")
			b := &access.Account{ID: uuid7.New(), Name: "Bolt", Locale: text.Japanese, CreatedAt: a.CreatedAt}
			if err := s.Update(t.Context(), func(tx *store.Tx) error {
				return errors.Join(tx.InsertAccount(b), boom)
			}); !errors.Is(err, boom) {
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

// TestUpdateGrouped has one row wanted by many: each use case succeeds or fails alone, whatever happens to the others
// in its transaction.
func TestUpdateGrouped(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const calls = 200
		boom := errors.New("boom")
		kinds := []struct {
			name  string
			after func(tries int) error // what the use case returns after its insert
			fails bool
		}{
			{"succeeds", func(int) error { return nil }, false},
			{"fails", func(int) error { return boom }, true},
			{"panics", func(int) error { panic("oh") }, true},
			{"is disturbed at first", func(tries int) error {
				if tries == 1 && s.Shared() { // in SQLite there is no such thing
					return &pgconn.PgError{Code: "40P01"}
				}
				return nil
			}, false},
		}
		var work sync.WaitGroup
		accounts, errs := make([]*access.Account, calls), make([]error, calls)
		for i := range calls {
			accounts[i] = &access.Account{
				ID: uuid7.New(), Name: fmt.Sprint("Account ", i), Locale: text.English, CreatedAt: time.UnixMicro(1).UTC(),
			}
			work.Go(func() {
				tries := 0
				errs[i] = s.UpdateGrouped(store.Unhurried(t.Context()), "row", func(tx *store.Tx) error {
					tries++
					if err := tx.InsertAccount(accounts[i]); err != nil {
						return err
					}
					return kinds[i%len(kinds)].after(tries)
				})
			})
		}
		work.Wait()
		for i, a := range accounts {
			kind := kinds[i%len(kinds)]
			if kind.fails != (errs[i] != nil) {
				t.Errorf("a use case that %s: %v", kind.name, errs[i])
			}
			if _, err := s.Account(t.Context(), a.ID); kind.fails != errors.Is(err, store.ErrNotFound) {
				t.Errorf("the account of a use case that %s: %v", kind.name, err)
			}
		}
	})
}

func TestSnapshot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		insert := func(name string) {
			a := &access.Account{ID: uuid7.New(), Name: name, Locale: text.English, CreatedAt: time.UnixMicro(1)}
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
