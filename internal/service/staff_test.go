package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

func TestAdministration(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		t.Run("OnlyAdministrators", func(t *testing.T) {
			for name, use := range map[string]func(*access.Staff) error{
				"Accounts": func(w *access.Staff) error { _, _, err := o.Service.Accounts(ctx, by(w), "", 1, 1); return err },
				"CreateAccount": func(w *access.Staff) error {
					_, err := o.Service.CreateAccount(ctx, by(w), "x", "x@example.com", "en")
					return err
				},
				"GrantCredits": func(w *access.Staff) error {
					_, err := o.Service.GrantCredits(ctx, by(w), o.Live.Tenant, 1, "x")
					return err
				},
				"CreateKey": func(w *access.Staff) error {
					_, _, err := o.Service.CreateKey(ctx, by(w), service.NewKey{})
					return err
				},
				"RenameKey": func(w *access.Staff) error { return o.Service.RenameKey(ctx, by(w), o.Live.ID, "x") },
				"Limits":    func(w *access.Staff) error { return o.Service.SetKeyLimits(ctx, by(w), o.Live.ID, nil) },
				"Networks":  func(w *access.Staff) error { return o.Service.SetKeyNetworks(ctx, by(w), o.Live.ID, nil) },
				"RevokeKey": func(w *access.Staff) error { _, err := o.Service.RevokeKey(ctx, by(w), o.Live.ID); return err },
				"Upload": func(w *access.Staff) error {
					_, err := o.Service.UploadCatalog(ctx, by(w), "x", demo.Catalog)
					return err
				},
				"Pause":  func(w *access.Staff) error { return o.Service.PauseAnswerTime(ctx, by(w), 60) },
				"Resume": func(w *access.Staff) error { return o.Service.ResumeAnswerTime(ctx, by(w), 60) },
				"Staff":  func(w *access.Staff) error { return second(o.Service.StaffMembers(ctx, actorOf(w))) },
				"Deactivate": func(w *access.Staff) error {
					_, err := o.Service.DeactivateStaff(ctx, actorOf(w), o.boss.ID)
					return err
				},
				"Password": func(w *access.Staff) error {
					_, _, err := o.Service.ResetStaffPassword(ctx, actorOf(w), o.boss.ID)
					return err
				},
				"Redeliver": func(w *access.Staff) error { return o.Service.Redeliver(ctx, by(w), uuid7.New()) },
				"Failed": func(w *access.Staff) error {
					_, err := o.Service.RedeliverFailed(ctx, by(w), webhook.DeliveryFilter{}, time.Time{})
					return err
				},
				"Health":     func(w *access.Staff) error { _, err := o.Service.Health(ctx, by(w)); return err },
				"Statistics": func(w *access.Staff) error { _, err := o.Service.Statistics(ctx, by(w), 30); return err },
			} {
				for _, who := range []*access.Staff{o.reviewer, nil} {
					if err := use(who); fault.CodeOf(err) != "forbidden" {
						t.Errorf("%s: %v, want forbidden", name, err)
					}
				}
			}
		})
		t.Run("Accounts", func(t *testing.T) {
			_, err := o.Service.CreateAccount(ctx, by(o.boss), "100% Beta_!", "beta@example.com", "ja")
			must.NoError(t, err)
			for search, want := range map[string][]string{
				"": {"100% Beta_!", "Acme 鑑定"}, "ACME": {"Acme 鑑定"}, "鑑": {"Acme 鑑定"}, "% beta_!": {"100% Beta_!"},
				"beta@": {"100% Beta_!"}, "%%": nil,
				o.Account.ID: {"Acme 鑑定"},
			} {
				found, total, err := o.Service.Accounts(ctx, by(o.boss), search, 1, 10)
				must.NoError(t, err)
				var names []string
				for _, a := range found {
					names = append(names, a.Name)
				}
				if !slices.Equal(names, want) || total != int64(len(want)) {
					t.Errorf("search %q: %v (%d), want %v", search, names, total, want)
				}
			}
			second, total, err := o.Service.Accounts(ctx, by(o.boss), "", 2, 1)
			must.NoError(t, err)
			if total != 2 || len(second) != 1 {
				t.Fatalf("second page %+v of %d", second, total)
			}
			expect.Equal(t, "name", second[0].Name, "Acme 鑑定")
			expect.Equal(t, "Live credits", second[0].LiveCredits, 1000)
			expect.Equal(t, "Test credits", second[0].TestCredits, 100_000)
			expect.Equal(t, "active keys", second[0].ActiveKeys, 2)
			end := o.Clock.Now().Add(time.Minute)
			_, _, err = o.Service.CreateKey(ctx, access.Operator, service.NewKey{
				Tenant: o.Live.Tenant, Name: "short", Scopes: access.AllScopes, ExpiresAt: &end,
			})
			must.NoError(t, err)
			for _, want := range []int64{3, 2} { // before it expires, and when it does
				second, _, err = o.Service.Accounts(ctx, by(o.boss), "", 2, 1)
				must.NoError(t, err)
				expect.Equal(t, "active keys", second[0].ActiveKeys, want)
				o.Clock.Advance(time.Minute)
			}
			_, err = o.Service.CreateAccount(ctx, by(o.boss), "Acme 鑑定", "beta@example.com", "en")
			if got := problemsOf(err); !slices.Equal(got, []string{"name taken", "email taken"}) {
				t.Errorf("problems %v", got)
			}
		})
		t.Run("AccountsInAnyLetters", func(t *testing.T) {
			names := []string{"École", "ÄRZTE GmbH", "ДОМ"}
			for i, name := range names {
				_, err := o.Service.CreateAccount(ctx, by(o.boss), name, fmt.Sprintf("letters%d@example.com", i), "en")
				must.NoError(t, err)
			}
			for _, name := range names {
				for _, search := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
					found, total, err := o.Service.Accounts(ctx, by(o.boss), search, 1, 10)
					must.NoError(t, err)
					if total != 1 || len(found) != 1 || found[0].Name != name {
						t.Errorf("search %q: %+v (%d), want %s", search, found, total, name)
					}
				}
			}
			var paged []string
			for page := range 4 {
				found, total, err := o.Service.Accounts(ctx, by(o.boss), "LETTERS", page+1, 2)
				must.NoError(t, err)
				expect.Equal(t, "total", total, 3)
				for _, a := range found {
					paged = append(paged, a.Name)
				}
			}
			slices.Sort(paged)
			if want := slices.Sorted(slices.Values(names)); !slices.Equal(paged, want) {
				t.Errorf("the pages have %v, want %v", paged, want)
			}
		})
		t.Run("KeyLimits", func(t *testing.T) {
			must.NoError(t, o.Service.SetKeyLimits(ctx, by(o.boss), o.Live.ID, map[string]int{"read": 7}))
			k, err := o.Service.Key(ctx, by(o.boss), o.Live.ID)
			must.NoError(t, err)
			if len(k.Limits) != 1 || k.Limits["read"] != 7 {
				t.Errorf("limits %v", k.Limits)
			}
			if err := o.Service.SetKeyLimits(ctx, by(o.boss), o.Live.ID,
				map[string]int{"tea": 7}); fault.CodeOf(err) != fault.CodeValidation {
				t.Errorf("an unknown category: %v", err)
			}
		})
		t.Run("RenameKey", func(t *testing.T) {
			must.NoError(t, o.Service.RenameKey(ctx, by(o.boss), o.Live.ID, "nightly"))
			events, _, err := o.Store.AuditPage(ctx, o.Account.ID, audit.Filter{Code: audit.KeyRenamed}, 1, 10)
			must.NoError(t, err)
			owner, err := o.Store.Owner(ctx, o.Account.ID)
			must.NoError(t, err)
			if len(events) != 1 {
				t.Fatalf("events %+v", events)
			}
			boss := audit.Actor{Type: audit.BySystem, Name: "Boss", Source: audit.FromSystem}
			expect.Equal(t, "actor", events[0].Actor, boss)
			expect.Equal(t, "user", events[0].UserID, owner.ID)
		})
		t.Run("Health", func(t *testing.T) {
			h, err := o.Service.Health(ctx, by(o.boss))
			must.NoError(t, err)
			must.NoError(t, errors.Join(h.DatabaseError, h.MediaError))
			if h.Database.Bytes <= 0 || h.Database.Schema < 1 || h.Database.Engine == "" {
				t.Errorf("database %+v", h.Database)
			}
		})
		t.Run("HealthWithoutMedia", func(t *testing.T) {
			o.Reconfigure(t, func(c *service.Config) { c.Media = hangingMedia{c.Media} })
			h, err := o.Service.Health(ctx, by(o.boss))
			must.NoError(t, err)
			if h.DatabaseError != nil || h.Database == nil || !errors.Is(h.MediaError, context.DeadlineExceeded) {
				t.Errorf("database %+v, %v; media %v", h.Database, h.DatabaseError, h.MediaError)
			}
		})
		t.Run("Staff", func(t *testing.T) {
			_, err := o.Service.CreateStaff(ctx, o.boss.Actor(access.Origin{}), "boss@example.com", "Double", access.Admin)
			if got := problemsOf(err); !slices.Equal(got, []string{"email taken"}) {
				t.Errorf("problems %v", got)
			}
			if _, err := o.Service.DeactivateStaff(ctx, o.boss.Actor(access.Origin{}),
				o.boss.ID); fault.CodeOf(err) != "own-access" {
				t.Errorf("deactivating oneself: %v", err)
			}
			leaving := o.hire(t, "Leaving", access.Reviewer)
			id := o.Order(t, o.Live, "")
			_, err = o.Service.ClaimOrder(ctx, leaving.Actor(access.Origin{}), id)
			must.NoError(t, err)
			m, err := o.Service.StaffMember(ctx, o.boss.Actor(access.Origin{}), leaving.ID)
			must.NoError(t, err)
			if m.InReview != 1 || m.AwaitingPhotos != 0 || m.SecondFactor || m.Passkeys != 0 || !m.HasToken || m.Sessions != 0 {
				t.Errorf("staff user %+v", m)
			}
			_, err = o.Service.DeactivateStaff(ctx, o.boss.Actor(access.Origin{}), leaving.ID)
			must.NoError(t, err)
			if got, err := o.Store.Order(ctx, id); err != nil || got.Status != order.Queued {
				t.Errorf("the order is %+v, %v", got, err)
			}
			if _, _, err := o.Service.ResetStaffPassword(ctx, o.boss.Actor(access.Origin{}),
				leaving.ID); fault.CodeOf(err) != "staff-deactivated" {
				t.Errorf("a password for who has left: %v", err)
			}
		})
	})
}

