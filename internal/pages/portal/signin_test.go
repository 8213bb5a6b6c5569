package portal_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/pquerna/otp/totp"
)

// lastEvent is the newest event of the account's audit log.
func (w *world) lastEvent(t *testing.T) *audit.Event {
	t.Helper()
	events, _, err := w.Store.AuditPage(t.Context(), w.Account.ID, store.AuditFilter{}, 1, 1)
	must.NoError(t, err)
	return events[0]
}

func (w *world) events(t *testing.T) int64 {
	t.Helper()
	n, err := w.Store.AuditCount(t.Context(), w.Account.ID)
	must.NoError(t, err)
	return n
}

// wantEvent holds the newest event to what the API says of events of the portal.
func (w *world) wantEvent(t *testing.T, code audit.Code, who *access.User, metadata map[string]any) {
	t.Helper()
	e := w.lastEvent(t)
	if e.Code != code || e.UserID != who.ID || e.Actor.Type != audit.ByUser || e.Actor.ID != who.ID ||
		e.Actor.Name != who.Email || e.Actor.Source != audit.FromPortal {
		t.Errorf("event %+v, want %s of %s", e, code, who.Email)
	}
	if e.Actor.IP != "127.0.0.1" || e.Actor.UserAgent != "Browser of a test" || e.Target.Type != audit.OnUser ||
		e.Target.ID != who.ID {
		t.Errorf("event %+v lacks where it came from, or what it is about", e)
	}
	if len(e.Metadata) != len(metadata) {
		t.Errorf("metadata %v, want %v", e.Metadata, metadata)
	}
	for k, v := range metadata {
		if e.Metadata[k] != v {
			t.Errorf("metadata %v, want %v", e.Metadata, metadata)
		}
	}
}

func TestSignIn(t *testing.T) {
	w := newWorld(t)
	t.Run("Succeeds", func(t *testing.T) {
		v := w.Visit(t)
		p := v.Post("/portal/sign-in", "email", "Owner@Acme.example", "password", password, "next", "/portal/keys").
			Want(t, http.StatusSeeOther)
		if p.Location != "/portal/keys" {
			t.Errorf("leads to %q", p.Location)
		}
		w.wantEvent(t, audit.LoginSucceeded, w.Owner, nil)
		v.Get("/portal/keys").Want(t, http.StatusOK, "owner@acme.example")
		v.Post("/portal/sign-out")
		if p := v.Get("/portal/keys"); p.Status != http.StatusSeeOther {
			t.Errorf("signed out, the page is %d", p.Status)
		}
	})
	t.Run("Fails", func(t *testing.T) {
		w.Visit(t).Post("/portal/sign-in", "email", w.Owner.Email, "password", "wrong").
			Want(t, http.StatusUnprocessableEntity, "The email or the password is wrong.")
		w.wantEvent(t, audit.LoginFailed, w.Owner, map[string]any{"reason": "wrong-password"})
	})
	t.Run("UnknownEmailLooksTheSame", func(t *testing.T) {
		before := w.events(t)
		known := w.Visit(t).Post("/portal/sign-in", "email", "developer@acme.example", "password", "wrong")
		unknown := w.Visit(t).Post("/portal/sign-in", "email", "nobodyyy@acme.example", "password", "wrong")
		same := strings.ReplaceAll(unknown.Body, "nobodyyy@acme.example", "developer@acme.example")
		if known.Status != unknown.Status || known.Body != same {
			t.Errorf("an unknown email is told apart:\n%s\n%s", known.Body, unknown.Body)
		}
		if n := w.events(t); n != before+1 {
			t.Errorf("%d events were written for a known and an unknown email", n-before)
		}
	})
	t.Run("RemovedUser", func(t *testing.T) {
		u := w.AddUser(t, w.Account.ID, "leaver@acme.example", access.Developer)
		v := w.AsUser(t, u)
		v.Get("/portal/keys").Want(t, http.StatusOK)
		must.NoError(t, w.Service.RemoveUser(t.Context(), w.member(t, w.Owner), u.ID))
		if p := v.Get("/portal/keys"); p.Status != http.StatusSeeOther {
			t.Errorf("the session goes on: %d", p.Status)
		}
		w.Visit(t).Post("/portal/sign-in", "email", u.Email, "password", password).
			Want(t, http.StatusUnprocessableEntity, "wrong")
	})
	t.Run("Throttled", func(t *testing.T) {
		v := w.Visit(t)
		for range 10 {
			v.Post("/portal/sign-in", "email", "viewer@acme.example", "password", "wrong").
				Want(t, http.StatusUnprocessableEntity)
		}
		v.Post("/portal/sign-in", "email", "viewer@acme.example", "password", password).
			Want(t, http.StatusTooManyRequests, "Too many attempts")
		w.Clock.Advance(16 * time.Minute)
		v.Post("/portal/sign-in", "email", "viewer@acme.example", "password", password).Want(t, http.StatusSeeOther)
	})
}

