package service_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service/signin"
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
