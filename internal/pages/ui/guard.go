package ui

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/httpx"
)

var sessionCookies = map[access.Audience]string{access.Desk: "assay_desk", access.Portal: "assay_portal"}

// Sessions is the use cases that keep sessions; *service.Service is one.
type Sessions interface {
	Session(ctx context.Context, audience access.Audience, token string) (*access.Session, error)
	LookAtSession(ctx context.Context, audience access.Audience, token string) (*access.Session, error)
	StartSession(
		ctx context.Context, audience access.Audience, userID string, from access.Origin,
	) (*access.Session, string, error)
	EndSession(ctx context.Context, session *access.Session, from access.Origin) error

	// Written returns how far the database has written, ReadAfter a context in which lists show that; see writtenCookie.
	Written(ctx context.Context) string
	ReadAfter(ctx context.Context, position string) context.Context
}

// Guard lets only signed-in users of an audience through. U is what the area knows of a user.
type Guard[U any] struct {
	Pages    *Pages
	Sessions Sessions
	Audience access.Audience
	SignIn   string // page to sign in at; it gets ?next=
	Confirm  string // page to prove again who one is; it gets ?next=

	// NeedsFactor reports whether somebody has to set up a second factor before anything else; nil: nobody. They do it
	// at SetUp, and below it.
	NeedsFactor func(ctx context.Context, session *access.Session) (bool, error)
	SetUp       string

	// Networks are where the pages can be used from; empty: anywhere.
	Networks access.Networks

	// User returns the user of a session. A fault of kind NotFound or Unauthorized says that the user is gone or may no
	// longer sign in: the session ends.
	User func(ctx context.Context, id string) (U, error)
}

// Visitor is who sends a request.
type Visitor[U any] struct {
	User    U
	Session *access.Session
	Origin  access.Origin

	again func() (*Visitor[U], error)
}

// Again returns who sends the request now that its body has come in, or access.NoSession: a slow one may outlast the
// session, the role or the person. Handlers call it that read a body themselves; for a form the guard has done it.
func (v *Visitor[U]) Again() (*Visitor[U], error) { return v.again() }

type visitorKey struct{}

// VisitorOf returns who sends the request, behind Handle; nil elsewhere. Shells use it.
func VisitorOf[U any](r *http.Request) *Visitor[U] {
	s, _ := r.Context().Value(visitorKey{}).(*Visitor[U])
	return s
}

// Handle adapts a handler for signed-in users. allow refuses users who may not come here, and may be left out. Visitors
// who are not signed in are sent to the page to sign in, and come back afterwards.
func (g *Guard[U]) Handle(
	h func(w http.ResponseWriter, r *http.Request, who *Visitor[U]) error, allow ...func(U) error,
) http.Handler {
	return g.handle(g.Who, h, allow)
}

// HandleUnattended is Handle for what pages ask for by themselves: it does not keep the session alive, so that a page
// which nobody looks at keeps nobody signed in.
func (g *Guard[U]) HandleUnattended(
	h func(w http.ResponseWriter, r *http.Request, who *Visitor[U]) error, allow ...func(U) error,
) http.Handler {
	return g.handle(g.Look, h, allow)
}

func (g *Guard[U]) handle(
	find func(*http.Request) (*Visitor[U], error),
	h func(w http.ResponseWriter, r *http.Request, who *Visitor[U]) error, allow []func(U) error,
) http.Handler {
	return g.Open(func(w http.ResponseWriter, r *http.Request) error {
		who, err := find(r)
		if errors.Is(err, access.NoSession) {
			return g.askToSignIn(w, r)
		}
		if err != nil {
			return err
		}
		r = r.WithContext(context.WithValue(r.Context(), visitorKey{}, who))
		if done, err := g.askForFactor(w, r, who.Session); done || err != nil {
			return err
		}
		var again func() (*Visitor[U], error)
		again = func() (*Visitor[U], error) {
			now, err := find(r)
			if err != nil {
				return nil, err
			}
			now.again = again
			return now, permit(now.User, allow)
		}
		who.again = again
		err = permit(who.User, allow)
		if err == nil && sendsForm(r) {
			who, err = g.afterForm(w, r, who)
		}
		if err == nil {
			var out http.ResponseWriter
			out, r = g.reading(w, r)
			err = h(out, r, who)
		}
		switch {
		case err == nil:
			return nil
		case httpx.Record(w).Begun():
			return err
		case errors.Is(err, access.NoSession):
			return g.askToSignIn(w, r)
		case errors.Is(err, access.ConfirmationNeeded) && !byScript(r):
			return g.askToConfirm(w, r)
		}
		g.Pages.showError(w, r, err) // here the request knows its user, so the page keeps its navigation
		return nil
	})
}

// afterForm reads the form of a request, and returns who sends it then.
func (g *Guard[U]) afterForm(w http.ResponseWriter, r *http.Request, who *Visitor[U]) (*Visitor[U], error) {
	if _, err := ReadForm(w, r); err != nil {
		return nil, err
	}
	return who.Again()
}

