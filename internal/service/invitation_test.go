package service_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestInvitationsOfWhoHasLeft checks that nobody leaves a way back in.
func TestInvitationsOfWhoHasLeft(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		ctx := t.Context()
		staff := func(email string) *access.Staff {
			n, err := s.Service.CreateStaff(ctx, access.Operator, email, "Somebody", access.Admin)
			must.NoError(t, err)
			return &n.Staff
		}
		boss := staff("boss@example.com")
		usable := func(address string) bool {
			_, token, _ := strings.Cut(address, "token=")
			_, err := s.Service.SignIn(access.Desk).Link(ctx, access.Invitation, token)
			if err != nil && !errors.Is(err, signin.LinkUnusable) {
				t.Fatal(err)
			}
			return err == nil
		}
		for name, end := range map[string]func(id string) error{
			"deactivated": func(id string) error {
				_, err := s.Service.DeactivateStaff(ctx, boss.Actor(access.Origin{}), id)
				return err
			},
			"demoted": func(id string) error {
				_, err := s.Service.ChangeStaffRole(ctx, boss.Actor(access.Origin{}), id, access.Reviewer)
				return err
			},
		} {
			leaver := staff(name + "@example.com")
			address, err := s.Service.InviteStaff(ctx, leaver.Actor(access.Origin{}), name+"-friend@example.com", "F",
				access.Admin)
			must.NoError(t, err)
			if !usable(address) {
				t.Fatalf("%s: the invitation does not work", name)
			}
			must.NoError(t, end(leaver.ID))
			if usable(address) {
				t.Errorf("%s: the invitation still works", name)
			}
		}
	})
}

// TestResetsOfWhoHasLeft: a link with which another chooses a password ends with the access of who has made it.
func TestResetsOfWhoHasLeft(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		ctx := t.Context()
		user := func(email string) *access.User {
			u := &access.User{
				ID: uuid7.New(), AccountID: s.Account.ID, Email: email, Role: access.Owner, CreatedAt: s.Clock.Now(),
			}
			must.NoError(t, s.Store.Update(ctx, func(tx *store.Tx) error { return tx.InsertUser(u) }))
			return u
		}
		boss, victim := user("boss@example.com").Actor("", access.Origin{}), user("victim@example.com")
		staff := func(email string) access.Actor {
			n, err := s.Service.CreateStaff(ctx, access.Operator, email, "Somebody", access.Admin)
			must.NoError(t, err)
			return n.Staff.Actor(access.Origin{})
		}
		for _, c := range []struct {
			name string
			by   access.Actor
			end  func(id string) error
		}{
			{"Removed", user("removed@example.com").Actor("", access.Origin{}), func(id string) error {
				return s.Service.RemoveUser(ctx, boss, id)
			}},
			{"Demoted", user("demoted@example.com").Actor("", access.Origin{}), func(id string) error {
				return s.Service.ChangeRole(ctx, boss, id, access.Developer)
			}},
			{"Deactivated", staff("deactivated@example.com"), func(id string) error {
				_, err := s.Service.DeactivateStaff(ctx, access.Operator, id)
				return err
			}},
			{"NoAdministrator", staff("reviewer@example.com"), func(id string) error {
				_, err := s.Service.ChangeStaffRole(ctx, access.Operator, id, access.Reviewer)
				return err
			}},
		} {
			t.Run(c.name, func(t *testing.T) {
				_, address, err := s.Service.ResetUserPassword(ctx, c.by, s.Account.ID, victim.ID)
				must.NoError(t, err)
				_, token, _ := strings.Cut(address, "token=")
				_, err = s.Service.SignIn(access.Portal).Link(ctx, access.PasswordReset, token)
				must.NoError(t, err)
				must.NoError(t, c.end(c.by.ID))
				_, err = s.Service.SignIn(access.Portal).Link(ctx, access.PasswordReset, token)
				if !errors.Is(err, signin.LinkUnusable) {
					t.Errorf("the link still works: %v", err)
				}
			})
		}
	})
}
