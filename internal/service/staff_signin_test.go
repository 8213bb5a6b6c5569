package service_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// eachShop runs a test over a shop with a reviewer and an administrator, on both engines.
func eachShop(t *testing.T, f func(t *testing.T, s *shop.Shop, reviewer, admin *access.Staff)) {
	t.Helper()
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		staff := func(email string, role access.StaffRole) *access.Staff {
			one := &access.Staff{
				ID: store.NewID(), Email: email, Name: email, Role: role, PasswordHash: "-",
				CreatedAt: s.Clock.Now(),
			}
			if err := s.Store.Update(t.Context(), func(tx *store.Tx) error {
				return tx.InsertStaff(one,
					store.StaffToken{Hash: access.HashSecretKey(access.NewStaffToken())})
			}); err != nil {
				t.Fatal(err)
			}
			return one
		}
		f(t, s, staff("mika@example.com", access.Reviewer), staff("aoi@example.com", access.Admin))
	})
}
