package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestTenantNumbers makes accounts at the same time: all tenants have numbers of their own, from 1 on.
func TestTenantNumbers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const accounts = 20
		ids := make([]string, accounts)
		errs := make([]error, accounts)
		var all sync.WaitGroup
		for i := range accounts {
			ids[i] = uuid7.New()
			all.Go(func() {
				errs[i] = s.Update(t.Context(), func(tx *store.Tx) error {
					return tx.InsertAccount(&access.Account{
						ID: ids[i], Name: fmt.Sprint("account ", i), Locale: text.English, CreatedAt: time.UnixMicro(1),
					})
				})
			})
		}
		all.Wait()
		must.NoError(t, errors.Join(errs...))
		var numbers, want []int64
		for _, id := range ids {
			for _, env := range access.Environments {
				n, err := s.TenantNumber(t.Context(), access.Tenant{AccountID: id, Environment: env})
				must.NoError(t, err)
				numbers, want = append(numbers, n), append(want, int64(len(want)+1))
			}
		}
		slices.Sort(numbers)
		if !slices.Equal(numbers, want) {
			t.Errorf("numbers %v", numbers)
		}
	})
}