// TestSessionFixation checks that a session which was there before the sign-in is not the one after it.
func TestSessionFixation(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Stranger)
	planted := v.Cookies["assay_portal"].Value
	v.Post("/portal/sign-in", "email", w.Owner.Email, "password", password).Want(t, http.StatusSeeOther)
	if v.Cookies["assay_portal"].Value == planted {
		t.Fatal("the session of before is gone on with")
	}
	attacker := w.Visit(t)
	attacker.Cookies["assay_portal"] = &http.Cookie{Name: "assay_portal", Value: planted}
	if p := attacker.Get("/portal/keys"); p.Status != http.StatusSeeOther {
		t.Errorf("the session of before still stands: %d", p.Status)
	}
}

func TestOpenRedirect(t *testing.T) {
	w := newWorld(t)
	for _, next := range []string{
		"https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/%0d%0aevil",
	} {
		v := w.Visit(t)
		p := v.Post("/portal/sign-in", "email", w.Owner.Email, "password", password, "next", next).
			Want(t, http.StatusSeeOther)
		if u, err := url.Parse(p.Location); err != nil || u.Host != "" || u.Scheme != "" ||
			strings.HasPrefix(p.Location, "//") || strings.Contains(p.Location, "\\") {
			t.Errorf("next=%q leads to %q", next, p.Location)
		}
		if p := v.Get("/portal/sign-in?next=" + url.QueryEscape(next)); strings.Contains(p.Location, "evil.example") {
			t.Errorf("next=%q leads to %q", next, p.Location)
		}
	}
}

var (
	secretPattern   = regexp.MustCompile(`data-copy="([A-Z2-7]{16,})"`)
	sealedPattern   = regexp.MustCompile(`name="sealed" value="([^"]+)"`)
	recoveryPattern = regexp.MustCompile(`<li><code>([0-9a-z-]{19})</code></li>`)
)

// enrol gives a user a second factor and returns its secret and the recovery codes.
func enrol(t *testing.T, w *world, u *access.User) (secret string, recovery []string) {
	t.Helper()
	v := w.AsUser(t, u)
	p := v.Get("/portal/settings/second-factor").Want(t, http.StatusOK)
	secret = secretPattern.FindStringSubmatch(p.Body)[1]
	sealed := html.UnescapeString(sealedPattern.FindStringSubmatch(p.Body)[1])
	v.Post("/portal/settings/second-factor", "sealed", sealed, "code", "000000").
		Want(t, http.StatusUnprocessableEntity, "The code is wrong")
	code, err := totp.GenerateCode(secret, w.Clock.Now())
	must.NoError(t, err)
	p = v.Post("/portal/settings/second-factor", "sealed", sealed, "code", code).
		Want(t, http.StatusOK, "Your recovery codes")
	for _, m := range recoveryPattern.FindAllStringSubmatch(p.Body, -1) {
		recovery = append(recovery, m[1])
	}
	if len(recovery) != 10 {
		t.Fatalf("%d recovery codes\n%s", len(recovery), p.Body)
	}
	return secret, recovery
}

