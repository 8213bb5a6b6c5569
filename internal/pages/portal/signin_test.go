package portal_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/pquerna/otp/totp"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/testkit/must"
)

// lastEvent is the newest event of the account's audit log.
func (w *world) lastEvent(t *testing.T) *audit.Event {
	t.Helper()
	events, _, err := w.Store.AuditPage(t.Context(), w.Account.ID, audit.Filter{}, 1, 1)
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
	if e.Actor.IP != "127.0.0.1" || e.Actor.UserAgent != "Browser of a test" || e.Target.Type != audit.TargetUser ||
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

// enrol gives a user a second factor and returns its secret and the recovery codes.
func enrol(t *testing.T, w *world, u *access.User) (secret string, recovery []string) {
	t.Helper()
	v := w.AsUser(t, u)
	p := v.Get("/portal/settings/second-factor").Want(t, http.StatusOK)
	secret, sealed := p.NewFactor(t)
	code, err := totp.GenerateCode(secret, w.Clock.Now())
	must.NoError(t, err)
	p = v.Post("/portal/settings/second-factor", "sealed", sealed, "code", code, "password", password).
		Want(t, http.StatusOK, "Your recovery codes")
	return secret, p.RecoveryCodes(t)
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
		Want(t, http.StatusOK, "Share this link")
	token := regexp.MustCompile(`/portal/join\?token=([\w-]+)`).FindStringSubmatch(p.Body)[1]
	const chosen = "a password of my own"
	v := w.Visit(t)
	v.Get("/portal/join?token="+token).Want(t, http.StatusOK, "new@acme.example", "Acme")
	v.Post("/portal/join", "token", token, "new_password", "short", "repeat", "short").
		Want(t, http.StatusUnprocessableEntity, "12 to 256")
	v.Submit("/portal/join", "token", token, "new_password", chosen, "repeat", chosen)
	v.Get("/portal/keys/new").Want(t, http.StatusOK)
	v.Get("/portal/team").Want(t, http.StatusOK, "new@acme.example").Lacks(t, "Create an invitation link")
	t.Run("Reuse", func(t *testing.T) {
		w.Visit(t).Get("/portal/join?token="+token).Want(t, http.StatusNotFound, "This link no longer works")
		w.Visit(t).Post("/portal/join", "token", token, "new_password", chosen, "repeat", chosen).Want(t, http.StatusNotFound)
	})
	t.Run("Expired", func(t *testing.T) {
		token, id := w.invitation(t, "late@acme.example", access.Viewer)
		w.Clock.Advance(access.InvitationLife)
		back := "/portal/team/invitations/" + id + "/delete" // too late, as for an accepted one
		w.AsUser(t, w.Owner).Submit(back).Want(t, http.StatusOK, "The invitation is no longer open.")
		w.AsUser(t, w.Stranger).Post(back).Want(t, http.StatusNotFound)
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
			Want(t, http.StatusUnprocessableEntity, "already exists")
	})
	t.Run("Back", func(t *testing.T) {
		u := w.AddUser(t, w.Account.ID, "again@acme.example", access.Owner)
		must.NoError(t, w.Service.RemoveUser(t.Context(), w.Owner.Actor("", access.Origin{}), u.ID))
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
	t.Run("NotOneself", func(t *testing.T) { // without a mail server the link would stand in for the password
		v := w.AsUser(t, w.Owner)
		v.Get("/portal/team").Want(t, http.StatusOK).Lacks(t, w.Owner.ID+"/reset")
		v.Submit("/portal/team/users/"+w.Owner.ID+"/reset").
			Want(t, http.StatusOK, "Change your own password in Settings.").Lacks(t, "token=")
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
		w.Clock.Advance(access.ResetLife)
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
		Want(t, http.StatusOK, "An account must have at least one owner.")
	owner.Submit("/portal/team/users/"+w.Owner.ID+"/remove").
		Want(t, http.StatusOK, "An account must have at least one owner.")
	viewer := w.AsUser(t, w.Viewer)
	viewer.Get("/portal/keys/new").Want(t, http.StatusForbidden)
	owner.Submit("/portal/team/users/"+w.Viewer.ID+"/role", "role", "developer").
		Want(t, http.StatusOK, "viewer@acme.example is now: Developer.")
	viewer.Get("/portal/keys/new").Want(t, http.StatusOK)
	owner.Post("/portal/team", "email", w.Developer.Email, "role", "viewer").
		Want(t, http.StatusUnprocessableEntity, "This email is already in the team.")
	owner.Post("/portal/team", "email", "x@acme.example", "role", "god").Want(t, http.StatusUnprocessableEntity)
	_, _ = enrol(t, w, w.Developer)
	k := w.passkey(t, w.Developer)
	owner.Submit("/portal/team/users/"+w.Developer.ID+"/second-factor").
		Want(t, http.StatusOK, "The second factor and passkeys of "+w.Developer.Email+" were removed.")
	w.AsUser(t, w.Developer).Get("/portal/settings/passkeys/"+k.ID).Want(t, http.StatusNotFound)
	if p := w.Visit(t).Post("/portal/sign-in", "email", w.Developer.Email, "password", password); p.Location != "/portal" {
		t.Errorf("the second factor is still asked for: %q", p.Location)
	}
	owner.Submit("/portal/team/users/"+w.Owner.ID+"/second-factor").
		Want(t, http.StatusOK, "Change your own second factor and passkeys in Settings")
}
