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
	"github.com/pquerna/otp/totp"
)

// lastEvent is the newest event of the account's audit log.
func (w *world) lastEvent(t *testing.T) *audit.Event {
	t.Helper()
	events, _, err := w.Store.AuditPage(t.Context(), w.Account.ID, audit.Filter{}, 1, 1)
	check(t, err)
	return events[0]
}

func (w *world) events(t *testing.T) int64 {
	t.Helper()
	n, err := w.Store.AuditCount(t.Context(), w.Account.ID)
	check(t, err)
	return n
}

// wantEvent holds the newest event to what the interface says of events of the portal.
func (w *world) wantEvent(t *testing.T, code audit.Code, who *access.User, metadata map[string]any) {
	t.Helper()
	e := w.lastEvent(t)
	if e.Code != code || e.UserID != who.ID || e.Actor.Type != audit.ByUser || e.Actor.ID != who.ID || e.Actor.Name != who.Email || e.Actor.Source != audit.FromPortal {
		t.Errorf("event %+v, want %s of %s", e, code, who.Email)
	}
	if e.Actor.IP != "127.0.0.1" || e.Actor.UserAgent != "Browser of a test" || e.Target.Type != audit.OnUser || e.Target.ID != who.ID {
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
		v := w.visit(t)
		p := v.post("/portal/sign-in", "email", "Owner@Acme.example", "password", password, "next", "/portal/keys").want(t, http.StatusSeeOther)
		if p.location != "/portal/keys" {
			t.Errorf("leads to %q", p.location)
		}
		w.wantEvent(t, audit.LoginSucceeded, w.Owner, nil)
		v.get("/portal/keys").want(t, http.StatusOK, "owner@acme.example")
		v.post("/portal/sign-out")
		if p := v.get("/portal/keys"); p.status != http.StatusSeeOther {
			t.Errorf("signed out, the page is %d", p.status)
		}
	})
	t.Run("Fails", func(t *testing.T) {
		w.visit(t).post("/portal/sign-in", "email", w.Owner.Email, "password", "wrong").want(t, http.StatusUnprocessableEntity, "The email or the password is wrong.")
		w.wantEvent(t, audit.LoginFailed, w.Owner, map[string]any{"reason": "wrong-password"})
	})
	t.Run("UnknownEmailLooksTheSame", func(t *testing.T) {
		before := w.events(t)
		known := w.visit(t).post("/portal/sign-in", "email", "developer@acme.example", "password", "wrong")
		unknown := w.visit(t).post("/portal/sign-in", "email", "nobodyyy@acme.example", "password", "wrong")
		same := strings.ReplaceAll(unknown.body, "nobodyyy@acme.example", "developer@acme.example")
		if known.status != unknown.status || known.body != same {
			t.Errorf("an unknown email is told apart:\n%s\n%s", known.body, unknown.body)
		}
		if n := w.events(t); n != before+1 {
			t.Errorf("%d events were written for a known and an unknown email", n-before)
		}
	})
	t.Run("RemovedUser", func(t *testing.T) {
		u := w.user(t, w.Account.ID, "leaver@acme.example", access.Developer)
		v := w.as(t, u)
		v.get("/portal/keys").want(t, http.StatusOK)
		check(t, w.Service.RemoveUser(t.Context(), w.member(t, w.Owner), u.ID))
		if p := v.get("/portal/keys"); p.status != http.StatusSeeOther {
			t.Errorf("the session goes on: %d", p.status)
		}
		w.visit(t).post("/portal/sign-in", "email", u.Email, "password", password).want(t, http.StatusUnprocessableEntity, "wrong")
	})
	t.Run("Throttled", func(t *testing.T) {
		v := w.visit(t)
		for range 10 {
			v.post("/portal/sign-in", "email", "viewer@acme.example", "password", "wrong").want(t, http.StatusUnprocessableEntity)
		}
		v.post("/portal/sign-in", "email", "viewer@acme.example", "password", password).want(t, http.StatusTooManyRequests, "Too many attempts")
		w.Clock.Advance(16 * time.Minute)
		v.post("/portal/sign-in", "email", "viewer@acme.example", "password", password).want(t, http.StatusSeeOther)
	})
}

