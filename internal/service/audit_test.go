package service_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestStaffLog performs every action of the administration log and checks that each is recorded once, with actor,
// target and address, and without a secret.
func TestStaffLog(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		if got := o.logged(t, audit.ActionFilter{}); len(got) != 0 {
			t.Fatalf("the log begins with %+v", got[0])
		}
		l := &staffLog{office: o, from: by(o.boss).Origin}
		for _, group := range []struct {
			name    string
			actions func(*testing.T) []staffAction
		}{ // in this order: staff whose access ends have signed in before
			{"Credentials", l.credentialActions},
			{"Staff", l.staffActions},
			{"Accounts", l.accountActions},
			{"Keys", l.keyActions},
			{"Catalog", l.catalogActions},
			{"Orders", l.orderActions},
			{"Deliveries", l.deliveryActions},
			{"PersonalData", l.personalDataActions},
		} {
			if !t.Run(group.name, func(t *testing.T) {
				for _, a := range group.actions(t) {
					l.perform(t, &a)
				}
			}) {
				return // what follows needs it
			}
		}
		t.Run("FourEyes", func(t *testing.T) { o.testLogOfApprovals(t, l.from, l.secret) })
		t.Run("EveryCode", func(t *testing.T) {
			seen := make(map[audit.ActionCode]bool)
			for _, a := range o.logged(t, audit.ActionFilter{}) {
				seen[a.Code] = true
			}
			for _, c := range audit.ActionCodes {
				if !seen[c] {
					t.Errorf("nothing writes %s", c)
				}
			}
		})
		t.Run("NoSecrets", func(t *testing.T) {
			text, err := json.Marshal(o.logged(t, audit.ActionFilter{}))
			must.NoError(t, err)
			if len(l.secrets) == 0 {
				t.Error("nothing was secret")
			}
			for _, s := range l.secrets {
				if s == "" || strings.Contains(string(text), s) {
					t.Errorf("the log has the secret %q", s)
				}
			}
		})
	})
}

// staffAction is something that staff do, and what the log of administration says of it.
type staffAction struct {
	code    audit.ActionCode
	own     bool                            // Mika does it, otherwise the administrator
	prepare func()                          // is run before; it may be logged, too
	use     func() (target string, _ error) // returns the id of what it was done to
	name    string                          // of the target; empty: whatever it is
	account string                          // empty: whatever it is
	details map[string]any                  // some of them, as they are read back
}

// staffLog performs actions.
type staffLog struct {
	*office
	from    access.Origin
	mika    *access.Staff // a reviewer, once there is one
	secrets []string      // that must not be in the log
}

func (l *staffLog) secret(s string) { l.secrets = append(l.secrets, s) }

// perform performs an action and checks the entry that it leaves.
func (l *staffLog) perform(t *testing.T, x *staffAction) {
	t.Helper()
	if x.prepare != nil {
		x.prepare()
	}
	before := len(l.logged(t, audit.ActionFilter{}))
	l.Clock.Advance(time.Second)
	target, err := x.use()
	if err != nil {
		t.Fatalf("%s: %v", x.code, err)
	}
	all := l.logged(t, audit.ActionFilter{})
	if len(all) != before+1 {
		t.Fatalf("%s: %d entries, want one more than %d", x.code, len(all), before)
	}
	who := l.boss
	if x.own {
		who = l.mika
	}
	a := all[before]
	expect.Equal(t, "code", a.Code, x.code)
	expect.Equal(t, "id of the staff user", a.StaffID, who.ID)
	expect.Equal(t, "name of the staff user", a.StaffName, who.Name)
	expect.Equal(t, "target of "+string(x.code), a.Target.ID, target)
	expect.Equal(t, "address", a.IP, l.from.IP)
	expect.Equal(t, "browser", a.UserAgent, l.from.UserAgent)
	expect.Equal(t, "time", a.At.UTC(), l.Clock.Now().UTC())
	if x.name != "" {
		expect.Equal(t, "name of the target", a.Target.Name, x.name)
	}
	if x.account != "" {
		expect.Equal(t, "account", a.AccountID, x.account)
	}
	for name, want := range x.details {
		expect.Equal(t, name, a.Details[name], want)
	}
}

// TestStaffLog_AccountUsers checks that what the users of an account do is not in the log of administration.
func TestStaffLog_AccountUsers(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx, from := t.Context(), by(o.boss).Origin
		owner, err := o.Store.Owner(ctx, o.Account.ID)
		must.NoError(t, err)
		member, err := o.Service.MemberOfSession(ctx, owner.ID)
		must.NoError(t, err)
		n := service.NewKey{Tenant: o.Test.Tenant, Name: "own", Scopes: access.AllScopes}
		_, _, err = o.Service.CreateKey(ctx, member.Actor("", from), n)
		must.NoError(t, err)
		_, _, err = o.Service.StartSession(ctx, access.Portal, owner.ID, from)
		must.NoError(t, err)
		expect.Equal(t, "entries", len(o.logged(t, audit.ActionFilter{})), 0)
	})
}

