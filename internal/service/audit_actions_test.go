package service_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/assayhq/assay/internal/testkit/must"
)

// refusedWith is nil for the refusal that is wanted.
func refusedWith(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("got %w, want %w", err, want)
}

// credentialActions are what Mika does with how she signs in, after she was hired.
func (l *staffLog) credentialActions(t *testing.T) []staffAction {
	ctx, signIn := t.Context(), l.Service.SignIn(access.Desk)
	const password = "another long password"
	proof := signin.Proof{Password: password}
	var first string
	var recovery []string
	var session *access.Session
	kept := func(codes []string) {
		recovery = codes
		l.secrets = append(l.secrets, codes...)
	}
	own := func(code audit.ActionCode, use func() error) staffAction {
		return staffAction{code: code, own: true, use: func() (string, error) {
			err := use()
			return l.mika.ID, err
		}}
	}
	signedIn := own(audit.StaffSignedIn, func() error {
		_, token, err := l.Service.StartSession(ctx, access.Desk, l.mika.ID, l.from)
		l.secret(token)
		return err
	})
	signedIn.prepare = func() {
		_, _, err := signIn.Password(ctx, l.mika.Email, first, l.from)
		must.NoError(t, err)
	}
	wrongPassword := own(audit.StaffSignInFailed, func() error {
		_, _, err := signIn.Password(ctx, l.mika.Email, "a wrong password", l.from)
		return refusedWith(err, signin.WrongSignIn)
	})
	wrongPassword.details = map[string]any{"reason": "wrong-password"}
	passkeyAdded := own(audit.StaffPasskeyAdded, func() error {
		d := &device.Device{Origin: l.Service.Address()}
		here := l.from
		here.Session = session
		asked, err := signIn.BeginNewPasskey(ctx, l.mika.Person(), "Phone", proof, here)
		must.NoError(t, err)
		return second(signIn.AddPasskey(ctx, l.mika.Person(), asked.Sealed, d.Create(t, asked.Options), here))
	})
	passkeyAdded.prepare = func() {
		var err error
		session, _, err = l.Service.StartSession(ctx, access.Desk, l.mika.ID, l.from)
		must.NoError(t, err)
	}
	return []staffAction{
		{code: audit.StaffCreated, use: func() (string, error) {
			n, err := l.Service.CreateStaff(ctx, by(l.boss), "mika@example.com", "Mika", access.Reviewer)
			must.NoError(t, err)
			l.mika, first = &n.Staff, n.Password
			l.secret(n.Password)
			l.secret(n.Token)
			return n.Staff.ID, nil
		}},
		signedIn, wrongPassword,
		own(audit.StaffPasswordChanged, func() (err error) {
			l.secret(password)
			must.NoError(t, signIn.ChangePassword(ctx, l.mika.Person(), signin.Proof{Password: first}, password, l.from))
			l.mika, err = l.Store.Staff(ctx, l.mika.ID)
			return err
		}),
		own(audit.StaffFactorAdded, func() error {
			e, err := signIn.BeginSecondFactor(l.mika.Person())
			must.NoError(t, err)
			l.secret(e.Secret)
			code := codeOf(t, e.Secret, l.Clock.Now())
			codes, err := signIn.ConfirmSecondFactor(ctx, l.mika.Person(), e, proof, code, l.from)
			kept(codes)
			return err
		}),
		own(audit.StaffCodesRenewed, func() error {
			with := signin.Proof{Password: password, Code: recovery[1]}
			codes, err := signIn.RenewRecoveryCodes(ctx, l.mika.Person(), with, l.from)
			kept(codes)
			return err
		}),
		own(audit.StaffSignInFailed, func() error {
			return refusedWith(signIn.Code(ctx, l.mika.ID, "000000", l.from), signin.WrongCode)
		}),
		own(audit.StaffFactorRemoved, func() error {
			with := signin.Proof{Password: password, Code: recovery[0]}
			return signIn.EndSecondFactor(ctx, l.mika.Person(), with, l.from)
		}),
		own(audit.StaffTokenMade, func() error {
			token, err := l.Service.RotateOwnToken(ctx, l.mika.ID, proof, nil, l.from)
			l.secret(token)
			return err
		}),
		passkeyAdded,
		own(audit.StaffPasskeyRemoved, func() error {
			passkeys, err := signIn.Passkeys(ctx, l.mika.ID)
			must.NoError(t, err)
			return signIn.RemovePasskey(ctx, l.mika.Person(), passkeys[0].ID, proof, l.from)
		}),
	}
}

