package service_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/pquerna/otp/totp"
)

// eachShop runs a test over a shop with a reviewer and an administrator, on both engines.
func eachShop(t *testing.T, f func(t *testing.T, s *shop.Shop, reviewer, admin *access.Staff)) {
	t.Helper()
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		staff := func(email string, role access.StaffRole) *access.Staff {
			one := &access.Staff{ID: store.NewID(), Email: email, Name: email, Role: role, PasswordHash: "-", CreatedAt: s.Clock.Now()}
			if err := s.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertStaff(one, access.HashSecretKey(access.NewStaffToken())) }); err != nil {
				t.Fatal(err)
			}
			return one
		}
		f(t, s, staff("mika@example.com", access.Reviewer), staff("aoi@example.com", access.Admin))
	})
}

// TestSecondFactorOnce holds that of many who send the same code at once, one is let in.
func TestSecondFactorOnce(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, admin *access.Staff) {
		g := service.NewStaffSignIn(s.Service)
		e, err := g.BeginSecondFactor(who)
		if err != nil {
			t.Fatal(err)
		}
		from := service.Origin{IP: "192.0.2.1"}
		code := func() string {
			c, err := totp.GenerateCode(e.Secret, s.Clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if err := g.ConfirmSecondFactor(t.Context(), who, e, code(), "", from); err != nil {
			t.Fatal(err)
		}
		if err := g.Code(t.Context(), who.ID, code(), from); !errors.Is(err, service.WrongCode) {
			t.Errorf("the code that proved the enrolment signs in, too: %v", err)
		}
		s.Clock.Advance(time.Minute)
		var let atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := g.Code(t.Context(), who.ID, code(), from); err == nil {
					let.Add(1)
				} else if !errors.Is(err, service.WrongCode) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if let.Load() != 1 {
			t.Errorf("%d were let in with one code", let.Load())
		}
		if _, err := service.NewAdministration(s.Service).ResetStaffSecondFactor(t.Context(), admin, who.ID); err != nil {
			t.Error(err)
		}
		if has, err := g.HasSecondFactor(t.Context(), who.ID); has || err != nil {
			t.Errorf("after the reset: %t, %v", has, err)
		}
	})
}
