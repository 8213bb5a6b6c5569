package signin_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

const (
	address     = "https://assay.example" // of the shop
	password    = "a password of my own"
	next        = "another long password"
	thisBrowser = "a browser"
)

var origin = access.Origin{IP: "192.0.2.7", UserAgent: "a browser"}

// passwordHash is made once: it takes longer than most tests.
var passwordHash = sync.OnceValue(func() string { return access.HashPassword(password) })

// world is a shop in which somebody of an audience has a session and a device.
type world struct {
	*shop.Shop
	*signin.SignIn
	Store    *store.Store
	audience access.Audience
	who      *access.Person
	session  *access.Session
	device   *device.Device
}

// each runs a test for account users and for staff, on every engine.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	for _, audience := range []access.Audience{access.Portal, access.Desk} {
		t.Run(string(audience), func(t *testing.T) {
			storetest.EachTarget(t, func(t *testing.T, target string) {
				s := shop.New(t, target)
				w := &world{
					Shop: s, SignIn: s.Service.SignIn(audience), Store: s.Store, audience: audience,
					device: &device.Device{Origin: address, Counts: true},
				}
				w.who = w.person(t, "hana@acme.example", "admin", "owner")
				w.session = w.start(t, w.who)
				f(t, w)
			})
		})
	}
}

// reconfigure replaces the use cases by those of a changed configuration.
func (w *world) reconfigure(t *testing.T, change func(*service.Config)) {
	t.Helper()
	w.Reconfigure(t, change)
	w.SignIn = w.Service.SignIn(w.audience)
}

// person adds somebody of the audience with a role there.
func (w *world) person(t *testing.T, email string, staff access.StaffRole, user access.Role) *access.Person {
	t.Helper()
	var who *access.Person
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		if w.audience == access.Desk {
			s := &access.Staff{
				ID: uuid7.New(), Email: email, Name: "Hana", Role: staff, PasswordHash: passwordHash(), CreatedAt: w.Clock.Now(),
			}
			who = s.Person()
			return tx.InsertStaff(s, store.StaffToken{})
		}
		u := &access.User{
			ID: uuid7.New(), AccountID: w.Account.ID, Email: email, Role: user,
			PasswordHash: passwordHash(), CreatedAt: w.Clock.Now(),
		}
		who = u.Person()
		return tx.InsertUser(u)
	}))
	return who
}

// again reads who there is.
func (w *world) again(t *testing.T) {
	t.Helper()
	var err error
	w.who, err = w.Store.Person(t.Context(), w.audience, w.who.ID)
	must.NoError(t, err)
}

// remove takes somebody out of the account or deactivates them.
func (w *world) remove(t *testing.T, who *access.Person) {
	t.Helper()
	if w.audience == access.Desk {
		_, err := w.Service.DeactivateStaff(t.Context(), access.Operator, who.ID)
		must.NoError(t, err)
		return
	}
	must.NoError(t, w.Service.RemoveUser(t.Context(), w.who.Actor(origin), who.ID))
}

func (w *world) start(t *testing.T, who *access.Person) *access.Session {
	t.Helper()
	session, _, err := w.Service.StartSession(t.Context(), w.audience, who.ID, origin)
	must.NoError(t, err)
	return session
}

// token starts another session and returns its token.
func (w *world) token(t *testing.T, who *access.Person) string {
	t.Helper()
	_, token, err := w.Service.StartSession(t.Context(), w.audience, who.ID, origin)
	must.NoError(t, err)
	return token
}

func (w *world) code(t *testing.T, secret string) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, w.Clock.Now())
	must.NoError(t, err)
	return code
}

// enrol turns the second factor on and returns its secret and the recovery codes.
func (w *world) enrol(t *testing.T) (secret string, recovery []string) {
	t.Helper()
	e, err := w.BeginSecondFactor(w.who)
	must.NoError(t, err)
	recovery, err = w.ConfirmSecondFactor(t.Context(), w.who, e, with(password), w.code(t, e.Secret), w.here())
	must.NoError(t, err)
	return e.Secret, recovery
}

// with proves who somebody is with a password alone.
func with(password string) signin.Proof { return signin.Proof{Password: password} }

// here is the origin of requests in the person's session.
func (w *world) here() access.Origin { return in(w.session) }

// in is the origin of requests in a session.
func in(session *access.Session) access.Origin {
	from := origin
	from.Session = session
	return from
}

// fresh is here, a moment after the person has proved who they are.
func (w *world) fresh() access.Origin {
	from, session := w.here(), *w.session
	session.ConfirmedAt = w.Clock.Now()
	session.CreatedAt = session.ConfirmedAt.Add(-time.Second)
	from.Session = &session
	return from
}

// last checks the newest entry.
func (w *world) last(t *testing.T, event, reason string) {
	t.Helper()
	all := w.SignInRecords(t, w.audience)
	r := all[len(all)-1]
	if r.Code != shop.SignInCodes[w.audience][event] || r.UserID != w.who.ID || r.IP != origin.IP ||
		r.Agent != origin.UserAgent {
		t.Errorf("%+v, want %s", r, event)
	}
	if r.Reason != reason {
		t.Errorf("reason %q, want %q", r.Reason, reason)
	}
}

// unknown returns how many attempts with an email that nobody has were counted.
func (w *world) unknown(t *testing.T) int {
	t.Helper()
	for _, row := range rawsql.Rows(t, w.Target, "SELECT attempts FROM unknown_sign_ins") {
		n, err := strconv.Atoi(row[0])
		must.NoError(t, err)
		return n
	}
	return 0
}

func tokenIn(text string) string {
	_, rest, _ := strings.Cut(text, "token=")
	token, _, _ := strings.Cut(rest, "\n")
	return token
}

// together runs f many times at once and returns how often it succeeded; every other error has to be the refusal.
func together(t *testing.T, f func() error, refusal func(error) bool) int {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	succeeded := 0
	for range 6 {
		wg.Go(func() {
			err := f()
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				succeeded++
			} else if !refusal(err) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return succeeded
}

// throttleWindow is longer than the window of failed attempts.
const throttleWindow = 16 * time.Minute
