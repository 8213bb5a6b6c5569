package service_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// hashMemory is what the hash of a password takes; nothing else that a sign-in does takes nearly as much.
const hashMemory = 19 << 20

// hashes counts the passwords that are hashed while f runs, by the memory that they take. It is no test of time: time says nothing
// on a machine that does other things, the work that is done does.
func hashes(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int((after.TotalAlloc - before.TotalAlloc) / hashMemory)
}

// TestSignInWork holds that a refused sign-in does the same work whether or not somebody has the email: one hash of a password,
// and one write. That both writes take the same statements is proved in the store.
func TestSignInWork(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		leaver := &access.User{
			ID: store.NewID(), AccountID: s.Account.ID, Email: "leaver@acme.example", Role: access.Viewer, PasswordHash: owner.PasswordHash, CreatedAt: s.Clock.Now(),
		}
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertUser(leaver) }))
		must.NoError(t, s.Service.RemoveUser(t.Context(), owner, leaver.ID))
		writes := func() int {
			n, err := s.Store.AuditCount(t.Context(), s.Account.ID)
			must.NoError(t, err)
			for _, row := range rawsql.Rows(t, s.Target, "SELECT attempts FROM unknown_sign_ins") {
				var attempts int64
				for _, digit := range row[0] {
					attempts = attempts*10 + int64(digit-'0')
				}
				n += attempts
			}
			return int(n)
		}
		portal := service.NewPortalSignIn(s.Service)
		refuse := func(email string) {
			if _, _, err := portal.Password(t.Context(), email, "wrong", portalOrigin); !errors.Is(err, service.WrongSignIn) {
				t.Errorf("%s: %v", email, err)
			}
		}
		refuse("first@acme.example") // makes the hash that stands for those of nobody
		for name, email := range map[string]string{"Known": owner.Email, "Unknown": "nobody@acme.example", "Left": leaver.Email, "NoEmail": "nobody"} {
			t.Run(name, func(t *testing.T) {
				before := writes()
				if n := hashes(func() { refuse(email) }); n != 1 {
					t.Errorf("%d passwords were hashed", n)
				}
				if n := writes() - before; n != 1 {
					t.Errorf("%d writes were made", n)
				}
			})
		}
		t.Run("Staff", func(t *testing.T) {
			made, err := s.Service.CreateStaff(t.Context(), "aoi@assay.example", "Aoi", access.Reviewer)
			must.NoError(t, err)
			desk := service.NewStaffSignIn(s.Service)
			refuse := func(email string) {
				if _, _, err := desk.Password(t.Context(), email, "wrong", portalOrigin); !errors.Is(err, service.WrongSignIn) {
					t.Errorf("%s: %v", email, err)
				}
			}
			refuse("first@assay.example")
			for _, email := range []string{made.Staff.Email, "nobody@assay.example", "nobody"} {
				if n := hashes(func() { refuse(email) }); n != 1 {
					t.Errorf("%s: %d passwords were hashed", email, n)
				}
			}
		})
	})
}
