package store_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestSealWhileCreating checks that what is logged in the transaction that creates an order is sealed with the key of
// the logs.
func TestSealWhileCreating(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := newBuyer(t, s)
		entry := func(tx *store.Tx) error {
			return tx.AppendAudit(&audit.Event{AccountID: b.tenant.AccountID, At: noon, Code: audit.LoginFailed})
		}
		before := b.creation()
		before.Before = entry
		after := b.creation()
		after.After = func(store.Charge) func(*store.Tx) error { return entry }
		for i, c := range []*store.Creation{before, after} {
			must.NoError(t, s.CreateOrder(t.Context(), b.tenant.AccountID, c))
			heads, err := s.AuditHeads(t.Context(), "", 2)
			must.NoError(t, err)
			if len(heads) != 1 || heads[0].Number != int64(i+1) || !s.Chain().HoldsHead(&heads[0]) {
				t.Errorf("the heads are %+v", heads)
			}
		}
	})
}

// TestFirstLogHeads checks that as many heads come as there may be, those of all logs where there are fewer.
func TestFirstLogHeads(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		newBuyer(t, s)
		newBuyer(t, s)
		all, err := s.LogHeads(t.Context())
		must.NoError(t, err)
		for limit := 1; limit <= len(all)+1; limit++ {
			heads, err := s.FirstLogHeads(t.Context(), limit)
			if err != nil || !slices.Equal(heads, all[:min(limit, len(all))]) {
				t.Errorf("%d heads of %d: %+v, %v", limit, len(all), heads, err)
			}
		}
	})
}

// TestSealWithoutKey checks that nothing is logged that anybody could have sealed.
func TestSealWithoutKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := newBuyer(t, s)
		s.SealLogs(audit.Chain{})
		id := b.tenant.AccountID
		event := audit.Event{AccountID: id, At: noon, Code: audit.LoginFailed}
		for name, f := range map[string]func(*store.Tx) error{
			"AppendEvent":       func(tx *store.Tx) error { return tx.AppendEvent(&event) },
			"AppendStaffAction": func(tx *store.Tx) error { return tx.AppendStaffAction(&audit.Action{At: noon}) },
			"InsertAccount":     func(tx *store.Tx) error { return tx.InsertAccount(&access.Account{ID: uuid7.New()}) },
			"EraseStaffLog":     func(tx *store.Tx) error { return tx.EraseStaffLog(store.Erasure{}, id) },
			"EraseEvents": func(tx *store.Tx) error {
				_, err := tx.EraseEvents(store.Erasure{}, audit.AuditLog, id, 0, 1)
				return err
			},
		} {
			if err := s.Update(t.Context(), f); !errors.Is(err, store.ErrNoChain) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}