func TestSecondFactor(t *testing.T) {
	w := newWorld(t)
	secret, recovery := enrol(t, w, w.Developer)
	signIn := func() *pagetest.Visitor {
		v := w.Visit(t)
		p := v.Post("/portal/sign-in", "email", w.Developer.Email, "password", password).Want(t, http.StatusSeeOther)
		if p.Location != "/portal/sign-in/code" {
			t.Fatalf("leads to %q", p.Location)
		}
		return v
	}
	t.Run("PasswordAloneIsNotEnough", func(t *testing.T) {
		if p := signIn().Get("/portal/keys"); p.Status != http.StatusSeeOther {
			t.Errorf("status %d", p.Status)
		}
	})
	t.Run("CodeOfEnrolmentIsSpent", func(t *testing.T) {
		code, err := totp.GenerateCode(secret, w.Clock.Now())
		must.NoError(t, err)
		signIn().Post("/portal/sign-in/code", "code", code).Want(t, http.StatusUnprocessableEntity)
		w.wantEvent(t, audit.LoginFailed, w.Developer, map[string]any{"reason": "wrong-code"})
	})
	t.Run("Replay", func(t *testing.T) {
		w.Clock.Advance(time.Minute)
		code, err := totp.GenerateCode(secret, w.Clock.Now())
		must.NoError(t, err)
		v := signIn()
		v.Post("/portal/sign-in/code", "code", code).Want(t, http.StatusSeeOther)
		w.wantEvent(t, audit.LoginSucceeded, w.Developer, nil)
		v.Get("/portal/keys").Want(t, http.StatusOK)
		signIn().Post("/portal/sign-in/code", "code", code).
			Want(t, http.StatusUnprocessableEntity, "The code is wrong or was used before.")
	})
	t.Run("RecoveryCodeOnce", func(t *testing.T) {
		signIn().Post("/portal/sign-in/code", "code", strings.ToUpper(recovery[0])).Want(t, http.StatusSeeOther)
		signIn().Post("/portal/sign-in/code", "code", recovery[0]).Want(t, http.StatusUnprocessableEntity)
		w.AsUser(t, w.Developer).Get("/portal/settings").Want(t, http.StatusOK, "9 recovery codes are left.")
	})
	t.Run("CodeOfAnotherUser", func(t *testing.T) {
		_, others := enrol(t, w, w.Viewer)
		signIn().Post("/portal/sign-in/code", "code", others[0]).Want(t, http.StatusUnprocessableEntity)
	})
	t.Run("StepOfAnotherUserCannotBeForged", func(t *testing.T) {
		v := signIn()
		step := v.Cookies["assay_portal_step"]
		forged := *step
		forged.Value = strings.Replace(step.Value, step.Value[20:24], "AAAA", 1)
		v.Cookies["assay_portal_step"] = &forged
		if p := v.Post("/portal/sign-in/code", "code", recovery[1]); p.Location != "/portal/sign-in" {
			t.Errorf("%d to %q", p.Status, p.Location)
		}
	})
	t.Run("Off", func(t *testing.T) {
		v := w.AsUser(t, w.Developer)
		v.Post("/portal/settings/second-factor/end", "off_password", "wrong").
			Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
		v.Post("/portal/settings/second-factor/end", "off_password", password).Want(t, http.StatusSeeOther)
		v = w.Visit(t)
		if p := v.Post("/portal/sign-in", "email", w.Developer.Email, "password", password); p.Location != "/portal" {
			t.Errorf("leads to %q", p.Location)
		}
	})
}

func TestChangePassword(t *testing.T) {
	w := newWorld(t)
	v, elsewhere := w.AsUser(t, w.Owner), w.AsUser(t, w.Owner)
	elsewhere.Get("/portal/keys").Want(t, http.StatusOK)
	const next = "another long password"
	v.Post("/portal/settings/password", "password", "wrong", "new_password", next, "repeat", next).
		Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
	v.Post("/portal/settings/password", "password", password, "new_password", "short", "repeat", "short").
		Want(t, http.StatusUnprocessableEntity, "12 to 256")
	v.Post("/portal/settings/password", "password", password, "new_password", next, "repeat", "different one").
		Want(t, http.StatusUnprocessableEntity, "differ")
	v.Submit("/portal/settings/password", "password", password, "new_password", next, "repeat", next).
		Want(t, http.StatusOK, "Your password is changed.")
	w.wantEvent(t, audit.PasswordChanged, w.Owner, nil)
	if p := elsewhere.Get("/portal/keys"); p.Status != http.StatusSeeOther {
		t.Errorf("another browser goes on: %d", p.Status)
	}
	w.Visit(t).Post("/portal/sign-in", "email", w.Owner.Email, "password", password).
		Want(t, http.StatusUnprocessableEntity)
	w.Visit(t).Post("/portal/sign-in", "email", w.Owner.Email, "password", next).Want(t, http.StatusSeeOther)
}

func TestChangeEmail(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Owner)
	for _, email := range []string{w.Stranger.Email, "not an email"} {
		v.Post("/portal/settings/email", "email", email, "email_password", password).
			Want(t, http.StatusUnprocessableEntity, "This email address cannot be used.")
	}
	v.Submit("/portal/settings/email", "email", "Boss@acme.example", "email_password", password).
		Want(t, http.StatusOK, "Your email is changed.", "boss@acme.example")
	w.wantEvent(t, audit.EmailChanged, w.Owner, nil)
	w.Visit(t).Post("/portal/sign-in", "email", "boss@acme.example", "password", password).Want(t, http.StatusSeeOther)
}