// hangingMedia is a media store that does not answer.
type hangingMedia struct{ media.Store }

func (hangingMedia) Ping(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestStaffAccess holds what becomes of sessions, tokens and passwords when an administrator changes a staff user.
func TestStaffAccess(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		signIn := o.Service.SignIn(access.Desk)
		n, err := o.Service.CreateStaff(ctx, o.boss.Actor(access.Origin{}), "mika@example.com", "Mika", access.Reviewer)
		must.NoError(t, err)
		session := func() string {
			_, token, err := o.Service.StartSession(ctx, access.Desk, n.Staff.ID, access.Origin{})
			must.NoError(t, err)
			return token
		}
		works := func(what string, err error, want bool) {
			t.Helper()
			if (err == nil) != want {
				t.Errorf("%s: %v, want it to work: %t", what, err, want)
			}
		}
		authenticate := func(token string) error { _, err := o.Service.AuthenticateStaff(ctx, token, ""); return err }
		resume := func(token string) error { _, err := o.Service.Session(ctx, access.Desk, token); return err }

		first := session()
		s, err := o.Service.ChangeStaffRole(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID, access.Admin)
		must.NoError(t, err)
		works("a session from before the change of role", resume(first), false)
		if who, err := o.Service.AuthenticateStaff(ctx, n.Token, ""); err != nil || who.Role != access.Admin ||
			s.Role != access.Admin {
			t.Errorf("the token has %+v, %v", who, err)
		}
		if _, err := o.Service.ChangeStaffRole(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID,
			"owner"); fault.CodeOf(err) != fault.CodeValidation {
			t.Errorf("an unknown role: %v", err)
		}

		_, err = o.Service.RevokeStaffToken(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID)
		must.NoError(t, err)
		works("a revoked token", authenticate(n.Token), false)
		if m, err := o.Service.StaffMember(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID); err != nil || m.HasToken {
			t.Errorf("after revoking the token: %+v, %v", m, err)
		}
		_, token, err := o.Service.RotateStaffToken(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID, nil)
		must.NoError(t, err)
		works("a new token", authenticate(token), true)

		open := session()
		_, err = o.Service.DeactivateStaff(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID)
		must.NoError(t, err)
		for name, use := range map[string]func() error{
			"role": func() error {
				return second(o.Service.ChangeStaffRole(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID, access.Reviewer))
			},
			"token": func() error {
				_, _, err := o.Service.RotateStaffToken(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID, nil)
				return err
			},
			"revoke": func() error {
				return second(o.Service.RevokeStaffToken(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID))
			},
			"again": func() error {
				return second(o.Service.DeactivateStaff(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID))
			},
		} {
			if err := use(); fault.CodeOf(err) != "staff-deactivated" {
				t.Errorf("%s of somebody who has left: %v", name, err)
			}
		}
		late := access.NewSessionToken() // of somebody who signed in at the very moment
		hash, _ := access.HashSessionToken(late)
		now := o.Clock.Now()
		must.NoError(t, o.Store.Update(ctx, func(tx *store.Tx) error {
			return tx.InsertSession((&access.Session{
				ID: uuid7.New(), Audience: access.Desk, UserID: n.Staff.ID, CreatedAt: now,
			}).Seen(now), hash)
		}))
		_, password, err := o.Service.ReactivateStaff(ctx, o.boss.Actor(access.Origin{}), n.Staff.ID)
		must.NoError(t, err)
		works("the token from before", authenticate(token), false)
		works("a session that began with the end", resume(late), false)
		works("a session from before", resume(open), false)
		_, _, err = signIn.Password(ctx, "mika@example.com", n.Password, access.Origin{})
		works("the password from before", err, false)
		_, _, err = signIn.Password(ctx, "mika@example.com", password, access.Origin{})
		works("the new password", err, true)
		if _, _, err := o.Service.ReactivateStaff(ctx, o.boss.Actor(access.Origin{}),
			n.Staff.ID); fault.CodeOf(err) != "staff-active" {
			t.Errorf("reactivating again: %v", err)
		}
	})
}