// TestSessionFixation holds that a session which was there before the sign-in is not the one after it.
func TestSessionFixation(t *testing.T) {
	w := newWorld(t)
	v := w.as(t, w.Stranger)
	planted := v.cookies["assay_portal"].Value
	v.post("/portal/sign-in", "email", w.Owner.Email, "password", password).want(t, http.StatusSeeOther)
	if v.cookies["assay_portal"].Value == planted {
		t.Fatal("the session of before is gone on with")
	}
	attacker := w.visit(t)
	attacker.cookies["assay_portal"] = &http.Cookie{Name: "assay_portal", Value: planted}
	if p := attacker.get("/portal/keys"); p.status != http.StatusSeeOther {
		t.Errorf("the session of before still stands: %d", p.status)
	}
}

func TestOpenRedirect(t *testing.T) {
	w := newWorld(t)
	for _, next := range []string{"https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/%0d%0aevil"} {
		v := w.visit(t)
		p := v.post("/portal/sign-in", "email", w.Owner.Email, "password", password, "next", next).want(t, http.StatusSeeOther)
		if u, err := url.Parse(p.location); err != nil || u.Host != "" || u.Scheme != "" || strings.HasPrefix(p.location, "//") || strings.Contains(p.location, "\\") {
			t.Errorf("next=%q leads to %q", next, p.location)
		}
		if p := v.get("/portal/sign-in?next=" + url.QueryEscape(next)); strings.Contains(p.location, "evil.example") {
			t.Errorf("next=%q leads to %q", next, p.location)
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
	v := w.as(t, u)
	p := v.get("/portal/settings/second-factor").want(t, http.StatusOK)
	secret = secretPattern.FindStringSubmatch(p.body)[1]
	sealed := html.UnescapeString(sealedPattern.FindStringSubmatch(p.body)[1])
	v.post("/portal/settings/second-factor", "sealed", sealed, "code", "000000").want(t, http.StatusUnprocessableEntity, "The code is wrong")
	code, err := totp.GenerateCode(secret, w.Clock.Now())
	check(t, err)
	p = v.post("/portal/settings/second-factor", "sealed", sealed, "code", code).want(t, http.StatusOK, "Your recovery codes")
	for _, m := range recoveryPattern.FindAllStringSubmatch(p.body, -1) {
		recovery = append(recovery, m[1])
	}
	if len(recovery) != 10 {
		t.Fatalf("%d recovery codes\n%s", len(recovery), p.body)
	}
	return secret, recovery
}

func TestSecondFactor(t *testing.T) {
	w := newWorld(t)
	secret, recovery := enrol(t, w, w.Developer)
	signIn := func() *visitor {
		v := w.visit(t)
		p := v.post("/portal/sign-in", "email", w.Developer.Email, "password", password).want(t, http.StatusSeeOther)
		if p.location != "/portal/sign-in/code" {
			t.Fatalf("leads to %q", p.location)
		}
		return v
	}
	t.Run("PasswordAloneIsNotEnough", func(t *testing.T) {
		if p := signIn().get("/portal/keys"); p.status != http.StatusSeeOther {
			t.Errorf("status %d", p.status)
		}
	})
	t.Run("CodeOfEnrolmentIsSpent", func(t *testing.T) {
		code, err := totp.GenerateCode(secret, w.Clock.Now())
		check(t, err)
		signIn().post("/portal/sign-in/code", "code", code).want(t, http.StatusUnprocessableEntity)
		w.wantEvent(t, audit.LoginFailed, w.Developer, map[string]any{"reason": "wrong-code"})
	})
	t.Run("Replay", func(t *testing.T) {
		w.Clock.Advance(time.Minute)
		code, err := totp.GenerateCode(secret, w.Clock.Now())
		check(t, err)
		v := signIn()
		v.post("/portal/sign-in/code", "code", code).want(t, http.StatusSeeOther)
		w.wantEvent(t, audit.LoginSucceeded, w.Developer, nil)
		v.get("/portal/keys").want(t, http.StatusOK)
		signIn().post("/portal/sign-in/code", "code", code).want(t, http.StatusUnprocessableEntity, "The code is wrong or was used before.")
	})
	t.Run("RecoveryCodeOnce", func(t *testing.T) {
		signIn().post("/portal/sign-in/code", "code", strings.ToUpper(recovery[0])).want(t, http.StatusSeeOther)
		signIn().post("/portal/sign-in/code", "code", recovery[0]).want(t, http.StatusUnprocessableEntity)
		w.as(t, w.Developer).get("/portal/settings").want(t, http.StatusOK, "9 recovery codes are left.")
	})
	t.Run("CodeOfAnotherUser", func(t *testing.T) {
		_, others := enrol(t, w, w.Viewer)
		signIn().post("/portal/sign-in/code", "code", others[0]).want(t, http.StatusUnprocessableEntity)
	})
	t.Run("StepOfAnotherUserCannotBeForged", func(t *testing.T) {
		v := signIn()
		step := v.cookies["assay_portal_step"]
		forged := *step
		forged.Value = strings.Replace(step.Value, step.Value[20:24], "AAAA", 1)
		v.cookies["assay_portal_step"] = &forged
		if p := v.post("/portal/sign-in/code", "code", recovery[1]); p.location != "/portal/sign-in" {
			t.Errorf("%d to %q", p.status, p.location)
		}
	})
	t.Run("Off", func(t *testing.T) {
		v := w.as(t, w.Developer)
		v.post("/portal/settings/second-factor/end", "off_password", "wrong").want(t, http.StatusUnprocessableEntity, "The password is wrong.")
		v.post("/portal/settings/second-factor/end", "off_password", password).want(t, http.StatusSeeOther)
		v = w.visit(t)
		if p := v.post("/portal/sign-in", "email", w.Developer.Email, "password", password); p.location != "/portal" {
			t.Errorf("leads to %q", p.location)
		}
	})
}

func TestChangePassword(t *testing.T) {
	w := newWorld(t)
	v, elsewhere := w.as(t, w.Owner), w.as(t, w.Owner)
	elsewhere.get("/portal/keys").want(t, http.StatusOK)
	const next = "another long password"
	v.post("/portal/settings/password", "password", "wrong", "new_password", next, "repeat", next).want(t, http.StatusUnprocessableEntity, "The password is wrong.")
	v.post("/portal/settings/password", "password", password, "new_password", "short", "repeat", "short").want(t, http.StatusUnprocessableEntity, "12 to 256")
	v.post("/portal/settings/password", "password", password, "new_password", next, "repeat", "different one").want(t, http.StatusUnprocessableEntity, "differ")
	v.follow("/portal/settings/password", "password", password, "new_password", next, "repeat", next).want(t, http.StatusOK, "Your password is changed.")
	w.wantEvent(t, audit.PasswordChanged, w.Owner, nil)
	if p := elsewhere.get("/portal/keys"); p.status != http.StatusSeeOther {
		t.Errorf("another browser goes on: %d", p.status)
	}
	w.visit(t).post("/portal/sign-in", "email", w.Owner.Email, "password", password).want(t, http.StatusUnprocessableEntity)
	w.visit(t).post("/portal/sign-in", "email", w.Owner.Email, "password", next).want(t, http.StatusSeeOther)
}

func TestChangeEmail(t *testing.T) {
	w := newWorld(t)
	v := w.as(t, w.Owner)
	for _, email := range []string{w.Stranger.Email, "not an email"} {
		v.post("/portal/settings/email", "email", email, "email_password", password).want(t, http.StatusUnprocessableEntity, "This email address cannot be used.")
	}
	v.follow("/portal/settings/email", "email", "Boss@acme.example", "email_password", password).want(t, http.StatusOK, "Your email is changed.", "boss@acme.example")
	w.wantEvent(t, audit.EmailChanged, w.Owner, nil)
	w.visit(t).post("/portal/sign-in", "email", "boss@acme.example", "password", password).want(t, http.StatusSeeOther)
}

func TestInvitation(t *testing.T) {
	w := newWorld(t)
	p := w.as(t, w.Owner).post("/portal/team", "email", "New@acme.example", "role", "developer").want(t, http.StatusOK, "Hand this link over")
	token := regexp.MustCompile(`/portal/join\?token=([\w-]+)`).FindStringSubmatch(p.body)[1]
	const chosen = "a password of my own"
	v := w.visit(t)
	v.get("/portal/join?token="+token).want(t, http.StatusOK, "new@acme.example", "Acme")
	v.post("/portal/join", "token", token, "new_password", "short", "repeat", "short").want(t, http.StatusUnprocessableEntity, "12 to 256")
	v.follow("/portal/join", "token", token, "new_password", chosen, "repeat", chosen)
	v.get("/portal/keys/new").want(t, http.StatusOK)
	v.get("/portal/team").want(t, http.StatusOK, "new@acme.example").lacks(t, "Make an invitation link")
	t.Run("Reuse", func(t *testing.T) {
		w.visit(t).get("/portal/join?token="+token).want(t, http.StatusNotFound, "This link no longer works")
		w.visit(t).post("/portal/join", "token", token, "new_password", chosen, "repeat", chosen).want(t, http.StatusNotFound)
	})
	t.Run("Expired", func(t *testing.T) {
		token, _ := w.invitation(t, "late@acme.example", access.Viewer)
		w.Clock.Advance(service.InvitationLife)
		w.visit(t).get("/portal/join?token="+token).want(t, http.StatusNotFound)
	})
	t.Run("TakenBack", func(t *testing.T) {
		token, id := w.invitation(t, "gone@acme.example", access.Viewer)
		w.as(t, w.Owner).post("/portal/team/invitations/"+id+"/delete").want(t, http.StatusSeeOther)
		w.visit(t).get("/portal/join?token="+token).want(t, http.StatusNotFound)
	})
	t.Run("Replaced", func(t *testing.T) {
		first, _ := w.invitation(t, "twice@acme.example", access.Owner)
		second, _ := w.invitation(t, "twice@acme.example", access.Viewer)
		w.visit(t).get("/portal/join?token="+first).want(t, http.StatusNotFound)
		w.visit(t).get("/portal/join?token="+second).want(t, http.StatusOK)
	})
	t.Run("NotAReset", func(t *testing.T) {
		token, _ := w.invitation(t, "other@acme.example", access.Viewer)
		w.visit(t).get("/portal/reset?token="+token).want(t, http.StatusNotFound)
	})
	t.Run("EmailOfAnotherAccount", func(t *testing.T) {
		token, _ := w.invitation(t, w.Stranger.Email, access.Viewer)
		w.visit(t).post("/portal/join", "token", token, "new_password", chosen, "repeat", chosen).want(t, http.StatusUnprocessableEntity, "exists already")
	})
	t.Run("Back", func(t *testing.T) {
		u := w.user(t, w.Account.ID, "again@acme.example", access.Owner)
		check(t, w.Service.RemoveUser(t.Context(), w.member(t, w.Owner), u.ID))
		token, _ := w.invitation(t, u.Email, access.Viewer)
		v := w.visit(t)
		v.follow("/portal/join", "token", token, "new_password", chosen, "repeat", chosen)
		v.get("/portal/keys").want(t, http.StatusOK).lacks(t, "/portal/keys/new")
	})
}

func TestPasswordReset(t *testing.T) {
	w := newWorld(t)
	signedIn := w.as(t, w.Viewer)
	make := func() string {
		p := w.as(t, w.Owner).post("/portal/team/users/"+w.Viewer.ID+"/reset").want(t, http.StatusOK)
		return regexp.MustCompile(`/portal/reset\?token=([\w-]+)`).FindStringSubmatch(p.body)[1]
	}
	const chosen = "a password of my own"
	token := make()
	w.visit(t).get("/portal/reset?token="+token).want(t, http.StatusOK, w.Viewer.Email)
	w.visit(t).follow("/portal/reset", "token", token, "new_password", chosen, "repeat", chosen).want(t, http.StatusOK, "Your password is changed.")
	w.wantEvent(t, audit.PasswordChanged, w.Viewer, nil)
	if p := signedIn.get("/portal/keys"); p.status != http.StatusSeeOther {
		t.Errorf("sessions go on: %d", p.status)
	}
	w.visit(t).post("/portal/sign-in", "email", w.Viewer.Email, "password", chosen).want(t, http.StatusSeeOther)
	t.Run("Reuse", func(t *testing.T) {
		w.visit(t).post("/portal/reset", "token", token, "new_password", "yet another password", "repeat", "yet another password").want(t, http.StatusNotFound)
		w.visit(t).post("/portal/sign-in", "email", w.Viewer.Email, "password", chosen).want(t, http.StatusSeeOther)
	})
	t.Run("ReplacedByAnotherLink", func(t *testing.T) {
		first := make()
		make()
		w.visit(t).get("/portal/reset?token="+first).want(t, http.StatusNotFound)
	})
	t.Run("EndedByAChangeOfPassword", func(t *testing.T) {
		token := make()
		w.as(t, w.Viewer).post("/portal/settings/password", "password", chosen, "new_password", password, "repeat", password).want(t, http.StatusSeeOther)
		w.visit(t).get("/portal/reset?token="+token).want(t, http.StatusNotFound)
	})
	t.Run("Expired", func(t *testing.T) {
		token := make()
		w.Clock.Advance(service.ResetLife)
		w.visit(t).get("/portal/reset?token="+token).want(t, http.StatusNotFound)
	})
	t.Run("Forged", func(t *testing.T) {
		w.visit(t).get("/portal/reset?token="+access.NewSessionToken()).want(t, http.StatusNotFound)
		w.visit(t).get("/portal/reset").want(t, http.StatusNotFound)
	})
}

func TestTeam(t *testing.T) {
	w := newWorld(t)
	owner := w.as(t, w.Owner)
	owner.follow("/portal/team/users/"+w.Owner.ID+"/role", "role", "viewer").want(t, http.StatusOK, "An account needs at least one owner.")
	owner.follow("/portal/team/users/"+w.Owner.ID+"/remove").want(t, http.StatusOK, "An account needs at least one owner.")
	viewer := w.as(t, w.Viewer)
	viewer.get("/portal/keys/new").want(t, http.StatusForbidden)
	owner.follow("/portal/team/users/"+w.Viewer.ID+"/role", "role", "developer").want(t, http.StatusOK, "viewer@acme.example is now: Developer.")
	viewer.get("/portal/keys/new").want(t, http.StatusOK)
	owner.post("/portal/team", "email", w.Developer.Email, "role", "viewer").want(t, http.StatusUnprocessableEntity, "This email is in the team already.")
	owner.post("/portal/team", "email", "x@acme.example", "role", "god").want(t, http.StatusUnprocessableEntity)
	_, _ = enrol(t, w, w.Developer)
	owner.post("/portal/team/users/"+w.Developer.ID+"/second-factor").want(t, http.StatusSeeOther)
	if p := w.visit(t).post("/portal/sign-in", "email", w.Developer.Email, "password", password); p.location != "/portal" {
		t.Errorf("the second factor is still asked for: %q", p.location)
	}
}

func TestSessions(t *testing.T) {
	w := newWorld(t)
	v, other := w.as(t, w.Owner), w.as(t, w.Owner)
	sessions, err := w.Service.Sessions(t.Context(), access.Portal, w.Owner.ID)
	check(t, err)
	if len(sessions) != 2 {
		t.Fatalf("%d sessions", len(sessions))
	}
	w.as(t, w.Stranger).post("/portal/settings/sessions/"+sessions[0].ID+"/end").want(t, http.StatusNotFound)
	v.post("/portal/settings/sessions/end").want(t, http.StatusSeeOther)
	if p := other.get("/portal/keys"); p.status != http.StatusSeeOther {
		t.Errorf("the other browser goes on: %d", p.status)
	}
	v.get("/portal/settings").want(t, http.StatusOK, "this one")
}