func TestInvitation(t *testing.T) {
	w := newWorld(t)
	p := w.AsUser(t, w.Owner).Post("/portal/team", "email", "New@acme.example", "role", "developer").
		Want(t, http.StatusOK, "Hand this link over")
	token := regexp.MustCompile(`/portal/join\?token=([\w-]+)`).FindStringSubmatch(p.Body)[1]
	const chosen = "a password of my own"
	v := w.Visit(t)
	v.Get("/portal/join?token="+token).Want(t, http.StatusOK, "new@acme.example", "Acme")
	v.Post("/portal/join", "token", token, "new_password", "short", "repeat", "short").
		Want(t, http.StatusUnprocessableEntity, "12 to 256")
	v.Submit("/portal/join", "token", token, "new_password", chosen, "repeat", chosen)
	v.Get("/portal/keys/new").Want(t, http.StatusOK)
	v.Get("/portal/team").Want(t, http.StatusOK, "new@acme.example").Lacks(t, "Make an invitation link")
	t.Run("Reuse", func(t *testing.T) {
		w.Visit(t).Get("/portal/join?token="+token).Want(t, http.StatusNotFound, "This link no longer works")
		w.Visit(t).Post("/portal/join", "token", token, "new_password", chosen, "repeat", chosen).Want(t, http.StatusNotFound)
	})
	t.Run("Expired", func(t *testing.T) {
		token, _ := w.invitation(t, "late@acme.example", access.Viewer)
		w.Clock.Advance(service.InvitationLife)
		w.Visit(t).Get("/portal/join?token="+token).Want(t, http.StatusNotFound)
	})
	t.Run("TakenBack", func(t *testing.T) {
		token, id := w.invitation(t, "gone@acme.example", access.Viewer)
		w.AsUser(t, w.Owner).Post("/portal/team/invitations/"+id+"/delete").Want(t, http.StatusSeeOther)
		w.Visit(t).Get("/portal/join?token="+token).Want(t, http.StatusNotFound)
	})
	t.Run("Replaced", func(t *testing.T) {
		first, _ := w.invitation(t, "twice@acme.example", access.Owner)
		second, _ := w.invitation(t, "twice@acme.example", access.Viewer)
		w.Visit(t).Get("/portal/join?token="+first).Want(t, http.StatusNotFound)
		w.Visit(t).Get("/portal/join?token="+second).Want(t, http.StatusOK)
	})
	t.Run("NotAReset", func(t *testing.T) {
		token, _ := w.invitation(t, "other@acme.example", access.Viewer)
		w.Visit(t).Get("/portal/reset?token="+token).Want(t, http.StatusNotFound)
	})
	t.Run("EmailOfAnotherAccount", func(t *testing.T) {
		token, _ := w.invitation(t, w.Stranger.Email, access.Viewer)
		w.Visit(t).Post("/portal/join", "token", token, "new_password", chosen, "repeat", chosen).
			Want(t, http.StatusUnprocessableEntity, "exists already")
	})
	t.Run("Back", func(t *testing.T) {
		u := w.AddUser(t, w.Account.ID, "again@acme.example", access.Owner)
		must.NoError(t, w.Service.RemoveUser(t.Context(), w.member(t, w.Owner), u.ID))
		token, _ := w.invitation(t, u.Email, access.Viewer)
		v := w.Visit(t)
		v.Submit("/portal/join", "token", token, "new_password", chosen, "repeat", chosen)
		v.Get("/portal/keys").Want(t, http.StatusOK).Lacks(t, "/portal/keys/new")
	})
}