// TestAdministratorRemains lets administrators take the role from each other at the same moment, again and again.
func TestAdministratorRemains(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		for _, err := range []error{
			second(o.Service.ChangeStaffRole(ctx, o.boss.Actor(access.Origin{}), o.boss.ID, access.Reviewer)),
			second(o.Service.DeactivateStaff(ctx, o.boss.Actor(access.Origin{}), o.boss.ID)),
		} {
			if fault.CodeOf(err) != "own-access" {
				t.Errorf("the last administrator goes: %v", err)
			}
		}
		for round := range 10 {
			a, b := o.hire(t, fmt.Sprint("a", round), access.Admin), o.hire(t, fmt.Sprint("b", round), access.Admin)
			var both sync.WaitGroup
			both.Go(func() { _, _ = o.Service.ChangeStaffRole(ctx, a.Actor(access.Origin{}), b.ID, access.Reviewer) })
			both.Go(func() { _, _ = o.Service.DeactivateStaff(ctx, b.Actor(access.Origin{}), a.ID) })
			both.Wait()
			left := 0
			for _, s := range []*access.Staff{a, b} {
				s, err := o.Store.Staff(ctx, s.ID)
				must.NoError(t, err)
				if s.Active() && s.Allows(access.Admin) {
					left++
				}
			}
			if left != 1 {
				t.Fatalf("%d of two administrators are left", left)
			}
		}
	})
}

// TestStaffTokenAge checks that a token ends by what is set now, not by what was set when it was made.
func TestStaffTokenAge(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		i := shop.Open(t, target, t.TempDir())
		made, err := i.Service.CreateStaff(t.Context(), access.Operator, "mika@example.com", "Mika Sato", access.Reviewer)
		must.NoError(t, err)
		i.Clock.Advance(time.Hour)
		for age, want := range map[time.Duration]error{
			0: nil, time.Hour + time.Second: nil, time.Hour: access.StaffUnauthenticated,
		} {
			i.Reconfigure(t, func(c *service.Config) { c.Limits.StaffTokenAge = age })
			if _, err := i.Service.AuthenticateStaff(t.Context(), made.Token, "127.0.0.1"); !errors.Is(err, want) {
				t.Errorf("an hour after it was made, with %s: %v", age, err)
			}
		}
	})
}
