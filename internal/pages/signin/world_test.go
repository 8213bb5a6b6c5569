package signin_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/signin"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

func TestMessages(t *testing.T) {
	uitest.CheckMessages(t, uitest.Site(t, time.Now, signin.Area), "signin", []string{"."},
		"signin.title.", "signin.lead.", "signin.forgot.", "signin.join.title.", "signin.fault.", "signin.problem.")
}

const password = pagetest.Password

// world is a pagetest.World as the people of one audience see it.
type world struct {
	*pagetest.World
	audience          access.Audience
	base              string // of the pages
	settings          string
	page              string // one for which people have to be signed in
	home              string // selector of what only the first page after the sign-in has
	cookie            string // of the session
	who, other, third *access.Person
}

// each runs a test in the portal and at the desk.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("Portal", func(t *testing.T) {
		w := pagetest.New(t)
		f(t, &world{
			World: w, audience: access.Portal, base: "/portal", settings: "/portal/settings", page: "/portal/keys",
			home:   ".env-switch",
			cookie: pagetest.PortalCookie, who: w.Developer.Person(), other: w.Owner.Person(), third: w.Viewer.Person(),
		})
	})
	t.Run("Desk", func(t *testing.T) {
		w := pagetest.New(t)
		f(t, &world{
			World: w, audience: access.Desk, base: "/desk", settings: "/desk/me", page: "/desk",
			home:   "form[action='/desk/next']",
			cookie: pagetest.DeskCookie, who: w.Mika.Person(), other: w.Aoi.Person(), third: w.Ren.Person(),
		})
	})
}

// as returns a browser that somebody has signed in with.
func (w *world) as(t *testing.T, who *access.Person) *pagetest.Visitor {
	t.Helper()
	return w.WithSession(t, w.audience, w.cookie, who.ID)
}

// leaver is somebody who may not sign in any more once gone is called.
func (w *world) leaver(t *testing.T) (who *access.Person, gone func()) {
	t.Helper()
	if w.audience == access.Desk {
		s := w.AddStaff(t, "leaver@example.com", "Leaver", access.Reviewer)
		return s.Person(), func() {
			_, err := w.Service.DeactivateStaff(t.Context(), access.Operator, s.ID)
			must.NoError(t, err)
		}
	}
	u := w.AddUser(t, w.Account.ID, "leaver@acme.example", access.Developer)
	return u.Person(), func() {
		must.NoError(t, w.Service.RemoveUser(t.Context(), w.other.Actor(access.Origin{}), u.ID))
	}
}

// recorded checks the newest entry.
func (w *world) recorded(t *testing.T, event string, who *access.Person, reason string) {
	t.Helper()
	all := w.SignInRecords(t, w.audience)
	want := shop.SignInRecord{
		Code: shop.SignInCodes[w.audience][event], UserID: who.ID, Name: who.Name, IP: "127.0.0.1",
		Agent: "Browser of a test", Reason: reason,
	}
	if got := all[len(all)-1]; got != want {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
}