// permit asks every check whether a user may come here.
func permit[U any](user U, allow []func(U) error) error {
	for _, check := range allow {
		if err := check(user); err != nil {
			return err
		}
	}
	return nil
}

// sendsForm reports whether a request has a form without files in its body.
func sendsForm(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind == "application/x-www-form-urlencoded" && r.Method != http.MethodGet && r.Method != http.MethodHead
}

// Open adapts a handler of a page that is open to everybody who may use the pages at all.
func (g *Guard[U]) Open(h httpx.Handler) http.Handler {
	return g.Pages.Handle(func(w http.ResponseWriter, r *http.Request) error {
		if address := httpx.ClientIP(r); !g.Networks.Allow(address) {
			return access.WrongStaffNetwork(address)
		}
		return h(w, r)
	})
}

// cookie is the name of the cookie of sessions.
func (g *Guard[U]) cookie(r *http.Request) string {
	return g.Pages.site.cookieName(r, sessionCookies[g.Audience])
}

// findSession is a use case that returns the session of a cookie's token.
type findSession func(ctx context.Context, audience access.Audience, token string) (*access.Session, error)

// session returns the session of a request, or access.NoSession.
func (g *Guard[U]) session(r *http.Request, find findSession) (*access.Session, error) {
	c, err := r.Cookie(g.cookie(r))
	if err != nil {
		return nil, access.NoSession
	}
	return find(r.Context(), g.Audience, c.Value)
}

// Who returns who sends a request, or access.NoSession: for pages that are open to everyone, such as the one to sign
// in.
func (g *Guard[U]) Who(r *http.Request) (*Visitor[U], error) { return g.visitor(r, g.Sessions.Session) }

// Look is Who without keeping the session alive.
func (g *Guard[U]) Look(r *http.Request) (*Visitor[U], error) {
	return g.visitor(r, g.Sessions.LookAtSession)
}

func (g *Guard[U]) visitor(r *http.Request, find findSession) (*Visitor[U], error) {
	session, err := g.session(r, find)
	if err != nil {
		return nil, err
	}
	user, err := g.User(r.Context(), session.UserID)
	if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.Unauthorized {
		if err := g.Sessions.EndSession(r.Context(), session, g.Origin(r)); err != nil {
			return nil, err
		}
		return nil, access.NoSession
	}
	if err != nil {
		return nil, err
	}
	from := g.Origin(r)
	from.Session = session
	return &Visitor[U]{User: user, Session: session, Origin: from}, nil
}

// SignedIn reports whether a request comes from somebody who is signed in.
func (g *Guard[U]) SignedIn(r *http.Request) (bool, error) {
	_, err := g.Who(r)
	if errors.Is(err, access.NoSession) {
		return false, nil
	}
	return err == nil, err
}

// askToSignIn sends a visitor to the page to sign in, from where they come back to the page that they asked for. A form
// that was sent is not sent again unseen: they come back to the page that it was on. A script is told instead.
func (g *Guard[U]) askToSignIn(w http.ResponseWriter, r *http.Request) error {
	if byScript(r) {
		return access.NoSession
	}
	to, next := g.SignIn, r.URL.RequestURI()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		next = refererPath(r)
	}
	if next = SafeNext(next, "/"); next != "/" {
		to += "?next=" + url.QueryEscape(next)
	}
	drainAndRedirect(w, r, to)
	return nil
}

