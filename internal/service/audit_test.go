package service_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestStaffLog performs every action of the administration log and checks that each is recorded once, with actor,
// target and address, and without a secret.
func TestStaffLog(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		const ip = "192.0.2.7"
		ctx := t.Context()
		from := access.Origin{IP: ip, UserAgent: "Browser"}
		var secrets []string
		secret := func(s string) { secrets = append(secrets, s) }
		signIn := o.Service.SignIn(access.Desk)
		if got := o.logged(t, audit.ActionFilter{}); len(got) != 0 {
			t.Fatalf("the log begins with %+v", got[0])
		}
		// did runs a use case and holds what it has written.
		did := func(code audit.ActionCode, who *access.Staff, target string, use func()) *audit.Action {
			t.Helper()
			before := len(o.logged(t, audit.ActionFilter{}))
			o.Clock.Advance(time.Second)
			use()
			all := o.logged(t, audit.ActionFilter{})
			if len(all) != before+1 {
				t.Fatalf("%s: %d entries, want one more than %d", code, len(all), before)
			}
			a := all[before]
			expect.Equal(t, "code", a.Code, code)
			expect.Equal(t, "id of the staff user", a.StaffID, who.ID)
			expect.Equal(t, "name of the staff user", a.StaffName, who.Name)
			expect.Equal(t, "target of "+string(code), a.Target.ID, target)
			expect.Equal(t, "address", a.IP, ip)
			expect.Equal(t, "browser", a.UserAgent, "Browser")
			expect.Equal(t, "time", a.At.UTC(), o.Clock.Now().UTC())
			return a
		}

		newest := func() string { // the id that the last entry is about
			all := o.logged(t, audit.ActionFilter{})
			return all[len(all)-1].Target.ID
		}
		ctxBoss := func(code audit.ActionCode, target string, use func() error) *audit.Action {
			t.Helper()
			return did(code, o.boss, target, func() { must.NoError(t, use()) })
		}

		// Staff.
		n, err := o.Service.CreateStaff(ctx, o.boss.Actor(from), "mika@example.com", "Mika", access.Reviewer)
		must.NoError(t, err)
		mika := &n.Staff
		secret(n.Password)
		secret(n.Token)
		if newest() != mika.ID {
			t.Errorf("the new staff user is not in the log")
		}
		_, _, err = signIn.Password(ctx, "mika@example.com", n.Password, from)
		must.NoError(t, err)
		did(audit.StaffSignedIn, mika, mika.ID, func() {
			_, token, err := o.Service.StartSession(ctx, access.Desk, mika.ID, from)
			must.NoError(t, err)
			secret(token)
		})
		failed := did(audit.StaffSignInFailed, mika, mika.ID, func() {
			if _, _, err := signIn.Password(ctx, "mika@example.com", "a wrong password", from); !errors.Is(err,
				signin.WrongSignIn) {
				t.Error(err)
			}
		})
		if failed.Details["reason"] != "wrong-password" {
			t.Errorf("details %v", failed.Details)
		}
		did(audit.StaffPasswordChanged, mika, mika.ID, func() {
			must.NoError(t, signIn.ChangePassword(ctx, mika.Person(), signin.Proof{Password: n.Password},
				"another long password", "", from))
			secret("another long password")
		})
		mika, err = o.Store.Staff(ctx, mika.ID)
		must.NoError(t, err)
		proof := signin.Proof{Password: "another long password"}
		var recovery []string
		did(audit.StaffFactorAdded, mika, mika.ID, func() {
			e, err := signIn.BeginSecondFactor(mika.Person())
			must.NoError(t, err)
			secret(e.Secret)
			code := codeOf(t, e.Secret, o.Clock.Now())
			codes, err := signIn.ConfirmSecondFactor(ctx, mika.Person(), e, proof, code, "", from)
			must.NoError(t, err)
			secrets = append(secrets, codes...)
			recovery = codes
		})
		did(audit.StaffCodesRenewed, mika, mika.ID, func() {
			codes, err := signIn.RenewRecoveryCodes(
				ctx, mika.Person(), signin.Proof{Password: proof.Password, Code: recovery[1]}, from)
			must.NoError(t, err)
			secrets = append(secrets, codes...)
			recovery = codes
		})
		did(audit.StaffSignInFailed, mika, mika.ID, func() {
			if err := signIn.Code(ctx, mika.ID, "000000", from); !errors.Is(err, signin.WrongCode) {
				t.Error(err)
			}
		})
		did(audit.StaffFactorRemoved, mika, mika.ID, func() {
			must.NoError(t, signIn.EndSecondFactor(ctx, mika.Person(), signin.Proof{Password: proof.Password, Code: recovery[0]},
				"", from))
		})
		did(audit.StaffTokenMade, mika, mika.ID, func() {
			token, err := o.Service.RotateOwnToken(ctx, mika.ID, proof, nil, from)
			must.NoError(t, err)
			secret(token)
		})
		session, _, err := o.Service.StartSession(ctx, access.Desk, mika.ID, from)
		must.NoError(t, err)
		did(audit.StaffPasskeyAdded, mika, mika.ID, func() {
			d := &device.Device{Origin: o.Service.Address()}
			asked, err := signIn.BeginNewPasskey(ctx, mika.Person(), "Phone", proof, session.ID, from)
			must.NoError(t, err)
			_, err = signIn.AddPasskey(ctx, mika.Person(), asked.Sealed, d.Create(t, asked.Options), session.ID, from)
			must.NoError(t, err)
		})
		passkeys, err := signIn.Passkeys(ctx, mika.ID)
		must.NoError(t, err)
		did(audit.StaffPasskeyRemoved, mika, mika.ID, func() {
			must.NoError(t, signIn.RemovePasskey(ctx, mika.Person(), passkeys[0].ID, proof, "", from))
		})
		address, err := o.Service.InviteStaff(ctx, o.boss.Actor(from), "nao@example.com", "Nao", access.Reviewer)
		must.NoError(t, err)
		_, invitation, _ := strings.Cut(address, "token=")
		secret(invitation)
		open, err := o.Service.StaffInvitations(ctx, o.boss.Actor(from))
		must.NoError(t, err)
		all := o.logged(t, audit.ActionFilter{})
		invited := all[len(all)-1]
		if invited.Code != audit.StaffInvited || invited.Target.ID != open[0].ID ||
			invited.Target.Name != "nao@example.com" || invited.Details["role"] != "reviewer" {
			t.Errorf("the invitation is logged as %+v", invited)
		}
		ctxBoss(audit.StaffUninvited, open[0].ID, func() error {
			return o.Service.UninviteStaff(ctx, o.boss.Actor(from), open[0].ID)
		})
		ctxBoss(audit.StaffTokenMade, mika.ID, func() error {
			_, token, err := o.Service.RotateStaffToken(ctx, o.boss.Actor(from), mika.ID, nil)
			secret(token)
			return err
		})
		ctxBoss(audit.StaffTokenRevoked, mika.ID, func() error {
			return second(o.Service.RevokeStaffToken(ctx, o.boss.Actor(from), mika.ID))
		})
		ctxBoss(audit.StaffPasswordReset, mika.ID, func() error {
			_, password, err := o.Service.ResetStaffPassword(ctx, o.boss.Actor(from), mika.ID)
			secret(password)
			return err
		})
		ctxBoss(audit.StaffFactorReset, mika.ID, func() error {
			return second(o.Service.ResetStaffFactors(ctx, o.boss.Actor(from), mika.ID))
		})
		role := ctxBoss(audit.StaffRoleChanged, mika.ID, func() error {
			return second(o.Service.ChangeStaffRole(ctx, o.boss.Actor(from), mika.ID, access.Admin))
		})
		if role.Details["from"] != "reviewer" || role.Details["to"] != "admin" {
			t.Errorf("details %v", role.Details)
		}
		ctxBoss(audit.StaffDeactivated, mika.ID, func() error {
			return second(o.Service.DeactivateStaff(ctx, o.boss.Actor(from), mika.ID))
		})
		did(audit.StaffSignInFailed, mika, mika.ID, func() {
			if _, _, err := signIn.Password(ctx, "mika@example.com", "any", from); !errors.Is(err, signin.WrongSignIn) {
				t.Error(err)
			}
		})
		ctxBoss(audit.StaffReactivated, mika.ID, func() error {
			_, password, err := o.Service.ReactivateStaff(ctx, o.boss.Actor(from), mika.ID)
			secret(password)
			return err
		})

		// Accounts.
		owner, err := o.Store.Owner(ctx, o.Account.ID)
		must.NoError(t, err)
		made, err := o.Service.CreateAccount(ctx, by(o.boss), "Beta", "beta@example.com", "en")
		must.NoError(t, err)
		secret(made.Password)
		if a := o.logged(t, audit.ActionFilter{AccountID: made.Account.ID}); len(a) != 1 ||
			a[0].Code != audit.AccountCreated || a[0].Target.Name != "Beta" {
			t.Errorf("the log of the new account: %+v", a)
		}
		ctxBoss(audit.UserPasswordReset, owner.ID, func() error {
			_, link, err := o.Service.ResetUserPassword(ctx, o.boss.Actor(from), o.Account.ID, owner.ID)
			_, token, _ := strings.Cut(link, "token=")
			secret(token)
			return err
		})
		ctxBoss(audit.UserFactorReset, owner.ID, func() error {
			return second(o.Service.ResetUserFactors(ctx, o.boss.Actor(from), o.Account.ID, owner.ID))
		})
		grant := ctxBoss(audit.CreditsGranted, o.Account.ID, func() error {
			return second(o.Service.GrantCredits(ctx, by(o.boss), o.Live.Tenant, 50, "invoice 7"))
		})
		expect.Equal(t, "account", grant.AccountID, o.Account.ID)
		for name, want := range map[string]any{"amount": 50.0, "balance": 1050.0, "note": "invoice 7"} {
			expect.Equal(t, name, grant.Details[name], want)
		}
		k, keySecret, err := o.Service.CreateKey(ctx, by(o.boss),
			service.NewKey{Tenant: o.Live.Tenant, Name: "erp", Scopes: access.AllScopes})
		must.NoError(t, err)
		secret(keySecret)
		if newest() != k.ID {
			t.Error("the new key is not in the log")
		}
		ctxBoss(audit.ActionKeyRenamed, k.ID, func() error { return o.Service.RenameKey(ctx, by(o.boss), k.ID, "nightly") })
		ctxBoss(audit.ActionKeyLimited, k.ID, func() error {
			return o.Service.SetKeyLimits(ctx, by(o.boss), k.ID, map[string]int{"read": 7})
		})
		ctxBoss(audit.ActionKeyNetworks, k.ID, func() error { return o.Service.SetKeyNetworks(ctx, by(o.boss), k.ID, nil) })
		ctxBoss(audit.ActionKeyRevoked, k.ID, func() error { return second(o.Service.RevokeKey(ctx, by(o.boss), k.ID)) })

		// The catalog.
		plan, err := o.Service.UploadCatalog(ctx, by(o.boss), "c.yaml",
			[]byte(strings.Replace(string(demo.Catalog), "en: Chanel", "en: CHANEL", 1)))
		must.NoError(t, err)
		ctxBoss(audit.CatalogImported, fmt.Sprint(plan.Draft.BaseVersion+1),
			func() error { _, err := o.Service.ConfirmCatalog(ctx, by(o.boss), plan.Draft.ID); return err })
		ctxBoss(audit.AnswerTimePaused, "60", func() error { return o.Service.PauseAnswerTime(ctx, by(o.boss), 60) })
		ctxBoss(audit.AnswerTimeResumed, "60", func() error { return o.Service.ResumeAnswerTime(ctx, by(o.boss), 60) })

		// Orders and what comes of them.
		id := o.Order(t, o.Live, "")
		ctxBoss(audit.OrderReassigned, id, func() error {
			return second(o.Service.ReassignOrder(ctx, o.boss.Actor(from), id, o.reviewer.ID))
		})
		ctxBoss(audit.OrderCanceled, id, func() error {
			return second(o.Service.CancelOrder(ctx, o.boss.Actor(from), id, "withdrawn"))
		})
		authentic, err := o.Store.Order(ctx, o.Order(t, o.Test, order.MockAuthentic))
		must.NoError(t, err)
		ctxBoss(audit.CertificateRevoked, authentic.CertificateID, func() error {
			return o.Service.RevokeCertificate(ctx, o.boss.Actor(from), authentic.CertificateID, "exchanged")
		})

		ctxBoss(audit.AccountExported, o.Account.ID, func() error {
			return o.Service.ExportAccount(ctx, by(o.boss), o.Account, &exportRows{kinds: map[string]int{}})
		})
		ctxBoss(audit.OrderErased, authentic.ID, func() error {
			return second(o.Service.EraseOrder(ctx, by(o.boss), authentic.ID, false))
		})
		other, err := o.Service.CreateAccount(ctx, access.System, "Other", "owner@other.example", "en")
		must.NoError(t, err)
		ctxBoss(audit.AccountErased, other.Account.ID, func() error {
			return second(o.Service.EraseAccount(ctx, by(o.boss), other.Account.ID, false))
		})

		delivery := o.failedDelivery(t)
		ctxBoss(audit.DeliveryRedelivered, delivery, func() error { return o.Service.Redeliver(ctx, by(o.boss), delivery) })
		o.failedDelivery(t)
		many := ctxBoss(audit.DeliveriesRedelivered, "", func() error {
			return second(o.Service.RedeliverFailed(ctx, by(o.boss),
				webhook.DeliveryFilter{Tenant: access.Tenant{AccountID: o.Account.ID}}, time.Time{}))
		})
		if many.Details["deliveries"] != 1.0 || many.AccountID != o.Account.ID {
			t.Errorf("details %v of %q", many.Details, many.AccountID)
		}

		t.Run("NothingForOthers", func(t *testing.T) {
			before := len(o.logged(t, audit.ActionFilter{}))
			member, err := o.Service.MemberOfSession(ctx, owner.ID)
			must.NoError(t, err)
			n := service.NewKey{Tenant: o.Test.Tenant, Name: "own", Scopes: access.AllScopes}
			_, _, err = o.Service.CreateKey(ctx, member.Actor("", from), n)
			must.NoError(t, err)
			_, _, err = o.Service.StartSession(ctx, access.Portal, owner.ID, from)
			must.NoError(t, err)
			if after := len(o.logged(t, audit.ActionFilter{})); after != before {
				t.Errorf("%d entries for what an account's own user did", after-before)
			}
		})
		t.Run("NothingForRefused", func(t *testing.T) {
			before := len(o.logged(t, audit.ActionFilter{}))
			for name, err := range map[string]error{
				"no credits": second(o.Service.GrantCredits(ctx, by(o.boss), o.Live.Tenant, -1_000_000, "x")),
				"the same email": second(o.Service.CreateStaff(ctx, o.boss.Actor(from), "mika@example.com", "x",
					access.Reviewer)),
				"a revoked key":     o.Service.RenameKey(ctx, by(o.boss), k.ID, "x"),
				"one's own role":    second(o.Service.ChangeStaffRole(ctx, o.boss.Actor(from), o.boss.ID, access.Reviewer)),
				"an ended order":    second(o.Service.CancelOrder(ctx, o.boss.Actor(from), id, "")),
				"a reviewer":        second(o.Service.GrantCredits(ctx, by(o.reviewer), o.Live.Tenant, 1, "x")),
				"a revoked revoked": o.Service.RevokeCertificate(ctx, o.boss.Actor(from), authentic.CertificateID, "again"),
			} {
				if err == nil {
					t.Errorf("%s is not refused", name)
				}
			}
			if after := len(o.logged(t, audit.ActionFilter{})); after != before {
				t.Errorf("%d entries for what was refused", after-before)
			}
		})
		t.Run("Operator", func(t *testing.T) {
			o.Clock.Advance(time.Second)
			_, err := o.Service.GrantCredits(t.Context(), access.Operator, o.Live.Tenant, 1, "by hand")
			must.NoError(t, err)
			all := o.logged(t, audit.ActionFilter{Operator: true})
			if len(all) != 1 || all[0].StaffID != "" || all[0].StaffName != "operator" || all[0].IP != "" ||
				all[0].Code != audit.CreditsGranted {
				t.Errorf("entries %+v", all)
			}
		})
		t.Run("FourEyes", func(t *testing.T) { o.testLogOfApprovals(t, from, secret) })
		t.Run("EveryWord", func(t *testing.T) {
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
			for _, s := range secrets {
				if s == "" || strings.Contains(string(text), s) {
					t.Errorf("the log has the secret %q", s)
				}
			}
		})
		t.Run("Filters", func(t *testing.T) {
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
				"Staff": {audit.ActionFilter{StaffID: mika.ID}, func(a *audit.Action) bool { return a.StaffID == mika.ID }},
				"Account": {
					audit.ActionFilter{AccountID: o.Account.ID},
					func(a *audit.Action) bool { return a.AccountID == o.Account.ID },
				},
				"Target": {audit.ActionFilter{TargetID: id}, func(a *audit.Action) bool { return a.Target.ID == id }},
				"From":   {audit.ActionFilter{From: &middle}, func(a *audit.Action) bool { return !a.At.Before(middle) }},
				"To":     {audit.ActionFilter{To: &middle}, func(a *audit.Action) bool { return a.At.Before(middle) }},
				"All": {
					audit.ActionFilter{Code: audit.StaffTokenMade, StaffID: o.boss.ID, TargetID: mika.ID, To: &middle},
					func(a *audit.Action) bool {
						return a.Code == audit.StaffTokenMade && a.StaffID == o.boss.ID && a.Target.ID == mika.ID && a.At.Before(middle)
					},
				},
			} {
				want := 0
				for _, a := range all {
					if f.holds(a) {
						want++
					}
				}
				got := o.logged(t, f.filter)
				if len(got) != want || want == 0 || !slices.ContainsFunc(got, f.holds) {
					t.Errorf("%s: %d entries, want %d", name, len(got), want)
				}
			}
		})
		t.Run("Pages", o.testLogPages)
	})
}