// TestStaffLog_Refused checks that what is refused leaves no entry.
func TestStaffLog_Refused(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx, boss := t.Context(), by(o.boss)
		k, _, err := o.Service.CreateKey(ctx, boss, service.NewKey{
			Tenant: o.Live.Tenant, Name: "erp", Scopes: access.AllScopes,
		})
		must.NoError(t, err)
		must.NoError(t, second(o.Service.RevokeKey(ctx, boss, k.ID)))
		ended := o.Order(t, o.Live, "")
		must.NoError(t, second(o.Service.CancelOrder(ctx, boss, ended, "withdrawn")))
		authentic, err := o.Store.Order(ctx, o.Order(t, o.Test, order.MockAuthentic))
		must.NoError(t, err)
		must.NoError(t, o.Service.RevokeCertificate(ctx, boss, authentic.CertificateID, "exchanged"))

		before := len(o.logged(t, audit.ActionFilter{}))
		for name, err := range map[string]error{
			"no credits":            second(o.Service.GrantCredits(ctx, boss, o.Live.Tenant, -1_000_000, "x")),
			"the same email":        second(o.Service.CreateStaff(ctx, boss, o.reviewer.Email, "x", access.Reviewer)),
			"a revoked key":         o.Service.RenameKey(ctx, boss, k.ID, "x"),
			"one's own role":        second(o.Service.ChangeStaffRole(ctx, boss, o.boss.ID, access.Reviewer)),
			"an ended order":        second(o.Service.CancelOrder(ctx, boss, ended, "")),
			"a reviewer":            second(o.Service.GrantCredits(ctx, by(o.reviewer), o.Live.Tenant, 1, "x")),
			"a revoked certificate": o.Service.RevokeCertificate(ctx, boss, authentic.CertificateID, "again"),
		} {
			if err == nil {
				t.Errorf("%s is not refused", name)
			}
		}
		expect.Equal(t, "entries", len(o.logged(t, audit.ActionFilter{})), before)
	})
}

// TestStaffLog_Filters checks that a filter finds every entry that it describes, and no other.
func TestStaffLog_Filters(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx, boss := t.Context(), by(o.boss)
		id := o.Order(t, o.Live, "")
		rotate := func(actor access.Actor) error {
			_, _, err := o.Service.RotateStaffToken(ctx, actor, o.reviewer.ID, nil)
			return err
		}
		for _, use := range []func() error{
			func() error { return rotate(boss) },
			func() error { return second(o.Service.ReassignOrder(ctx, boss, id, o.reviewer.ID)) },
			func() error {
				_, _, err := o.Service.StartSession(ctx, access.Desk, o.reviewer.ID, boss.Origin)
				return err
			},
			func() error { return second(o.Service.CreateAccount(ctx, boss, "Beta", "beta@example.com", "en")) },
			func() error { return second(o.Service.GrantCredits(ctx, access.Operator, o.Live.Tenant, 1, "by hand")) },
			func() error { return rotate(boss) },
		} {
			o.Clock.Advance(time.Second)
			must.NoError(t, use())
		}
		all := o.logged(t, audit.ActionFilter{})
		middle := all[len(all)/2].At
		for name, f := range map[string]struct {
			filter audit.ActionFilter
			holds  func(*audit.Action) bool
		}{
			"Code": {
				audit.ActionFilter{Code: audit.StaffTokenMade},
				func(a *audit.Action) bool { return a.Code == audit.StaffTokenMade },
			},
			"Staff": {
				audit.ActionFilter{StaffID: o.reviewer.ID},
				func(a *audit.Action) bool { return a.StaffID == o.reviewer.ID },
			},
			"Operator": {
				audit.ActionFilter{Operator: true},
				func(a *audit.Action) bool {
					return a.StaffID == "" && a.StaffName == "operator" && a.IP == "" && a.Code == audit.CreditsGranted
				},
			},
			"Account": {
				audit.ActionFilter{AccountID: o.Account.ID},
				func(a *audit.Action) bool { return a.AccountID == o.Account.ID },
			},
			"Target": {audit.ActionFilter{TargetID: id}, func(a *audit.Action) bool { return a.Target.ID == id }},
			"From":   {audit.ActionFilter{From: &middle}, func(a *audit.Action) bool { return !a.At.Before(middle) }},
			"To":     {audit.ActionFilter{To: &middle}, func(a *audit.Action) bool { return a.At.Before(middle) }},
			"Together": {
				audit.ActionFilter{
					Code: audit.StaffTokenMade, StaffID: o.boss.ID, TargetID: o.reviewer.ID, To: &middle,
				},
				func(a *audit.Action) bool {
					return a.Code == audit.StaffTokenMade && a.StaffID == o.boss.ID && a.Target.ID == o.reviewer.ID &&
						a.At.Before(middle)
				},
			},
		} {
			var want, got []string
			for _, a := range all {
				if f.holds(a) {
					want = append(want, a.ID)
				}
			}
			for _, a := range o.logged(t, f.filter) {
				got = append(got, a.ID)
				if !f.holds(a) {
					t.Errorf("%s: found %+v", name, a)
				}
			}
			expect.Equal(t, name, strings.Join(got, " "), strings.Join(want, " "))
			if len(want) == 0 || len(want) == len(all) {
				t.Errorf("%s: the filter is for %d of %d entries", name, len(want), len(all))
			}
		}
	})
}

func TestStaffLog_Pages(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		for range 10 {
			must.NoError(t, second(o.Service.GrantCredits(t.Context(), by(o.boss), o.Live.Tenant, 1, "x")))
		}
		o.testLogPages(t)
	})
}