// staffActions are what the administrator does with staff users.
func (l *staffLog) staffActions(t *testing.T) []staffAction {
	ctx, boss := t.Context(), by(l.boss)
	var invitation string
	toMika := func(code audit.ActionCode, use func(id string) error) staffAction {
		return staffAction{code: code, use: func() (string, error) { return l.mika.ID, use(l.mika.ID) }}
	}
	secretly := func(use func(context.Context, access.Actor, string) (*access.Staff, string, error)) func(string) error {
		return func(id string) error {
			_, made, err := use(ctx, boss, id)
			l.secret(made)
			return err
		}
	}
	role := toMika(audit.StaffRoleChanged, func(id string) error {
		return second(l.Service.ChangeStaffRole(ctx, boss, id, access.Admin))
	})
	role.details = map[string]any{"from": "reviewer", "to": "admin"}
	return []staffAction{
		{
			code: audit.StaffInvited, name: "nao@example.com", details: map[string]any{"role": "reviewer"},
			use: func() (string, error) {
				address, err := l.Service.InviteStaff(ctx, boss, "nao@example.com", "Nao", access.Reviewer)
				must.NoError(t, err)
				_, token, _ := strings.Cut(address, "token=")
				l.secret(token)
				open, err := l.Service.StaffInvitations(ctx, boss)
				invitation = open[0].ID
				return invitation, err
			},
		},
		{code: audit.StaffUninvited, use: func() (string, error) {
			return invitation, l.Service.UninviteStaff(ctx, boss, invitation)
		}},
		toMika(audit.StaffTokenMade, func(id string) error {
			_, token, err := l.Service.RotateStaffToken(ctx, boss, id, nil)
			l.secret(token)
			return err
		}),
		toMika(audit.StaffTokenRevoked, func(id string) error { return second(l.Service.RevokeStaffToken(ctx, boss, id)) }),
		toMika(audit.StaffPasswordReset, secretly(l.Service.ResetStaffPassword)),
		toMika(audit.StaffFactorReset, func(id string) error { return second(l.Service.ResetStaffFactors(ctx, boss, id)) }),
		role,
		toMika(audit.StaffDeactivated, func(id string) error { return second(l.Service.DeactivateStaff(ctx, boss, id)) }),
		{code: audit.StaffSignInFailed, own: true, use: func() (string, error) {
			_, _, err := l.Service.SignIn(access.Desk).Password(ctx, l.mika.Email, "any", l.from)
			return l.mika.ID, refusedWith(err, signin.WrongSignIn)
		}},
		toMika(audit.StaffReactivated, secretly(l.Service.ReactivateStaff)),
	}
}

func (l *staffLog) accountActions(t *testing.T) []staffAction {
	ctx, boss := t.Context(), by(l.boss)
	owner, err := l.Store.Owner(ctx, l.Account.ID)
	must.NoError(t, err)
	return []staffAction{
		{code: audit.AccountCreated, name: "Beta", use: func() (string, error) {
			made, err := l.Service.CreateAccount(ctx, boss, "Beta", "beta@example.com", "en")
			must.NoError(t, err)
			l.secret(made.Password)
			return made.Account.ID, nil
		}},
		{code: audit.UserPasswordReset, use: func() (string, error) {
			_, link, err := l.Service.ResetUserPassword(ctx, boss, l.Account.ID, owner.ID)
			_, token, _ := strings.Cut(link, "token=")
			l.secret(token)
			return owner.ID, err
		}},
		{code: audit.UserFactorReset, use: func() (string, error) {
			return owner.ID, second(l.Service.ResetUserFactors(ctx, boss, l.Account.ID, owner.ID))
		}},
		{
			code: audit.CreditsGranted, account: l.Account.ID,
			details: map[string]any{"environment": "live", "amount": 50.0, "balance": 1050.0, "note": "invoice 7"},
			use: func() (string, error) {
				return l.Account.ID, second(l.Service.GrantCredits(ctx, boss, l.Live.Tenant, 50, "invoice 7"))
			},
		},
	}
}