func TestPasswordReset(t *testing.T) {
	w := newWorld(t)
	signedIn := w.AsUser(t, w.Viewer)
	make := func() string {
		p := w.AsUser(t, w.Owner).Post("/portal/team/users/"+w.Viewer.ID+"/reset").Want(t, http.StatusOK)
		return regexp.MustCompile(`/portal/reset\?token=([\w-]+)`).FindStringSubmatch(p.Body)[1]
	}
	const chosen = "a password of my own"
	token := make()
	w.Visit(t).Get("/portal/reset?token="+token).Want(t, http.StatusOK, w.Viewer.Email)
	w.Visit(t).Submit("/portal/reset", "token", token, "new_password", chosen, "repeat", chosen).
		Want(t, http.StatusOK, "Your password is changed.")
	w.wantEvent(t, audit.PasswordChanged, w.Viewer, nil)
	if p := signedIn.Get("/portal/keys"); p.Status != http.StatusSeeOther {
		t.Errorf("sessions go on: %d", p.Status)
	}
	w.Visit(t).Post("/portal/sign-in", "email", w.Viewer.Email, "password", chosen).Want(t, http.StatusSeeOther)
	t.Run("Reuse", func(t *testing.T) {
		w.Visit(t).
			Post("/portal/reset", "token", token, "new_password", "yet another password", "repeat", "yet another password").
			Want(t, http.StatusNotFound)
		w.Visit(t).Post("/portal/sign-in", "email", w.Viewer.Email, "password", chosen).Want(t, http.StatusSeeOther)
	})
	t.Run("ReplacedByAnotherLink", func(t *testing.T) {
		first := make()
		make()
		w.Visit(t).Get("/portal/reset?token="+first).Want(t, http.StatusNotFound)
	})
	t.Run("EndedByAChangeOfPassword", func(t *testing.T) {
		token := make()
		w.AsUser(t, w.Viewer).
			Post("/portal/settings/password", "password", chosen, "new_password", password, "repeat", password).
			Want(t, http.StatusSeeOther)
		w.Visit(t).Get("/portal/reset?token="+token).Want(t, http.StatusNotFound)
	})
	t.Run("Expired", func(t *testing.T) {
		token := make()
		w.Clock.Advance(service.ResetLife)
		w.Visit(t).Get("/portal/reset?token="+token).Want(t, http.StatusNotFound)
	})
	t.Run("Forged", func(t *testing.T) {
		w.Visit(t).Get("/portal/reset?token="+access.NewSessionToken()).Want(t, http.StatusNotFound)
		w.Visit(t).Get("/portal/reset").Want(t, http.StatusNotFound)
	})
}

func TestTeam(t *testing.T) {
	w := newWorld(t)
	owner := w.AsUser(t, w.Owner)
	owner.Submit("/portal/team/users/"+w.Owner.ID+"/role", "role", "viewer").
		Want(t, http.StatusOK, "An account needs at least one owner.")
	owner.Submit("/portal/team/users/"+w.Owner.ID+"/remove").Want(t, http.StatusOK, "An account needs at least one owner.")
	viewer := w.AsUser(t, w.Viewer)
	viewer.Get("/portal/keys/new").Want(t, http.StatusForbidden)
	owner.Submit("/portal/team/users/"+w.Viewer.ID+"/role", "role", "developer").
		Want(t, http.StatusOK, "viewer@acme.example is now: Developer.")
	viewer.Get("/portal/keys/new").Want(t, http.StatusOK)
	owner.Post("/portal/team", "email", w.Developer.Email, "role", "viewer").
		Want(t, http.StatusUnprocessableEntity, "This email is in the team already.")
	owner.Post("/portal/team", "email", "x@acme.example", "role", "god").Want(t, http.StatusUnprocessableEntity)
	_, _ = enrol(t, w, w.Developer)
	owner.Post("/portal/team/users/"+w.Developer.ID+"/second-factor").Want(t, http.StatusSeeOther)
	if p := w.Visit(t).Post("/portal/sign-in", "email", w.Developer.Email, "password", password); p.Location != "/portal" {
		t.Errorf("the second factor is still asked for: %q", p.Location)
	}
}

func TestSessions(t *testing.T) {
	w := newWorld(t)
	v, other := w.AsUser(t, w.Owner), w.AsUser(t, w.Owner)
	sessions, err := w.Service.Sessions(t.Context(), access.Portal, w.Owner.ID)
	must.NoError(t, err)
	if len(sessions) != 2 {
		t.Fatalf("%d sessions", len(sessions))
	}
	w.AsUser(t, w.Stranger).Post("/portal/settings/sessions/"+sessions[0].ID+"/end").Want(t, http.StatusNotFound)
	v.Post("/portal/settings/sessions/end").Want(t, http.StatusSeeOther)
	if p := other.Get("/portal/keys"); p.Status != http.StatusSeeOther {
		t.Errorf("the other browser goes on: %d", p.Status)
	}
	v.Get("/portal/settings").Want(t, http.StatusOK, "this one")
}
