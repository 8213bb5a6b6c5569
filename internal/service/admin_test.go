package service_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/expect"
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
		ID: store.NewID(), Email: strings.ToLower(name) + "@example.com", Name: name, Role: role,
		PasswordHash: "$none$", CreatedAt: o.Clock.Now(),
	}
	must.NoError(t, o.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.InsertStaff(s, store.StaffToken{Hash: access.HashSecretKey(access.NewStaffToken())})
	}))
	return s
}

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
				"Redeliver": func(w *access.Staff) error { return o.Service.Redeliver(ctx, by(w), store.NewID()) },
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
			_, err = o.Service.CreateAccount(ctx, by(o.boss), "Acme 鑑定", "beta@example.com", "en")
			if got := problemsOf(err); !slices.Equal(got, []string{"name taken", "email taken"}) {
				t.Errorf("problems %v", got)
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

func TestConfirmCatalog(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		upload := func(name string) *service.CatalogPlan {
			t.Helper()
			plan, err := o.Service.UploadCatalog(ctx, by(o.boss), "c.yaml",
				[]byte(strings.Replace(string(demo.Catalog), "en: Chanel", "en: "+name, 1)))
			must.NoError(t, err)
			return plan
		}
		first, second := upload("CHANEL"), upload("Chanel Paris")
		if len(first.Changes) != 1 || first.Changes[0].Kind != catalog.Changed || first.Changes[0].Code != "chanel" {
			t.Errorf("changes %+v", first.Changes)
		}
		_, err := o.Service.ConfirmCatalog(ctx, by(o.boss), first.Draft.ID)
		must.NoError(t, err)
		if got := o.Service.Catalog().Brand("chanel").Name.EN; got != "CHANEL" {
			t.Errorf("the brand is called %q", got)
		}
		if _, err := o.Service.ConfirmCatalog(ctx, by(o.boss), first.Draft.ID); fault.CodeOf(err) != fault.CodeNotFound {
			t.Errorf("a draft was imported twice: %v", err)
		}
		if _, err := o.Service.ConfirmCatalog(ctx, by(o.boss), second.Draft.ID); fault.CodeOf(err) != "catalog-changed" {
			t.Errorf("a draft over another catalog than it was compared with: %v", err)
		}
		plan, err := o.Service.CatalogPlan(ctx, by(o.boss), second.Draft.ID)
		must.NoError(t, err)
		if !plan.Stale {
			t.Error("the draft does not say that it is stale")
		}
		o.Clock.Advance(25 * time.Hour)
		upload("x")
		if _, err := o.Service.CatalogPlan(ctx, by(o.boss), second.Draft.ID); fault.CodeOf(err) != fault.CodeNotFound {
			t.Errorf("an old draft is kept: %v", err)
		}
	})
}

func TestStatistics(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Clock.Set(time.Now().UTC().Truncate(24 * time.Hour)) // ids tell on which day orders were created
		o := newOffice(t, s)
		ctx := t.Context()
		begun := s.Clock.Now()
		verdict := func(after time.Duration, outcome order.Outcome) {
			t.Helper()
			id := o.Order(t, o.Live, "")
			_, err := o.Service.ClaimOrder(ctx, o.reviewer.Actor(access.Origin{}), id)
			must.NoError(t, err)
			created := o.Clock.Now()
			o.Clock.Advance(after)
			v := &order.Verdict{Outcome: outcome}
			_, err = o.Service.CompleteOrder(ctx, o.reviewer.Actor(access.Origin{}), id, v, "")
			must.NoError(t, err)
			o.Clock.Set(created)
		}
		minutes := s.Service.Catalog().Document().AnswerTimes
		standard := minutes[slices.IndexFunc(minutes, func(a catalog.AnswerTime) bool { return a.Default })].Code
		in := func(share float64) time.Duration {
			return time.Duration(share * float64(standard) * float64(time.Minute))
		}
		for range 9 {
			verdict(in(0.5), order.Authentic)
		}
		verdict(in(1.5), order.UnableToVerify)
		canceled := o.Order(t, o.Live, "")
		_, err := o.Service.CancelOrder(ctx, o.boss.Actor(access.Origin{}), canceled, "")
		must.NoError(t, err)
		o.Order(t, o.Live, "")
		o.Order(t, o.Test, order.MockAuthentic) // counts nowhere
		must.NoError(t, ignore(o.Service.SaveStatistics(ctx)))

		holds := func(t *testing.T) {
			t.Helper()
			got, err := o.Service.Statistics(ctx, by(o.boss), 30)
			must.NoError(t, err)
			if len(got.Days) != 30 || got.Total.Created != 12 {
				t.Errorf("%d days, %d created, want 30 and 12", len(got.Days), got.Total.Created)
			}
			if e := got.Total.Ended; e["authentic"] != 9 || e["unable-to-verify"] != 1 || e["canceled"] != 1 || len(e) != 3 {
				t.Errorf("ended %v", e)
			}
			figures := got.Total.Times[standard]
			if figures == nil || figures.Verdicts != 10 || figures.OnTime != 9 || math.Abs(got.Total.OnTimeRate()-0.9) > 1e-9 {
				t.Fatalf("figures of the standard time %+v", figures)
			}
			for q, want := range map[float64]time.Duration{0.5: in(0.5), 0.95: in(1.5)} {
				if d, ok := figures.Turnaround.Quantile(q); !ok || math.Abs(d.Seconds()/want.Seconds()-1) > 0.021 {
					t.Errorf("quantile %g is %s, want %s", q, d, want)
				}
			}
			if r := got.Reviewers; r[0].ID != o.reviewer.ID || r[0].Verdicts != 10 || r[1].Verdicts != 0 {
				t.Errorf("reviewers %+v", r)
			}
		}
		o.Clock.Set(begun.Add(in(1.5)))
		t.Run("Today", holds)
		o.Clock.Advance(49 * time.Hour)
		n, err := o.Service.SaveStatistics(ctx)
		must.NoError(t, err)
		if n < 2 {
			t.Errorf("%d days were kept, want at least 2", n)
		}
		if n, err := o.Service.SaveStatistics(ctx); n != 0 || err != nil {
			t.Errorf("kept again: %d, %v", n, err)
		}
		t.Run("Kept", holds)
		t.Run("Queue", func(t *testing.T) {
			got, err := o.Service.Statistics(ctx, by(o.boss), 30)
			must.NoError(t, err)
			sampled := 0
			for _, d := range got.Days {
				if d.Samples > 0 {
					sampled++
					if d.MostQueued != 1 || d.MeanQueued != 1 || d.MeanOpen != 1 {
						t.Errorf("%s: %+v", d.Date.Format(time.DateOnly), d)
					}
				}
			}
			if sampled != 2 {
				t.Errorf("%d days have samples, want 2", sampled)
			}
		})
	})
}

func ignore(_ int, err error) error { return err }
