package service_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// office is a shop with an administrator and a reviewer.
type office struct {
	*shop.Shop
	boss, reviewer *access.Staff
}

func eachOffice(t *testing.T, f func(t *testing.T, o *office)) {
	storetest.EachTarget(t, func(t *testing.T, target string) { f(t, newOffice(t, shop.New(t, target))) })
}

func newOffice(t *testing.T, s *shop.Shop) *office {
	t.Helper()
	o := &office{Shop: s}
	o.boss, o.reviewer = o.hire(t, "Boss", access.Admin), o.hire(t, "Reviewer", access.Reviewer)
	return o
}

// by returns a staff user as the actor of a request; without one, an actor of no kind.
func by(s *access.Staff) access.Actor {
	if s == nil {
		return access.Actor{}
	}
	return s.Actor(access.Origin{IP: "192.0.2.7", UserAgent: "Browser"})
}

func (o *office) hire(t *testing.T, name string, role access.StaffRole) *access.Staff {
	t.Helper()
	s := &access.Staff{
		ID: uuid7.New(), Email: strings.ToLower(name) + "@example.com", Name: name, Role: role,
		PasswordHash: "$none$", CreatedAt: o.Clock.Now(),
	}
	must.NoError(t, o.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.InsertStaff(s, store.StaffToken{Hash: access.HashSecretKey(access.NewStaffToken())})
	}))
	return s
}

// actorOf is a staff user as an actor, or an actor of no kind.
func actorOf(who *access.Staff) access.Actor {
	if who == nil {
		return access.Actor{}
	}
	return who.Actor(access.Origin{})
}

func problemsOf(err error) []string {
	f, _ := errors.AsType[*fault.Error](err)
	if f == nil {
		return nil
	}
	list, _ := f.Details["errors"].([]fault.Problem)
	var got []string
	for _, p := range list {
		got = append(got, p.Field+" "+p.Code)
	}
	return got
}

func ignore(_ int, err error) error { return err }

// node is a service over a database that others may use too.
func node(st *store.Store, clock *fakeclock.Clock) *service.Service {
	return service.New(service.Config{Store: st, Now: clock.Now, Log: slog.New(slog.DiscardHandler)})
}

// eachPost is eachPortal with a mail server that has no sender: the tests take what is queued.
func eachPost(t *testing.T, f func(t *testing.T, s *shop.Shop, owner *service.Member)) {
	t.Helper()
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		s.Reconfigure(t, shop.WithMail)
		f(t, s, owner)
	})
}

func addOwner(t *testing.T, s *shop.Shop, email string, role access.Role) *access.User {
	t.Helper()
	u := &access.User{
		ID: uuid7.New(), AccountID: s.Account.ID, Email: email, Role: role, PasswordHash: "x",
		CreatedAt: s.Clock.Now(),
	}
	must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertUser(u) }))
	return u
}

// eachPortal runs a test of the portal's use cases on every engine, as the owner of the shop's account.
func eachPortal(t *testing.T, f func(t *testing.T, s *shop.Shop, owner *service.Member)) {
	t.Helper()
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		u, err := s.Store.Owner(t.Context(), s.Account.ID)
		must.NoError(t, err)
		owner, err := s.Service.MemberOfSession(t.Context(), u.ID)
		must.NoError(t, err)
		f(t, s, owner)
	})
}

var portalOrigin = access.Origin{IP: "192.0.2.7", UserAgent: "a browser"}

// eachShop runs a test over a shop with a reviewer and an administrator, on both engines.
func eachShop(t *testing.T, f func(t *testing.T, s *shop.Shop, reviewer, admin *access.Staff)) {
	t.Helper()
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		staff := func(email string, role access.StaffRole) *access.Staff {
			one := &access.Staff{
				ID: uuid7.New(), Email: email, Name: email, Role: role, PasswordHash: "-",
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

func second[T any](_ T, err error) error { return err }

func codeOf(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	c, err := totp.GenerateCode(secret, at)
	must.NoError(t, err)
	return c
}
