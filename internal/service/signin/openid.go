package signin

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/openid"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/store"
)

// OpenIDLife is how long somebody has to sign in at the provider.
const OpenIDLife = 10 * time.Minute

// maxReturn is how long an address may be to which somebody comes back: it travels to the provider and back.
const maxReturn = 512

// Refusals of a sign-in at the provider.
var (
	// OpenIDAway is for a provider that does not answer. A password still works.
	OpenIDAway = fault.New(fault.Unavailable, "openid-away",
		"The sign-in service does not answer. Try again, or use your password.")

	// OpenIDTooLate is for a browser that comes back too late, twice, or without having been sent.
	OpenIDTooLate = fault.New(fault.Invalid, "openid-too-late", "That took too long, or was done before. Try again.")

	// OpenIDRefused is for an answer of the provider that proves nothing, of which it tells no more.
	OpenIDRefused = fault.New(fault.Invalid, "openid-refused", "The sign-in service did not let you in.")

	// OpenIDUnknown is for somebody who is not on the list of staff, or whose email the provider does not vouch for.
	OpenIDUnknown = fault.New(fault.Invalid, "openid-unknown",
		"You are not on the list of staff with this email, or the email is not verified.")
)

// Reasons of failed sign-ins at the provider, in the logs.
const (
	reasonOpenIDRefused    = "openid-refused"
	reasonOpenIDUnverified = "openid-email-unverified"
	reasonOpenIDUnknown    = "openid-unknown"
)

// MethodOpenID is the method of a sign-in at the provider, in the log of administration.
const MethodOpenID = "openid"

// journey is what the server has to know again when a browser comes back from the provider. It is not kept here: it
// travels as the state, sealed and bound to the browser. Only those that came back are kept, so that visitors cannot
// fill the database.
type journey struct {
	ID       string    `json:"i"`
	Issuer   string    `json:"p"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"`
	Next     string    `json:"r,omitempty"`
	Expires  time.Time `json:"e"`
}

// openIDContext binds a journey to a browser.
func (g *SignIn) openIDContext(browser string) string {
	return "openid sign-in " + string(g.audience) + " " + browser
}

// BeginOpenID returns where a browser, which is named by a secret that only it has, goes to sign in; next is where the
// person wants to go afterwards. There has to be a provider. It returns OpenIDAway.
func (g *SignIn) BeginOpenID(ctx context.Context, browser, next string) (address string, err error) {
	if len(next) > maxReturn {
		next = ""
	}
	j := journey{
		ID: access.NewSessionToken(), Issuer: g.OpenID.Issuer, Nonce: access.NewSessionToken(),
		Verifier: openid.NewVerifier(), Next: next, Expires: g.now().Add(OpenIDLife),
	}
	text, err := json.Marshal(j)
	if err != nil {
		return "", err
	}
	address, err = g.OpenID.AuthURL(ctx, g.Secrets.Seal(string(text), g.openIDContext(browser)), j.Nonce, j.Verifier)
	if err != nil {
		return "", g.openIDFault(ctx, err)
	}
	return address, nil
}

// OpenIDAnswer is the parameters with which a browser comes back from the provider.
type OpenIDAnswer struct {
	State  string
	Code   string
	Issuer string // RFC 9207
	Error  string
}

// Entry is somebody who has proved who they are.
type Entry struct {
	UserID   string
	Next     string // where they want to go
	Factor   bool   // with more than a password
	OwesCode bool   // of the second factor that they have here
}

// FinishOpenID takes the answer of the provider and returns who has signed in. It returns OpenIDTooLate, OpenIDRefused,
// OpenIDUnknown, OpenIDAway, PasskeyRequired or TooManyLogins.
func (g *SignIn) FinishOpenID(
	ctx context.Context, browser string, a OpenIDAnswer, from access.Origin,
) (*Entry, error) {
	j, err := g.openJourney(a.State, browser)
	if err != nil {
		return nil, err
	}
	if a.Error != "" || a.Code == "" { // what exactly is not told: the text is the provider's, or anybody's
		return nil, OpenIDRefused
	}
	// Nobody is named yet: each address keeps out no one but itself. It counts before the journey is kept as spent:
	// anybody can begin journeys and come back with a code of their own.
	try, err := g.throttle.begin(ctx, from, "openid "+ratelimit.OriginOf(from.IP), "")
	if err != nil {
		return nil, err
	}
	if err := g.spend(ctx, j.ID, j.Expires, OpenIDTooLate); err != nil {
		return nil, err
	}
	who, err := g.OpenID.Redeem(ctx, a.Code, a.Issuer, j.Nonce, j.Verifier)
	if errors.Is(err, openid.ErrRefused) {
		return nil, g.failed(ctx, nil, reasonOpenIDRefused, from, g.openIDFault(ctx, err))
	}
	if err != nil {
		return nil, g.openIDFault(ctx, err)
	}
	person, err := g.openIDPerson(ctx, who, from)
	if err != nil {
		return nil, err
	}
	if err := try.succeeded(ctx); err != nil {
		return nil, err
	}
	e := &Entry{UserID: person.ID, Next: j.Next, Factor: who.Factor}
	if !e.Factor {
		e.OwesCode, err = g.owesCode(ctx, person.ID)
	}
	return e, err
}

// openIDPerson returns the person of the list who has the email of somebody at the provider.
func (g *SignIn) openIDPerson(
	ctx context.Context, who *openid.Identity, from access.Origin,
) (*access.Person, error) {
	address, err := access.NormalizeEmail(who.Email)
	if err != nil {
		return nil, g.failed(ctx, nil, reasonOpenIDUnknown, from, OpenIDUnknown.Because(err))
	}
	person, err := g.Store.PersonByEmail(ctx, g.audience, address)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	switch {
	case !who.Verified:
		return nil, g.failed(ctx, person, reasonOpenIDUnverified, from, OpenIDUnknown)
	case person == nil:
		return nil, g.failed(ctx, nil, reasonOpenIDUnknown, from, OpenIDUnknown)
	case !person.Active:
		return nil, g.failed(ctx, person, reasonDeactivated, from, OpenIDUnknown)
	}
	return person, nil
}

// openJourney reads a journey for whose answer there is still time, or returns OpenIDTooLate. It may have been spent.
func (g *SignIn) openJourney(state, browser string) (*journey, error) {
	j := new(journey)
	if err := g.unseal(state, g.openIDContext(browser), j); err != nil || browser == "" {
		return nil, OpenIDTooLate.Because(err)
	}
	if !g.now().Before(j.Expires) || j.Issuer != g.OpenID.Issuer {
		return nil, OpenIDTooLate
	}
	return j, nil
}

// openIDFault is the refusal for what went wrong at the provider, which is in the log only.
func (g *SignIn) openIDFault(ctx context.Context, err error) error {
	refusal := OpenIDAway
	switch {
	case errors.Is(err, openid.ErrRefused):
		refusal = OpenIDRefused
	case !errors.Is(err, openid.ErrAway):
		return err
	}
	g.Log.WarnContext(ctx, "sign-in with OpenID Connect failed", "issuer", g.OpenID.Issuer, "cause", err)
	return refusal.Because(err)
}