// drainAndRedirect leads a visitor to another page instead of doing what was asked. It reads the body first: a browser
// that still sends a form with files would not see the answer.
func drainAndRedirect(w http.ResponseWriter, r *http.Request, to string) {
	httpx.Drain(r, httpx.MaxDrain)
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// refererPath is the address of the page of this site that a form was on; empty when it is not known.
func refererPath(r *http.Request) string {
	u, err := url.Parse(r.Referer())
	if err != nil || u.Host != r.Host {
		return ""
	}
	return u.RequestURI()
}

// factorRequired is the refusal of everything to who has to set up a second factor first.
var factorRequired = fault.New(fault.Forbidden, "second-factor-required", "Set up a second factor first.")

// askForFactor sends a visitor to the page where they set up a second factor, if they have to, unless they are there.
func (g *Guard[U]) askForFactor(w http.ResponseWriter, r *http.Request, session *access.Session) (done bool,
	err error,
) {
	if r.URL.Path == g.SetUp {
		return false, nil
	}
	needs, err := g.FactorNeeded(r.Context(), session)
	if err != nil || !needs {
		return false, err
	}
	if byScript(r) {
		return true, factorRequired
	}
	drainAndRedirect(w, r, g.SetUp)
	return true, nil
}

// FactorNeeded reports whether somebody has to set up a second factor before anything else.
func (g *Guard[U]) FactorNeeded(ctx context.Context, session *access.Session) (bool, error) {
	if g.NeedsFactor == nil {
		return false, nil
	}
	return g.NeedsFactor(ctx, session)
}

// byScript reports whether a script has sent the request, which cannot lead the visitor to another page. Over plain
// HTTP browsers do not tell, but for streams, which only scripts open.
func byScript(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return mode != "" && mode != "navigate" || r.Header.Get("Accept") == "text/event-stream"
}

// askToConfirm sends a visitor to the page to prove who they are. They come back to the page of the form that they have
// sent, which is not sent again unseen.
func (g *Guard[U]) askToConfirm(w http.ResponseWriter, r *http.Request) error {
	next := r.URL.RequestURI()
	if r.Method != http.MethodGet {
		next = cmp.Or(refererPath(r), next)
	}
	drainAndRedirect(w, r, g.Confirm+"?next="+url.QueryEscape(next))
	return nil
}

// Entrance is how somebody has proved who they are.
type Entrance struct {
	Factor bool   // with more than a password
	Method string // where somebody else has told who it is; empty: here
	Ticket string // of the password that was given; empty: none was
}

// Start signs a user in: whoever was signed in with this browser before is signed out, and a fresh session begins.
func (g *Guard[U]) Start(
	w http.ResponseWriter, r *http.Request, userID string, how Entrance,
) (*access.Session, error) {
	if err := g.end(r); err != nil {
		return nil, err
	}
	from := g.Origin(r)
	from.Factor, from.Method, from.Ticket = how.Factor, how.Method, how.Ticket
	if from.Device == "" {
		from.Device = g.newDevice(w, r)
	}
	session, token, err := g.Sessions.StartSession(r.Context(), g.Audience, userID, from)
	if err != nil {
		return nil, err
	}
	g.setCookie(w, r, token)
	return session, nil
}

// deviceCookie keeps a secret by which a browser is recognised after somebody has signed in with it: for people of
// either audience it is the same browser.
const deviceCookie = "assay_device"

// Origin is OriginOf with what the browser is recognised by: for pages to sign in.
func (g *Guard[U]) Origin(r *http.Request) access.Origin {
	from := OriginOf(r)
	if secret, ok := g.Pages.site.Signed(r, deviceCookie); ok {
		from.Device, _ = access.HashSessionToken(secret)
	}
	return from
}

// newDevice gives the browser a secret to be recognised by.
func (g *Guard[U]) newDevice(w http.ResponseWriter, r *http.Request) string {
	secret := access.NewSessionToken()
	g.Pages.site.SetSigned(w, r, deviceCookie, secret, access.DeviceLife)
	hash, _ := access.HashSessionToken(secret)
	return hash
}

func (g *Guard[U]) setCookie(w http.ResponseWriter, r *http.Request, token string) {
	g.Pages.site.setCookie(w, r, g.cookie(r), token, g.Audience.Lifetime())
}

// End signs out: the session ends in the database and the cookie is taken back.
func (g *Guard[U]) End(w http.ResponseWriter, r *http.Request) error {
	if err := g.end(r); err != nil {
		return err
	}
	g.setCookie(w, r, "")
	return nil
}

func (g *Guard[U]) end(r *http.Request) error {
	session, err := g.session(r, g.Sessions.LookAtSession)
	if errors.Is(err, access.NoSession) {
		return nil // there is nothing to end
	}
	if err != nil {
		return err
	}
	return g.Sessions.EndSession(r.Context(), session, g.Origin(r))
}

// OriginOf tells where a request came from, for sessions, the audit log and mail.
func OriginOf(r *http.Request) access.Origin {
	return access.Origin{IP: httpx.ClientIP(r), UserAgent: r.UserAgent(), Locale: LocaleOf(r)}
}

// writtenCookie says how far the database had written when this browser last changed something. Lists that are shown to
// it are of that moment at least, whichever node answers.
const (
	writtenCookie = "assay_written"
	writtenLife   = time.Minute // no replica that is used is farther behind
)

// reading returns the request with a context in which lists show what this browser has written, and for one that writes
// the writer that tells the browser how far that is.
func (g *Guard[U]) reading(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		r = r.WithContext(g.Sessions.ReadAfter(r.Context(), ""))
		return &writtenMark{ResponseWriter: w, mark: func() {
			if position := g.Sessions.Written(r.Context()); position != "" {
				g.Pages.site.setCookie(w, r, g.Pages.site.cookieName(r, writtenCookie), position, writtenLife)
			}
		}}, r
	}
	if c, err := r.Cookie(g.Pages.site.cookieName(r, writtenCookie)); err == nil {
		r = r.WithContext(g.Sessions.ReadAfter(r.Context(), c.Value))
	}
	return w, r
}

// writtenMark calls mark before a response begins.
type writtenMark struct {
	http.ResponseWriter
	mark  func()
	begun bool
}

func (m *writtenMark) begin() {
	if !m.begun {
		m.begun = true
		m.mark()
	}
}

// WriteHeader implements http.ResponseWriter.
func (m *writtenMark) WriteHeader(status int) {
	if status >= http.StatusOK {
		m.begin()
	}
	m.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (m *writtenMark) Write(b []byte) (int, error) {
	m.begin()
	return m.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (m *writtenMark) Unwrap() http.ResponseWriter { return m.ResponseWriter }