func (l *staffLog) keyActions(t *testing.T) []staffAction {
	ctx, boss := t.Context(), by(l.boss)
	var id string
	toKey := func(code audit.ActionCode, use func() error) staffAction {
		return staffAction{code: code, use: func() (string, error) { return id, use() }}
	}
	return []staffAction{
		{code: audit.ActionKeyCreated, use: func() (string, error) {
			k, secret, err := l.Service.CreateKey(ctx, boss, service.NewKey{
				Tenant: l.Live.Tenant, Name: "erp", Scopes: access.AllScopes,
			})
			must.NoError(t, err)
			l.secret(secret)
			id = k.ID
			return id, nil
		}},
		toKey(audit.ActionKeyRenamed, func() error { return l.Service.RenameKey(ctx, boss, id, "nightly") }),
		toKey(audit.ActionKeyLimited, func() error {
			return l.Service.SetKeyLimits(ctx, boss, id, map[string]int{"read": 7})
		}),
		toKey(audit.ActionKeyNetworks, func() error { return l.Service.SetKeyNetworks(ctx, boss, id, nil) }),
		toKey(audit.ActionKeyRevoked, func() error { return second(l.Service.RevokeKey(ctx, boss, id)) }),
	}
}

func (l *staffLog) catalogActions(t *testing.T) []staffAction {
	ctx, boss := t.Context(), by(l.boss)
	return []staffAction{
		{code: audit.CatalogImported, use: func() (string, error) {
			plan, err := l.Service.UploadCatalog(ctx, boss, "c.yaml",
				[]byte(strings.Replace(string(demo.Catalog), "en: Chanel", "en: CHANEL", 1)))
			must.NoError(t, err)
			return fmt.Sprint(plan.Draft.BaseVersion + 1), second(l.Service.ConfirmCatalog(ctx, boss, plan.Draft.ID))
		}},
		{code: audit.AnswerTimePaused, use: func() (string, error) {
			return "60", l.Service.PauseAnswerTime(ctx, boss, 60)
		}},
		{code: audit.AnswerTimeResumed, use: func() (string, error) {
			return "60", l.Service.ResumeAnswerTime(ctx, boss, 60)
		}},
	}
}

func (l *staffLog) orderActions(t *testing.T) []staffAction {
	ctx, boss := t.Context(), by(l.boss)
	id := l.Order(t, l.Live, "")
	authentic, err := l.Store.Order(ctx, l.Order(t, l.Test, order.MockAuthentic))
	must.NoError(t, err)
	return []staffAction{
		{code: audit.OrderReassigned, use: func() (string, error) {
			return id, second(l.Service.ReassignOrder(ctx, boss, id, l.reviewer.ID))
		}},
		{code: audit.OrderCanceled, use: func() (string, error) {
			return id, second(l.Service.CancelOrder(ctx, boss, id, "withdrawn"))
		}},
		{code: audit.CertificateRevoked, use: func() (string, error) {
			return authentic.CertificateID, l.Service.RevokeCertificate(ctx, boss, authentic.CertificateID, "exchanged")
		}},
	}
}

func (l *staffLog) deliveryActions(t *testing.T) []staffAction {
	ctx, boss := t.Context(), by(l.boss)
	ofAccount := webhook.DeliveryFilter{Tenant: access.Tenant{AccountID: l.Account.ID}}
	return []staffAction{
		{code: audit.DeliveryRedelivered, use: func() (string, error) {
			id := l.failedDelivery(t)
			return id, l.Service.Redeliver(ctx, boss, id)
		}},
		{
			code: audit.DeliveriesRedelivered, account: l.Account.ID, details: map[string]any{"deliveries": 1.0},
			use: func() (string, error) {
				l.failedDelivery(t)
				return "", second(l.Service.RedeliverFailed(ctx, boss, ofAccount, time.Time{}))
			},
		},
	}
}

func (l *staffLog) personalDataActions(t *testing.T) []staffAction {
	ctx, boss := t.Context(), by(l.boss)
	id := l.Order(t, l.Test, order.MockAuthentic)
	other, err := l.Service.CreateAccount(ctx, access.System, "Other", "owner@other.example", "en")
	must.NoError(t, err)
	return []staffAction{
		{code: audit.AccountExported, use: func() (string, error) {
			return l.Account.ID, l.Service.ExportAccount(ctx, boss, l.Account, &exportRows{kinds: map[string]int{}})
		}},
		{code: audit.OrderErased, use: func() (string, error) {
			return id, second(l.Service.EraseOrder(ctx, boss, id, false))
		}},
		{code: audit.AccountErased, use: func() (string, error) {
			return other.Account.ID, second(l.Service.EraseAccount(ctx, boss, other.Account.ID, false))
		}},
	}
}
