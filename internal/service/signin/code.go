package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/store"
	"github.com/pquerna/otp/hotp"
)

// Code checks a code of the second factor, or a recovery code, of a person who has given the right password. It returns
// WrongCode or TooManyLogins. Each code is accepted once.
func (g *SignIn) Code(ctx context.Context, userID, code string, from access.Origin) error {
	who, err := g.Store.Person(ctx, g.audience, userID)
	if err != nil {
		return store.NotFoundAs(err, WrongCode)
	}
	err = g.checkCode(ctx, who, code, from)
	if errors.Is(err, WrongCode) {
		return g.failed(ctx, who, reasonWrongCode, from, WrongCode)
	}
	return err
}

// checkCode spends a code of either kind, within the limits. It returns WrongCode or TooManyLogins.
func (g *SignIn) checkCode(ctx context.Context, who *access.Person, code string, from access.Origin) error {
	try, err := g.beginCode(ctx, who, from)
	if err != nil {
		return err
	}
	err = g.useCode(ctx, who.ID, code)
	if errors.Is(err, WrongCode) {
		if err := g.tellOfWrongCodes(ctx, who, from); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return try.succeeded(ctx)
}

// A code has six digits, and three of them are right at any time: with 20 guesses a day somebody who knows the password
// needs decades.
const (
	codeWindow     = longestWindow
	wrongCodes     = 20 // of a known browser, or of all others after one password
	wrongCodesEver = 60 // of all others, whatever the password: whoever reads somebody's mail can change it
	toldWrongCodes = 5  // after which the person is told
)

// beginCode counts a code: as every attempt, and for a day. Codes of strangers count for the password that came before
// them, so that somebody whose password is known to others gets in again with another one.
func (g *SignIn) beginCode(ctx context.Context, who *access.Person, from access.Origin) (*attempt, error) {
	t, name := &g.throttle, "code "+who.ID
	known, err := t.knows(ctx, from, who.ID)
	if err != nil {
		return nil, err
	}
	if known {
		return t.count(ctx, t.ofDevice(from, name), limited{t.key("codes", from.Device, who.ID), wrongCodes, codeWindow})
	}
	return t.count(ctx, append(t.ofStranger(from, name),
		limited{t.key("codes", g.TicketOf(who)), wrongCodes, codeWindow},
		limited{t.key("codes", who.ID), wrongCodesEver, codeWindow})...)
}

// tellOfWrongCodes mails a person after several wrong codes, once a day: somebody else may know their password.
func (g *SignIn) tellOfWrongCodes(ctx context.Context, who *access.Person, from access.Origin) error {
	if !g.Host.SendsMail() {
		return nil
	}
	t, ticket := &g.throttle, g.TicketOf(who)
	few, err := t.within(ctx, limited{t.key("wrong codes", ticket), toldWrongCodes - 1, codeWindow})
	if err != nil || few {
		return err
	}
	first, err := t.within(ctx, limited{t.key("told of wrong codes", ticket), 1, codeWindow})
	if err != nil || !first {
		return err
	}
	return g.Host.AfterMail(g.Store.Update(ctx, func(tx *store.Tx) error {
		return g.Notify(tx, who, from, letter.WrongCodes, whence(from))
	}))
}

// whence is what a notice says about a browser.
func whence(from access.Origin) map[string]string {
	return map[string]string{"address": from.IP, "agent": from.Agent()}
}

// useCode spends a code of either kind.
func (g *SignIn) useCode(ctx context.Context, userID, code string) error {
	factor, err := g.Store.TOTP(ctx, g.audience, userID)
	if err != nil {
		return store.NotFoundAs(err, WrongCode)
	}
	use := func(tx *store.Tx) error {
		return tx.UseRecoveryCode(g.audience, userID, g.recoveryHash(userID, code), g.now())
	}
	if !isRecoveryCode(code) {
		secret, err := g.Secrets.Open(factor.SealedSecret, TOTPContext(userID))
		if err != nil {
			return err
		}
		counter, ok := matchCode(secret, code, g.now(), factor.LastCounter)
		if !ok {
			return WrongCode
		}
		use = func(tx *store.Tx) error { return tx.UseTOTP(g.audience, userID, counter) }
	}
	return store.NotFoundAs(g.Store.Update(ctx, use), WrongCode) // spent before, perhaps at this very moment
}

const (
	totpPeriod = 30 // seconds
	totpSkew   = 1  // periods that a clock may be off
)

// matchCode returns the counter of a code that is valid now and newer than the last one.
func matchCode(secret, code string, now time.Time, last int64) (int64, bool) {
	code = strings.Join(strings.Fields(code), "")
	current := now.Unix() / totpPeriod
	for counter := current - totpSkew; counter <= current+totpSkew; counter++ {
		want, err := hotp.GenerateCode(secret, uint64(counter)) //nolint:gosec // the year 1970 is past
		if err != nil {
			return 0, false
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 && counter > last {
			return counter, true
		}
	}
	return 0, false
}
