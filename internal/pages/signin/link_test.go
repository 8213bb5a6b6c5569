package signin_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/shop"
)

const chosen = "a password of my own"

// mail takes the mails out of the queue and returns their texts by kind.
func (w *world) mail(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, m := range w.Mails(t) {
		texts[string(m.Kind)+" to "+m.To] = m.Text
	}
	return texts
}

// pathIn returns the page that a mail leads to.
func (w *world) pathIn(t *testing.T, text string) string {
	t.Helper()
	_, path, ok := strings.Cut(text, w.Service.Address())
	if !ok {
		t.Fatalf("there is no link in %q", text)
	}
	path, _, _ = strings.Cut(path, "\n")
	return path
}

func tokenOf(path string) string {
	_, token, _ := strings.Cut(path, "token=")
	return token
}

func TestForgot_WithoutMail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		words := map[access.Audience]string{
			access.Portal: "An owner of your account", access.Desk: "An administrator can issue a new password",
		}
		for _, p := range []*pagetest.Page{
			w.Visit(t).Get(w.base + "/forgot"), w.Visit(t).Post(w.base+"/forgot", "email", w.other.Email),
		} {
			p.Want(t, http.StatusOK, words[w.audience]).Lacks(t, `action="`+w.base+`/forgot"`, "is sent")
		}
	})
}

// TestForgot chooses a new password by mail: all sessions end, and passkeys can be removed with one click.
func TestForgot(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Reconfigure(t, shop.WithMail)
		signedIn := w.as(t, w.who)
		kept, lost := w.device(), w.device()
		w.addPasskey(signedIn, kept, "Laptop").Want(t, http.StatusSeeOther)
		w.addPasskey(signedIn, lost, "Lost phone").Want(t, http.StatusSeeOther)
		w.mail(t)

		ask := func(t *testing.T) string {
			t.Helper()
			w.Visit(t).Get(w.base+"/forgot").Want(t, http.StatusOK, `action="`+w.base+`/forgot"`, "Enter the email")
			w.Visit(t).Post(w.base+"/forgot", "email", strings.ToUpper(w.who.Email)).
				Want(t, http.StatusOK, "If a user has this email address, we have sent a mail with a link.")
			return w.pathIn(t, w.mail(t)["reset-requested to "+w.who.Email])
		}
		path := ask(t)
		if !strings.HasPrefix(path, w.base+"/reset?token=") {
			t.Errorf("the mail leads to %s", path)
		}
		v := w.Visit(t)
		v.Get(path).Want(t, http.StatusOK, w.who.Email)
		p := v.Post(w.base+"/reset", "token", tokenOf(path), "new_password", "short", "repeat", "short").
			Want(t, http.StatusUnprocessableEntity, "12 to 256")
		w.Visit(t).Get(p.In(t, "ja")).Want(t, http.StatusOK, w.who.Email, "パスワード")
		p = v.Submit(w.base+"/reset", "token", tokenOf(path), "new_password", chosen, "repeat", chosen).
			Want(t, http.StatusOK, "Your password is changed.", "Check your passkeys", "Laptop", "Lost phone", "Remove all")
		w.recorded(t, "password", w.who, "")
		if p := signedIn.Get(w.page); p.Status != http.StatusSeeOther {
			t.Errorf("sessions go on: %d", p.Status)
		}
		if mail := w.mail(t); !strings.Contains(mail["password-changed to "+w.who.Email], w.base+"/forgot") {
			t.Errorf("told %q", mail)
		}

		t.Run("Remaining", func(t *testing.T) {
			w.Visit(t).Get(w.base+"/reset/passkeys").Want(t, http.StatusSeeOther)
			if p := w.Visit(t).Post(w.base+"/reset/passkeys", "all", "1"); p.Location != w.base+"/sign-in" {
				t.Errorf("somebody else gets %d to %q", p.Status, p.Location)
			}
			v.Post(w.base+"/reset/passkeys").Want(t, http.StatusNotFound)
			button := regexp.MustCompile(`name="id" value="([0-9a-f-]+)">Remove<span class="sr"> Lost phone`)
			id := button.FindStringSubmatch(p.Body)[1]
			v.Submit(w.base+"/reset/passkeys", "id", id).Want(t, http.StatusOK, "Laptop").Lacks(t, "Lost phone")
			w.usePasskey(w.Visit(t), lost).Want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
			w.usePasskey(w.Visit(t), kept).Want(t, http.StatusSeeOther)
			v.Submit(w.base+"/reset/passkeys", "all", "1").Want(t, http.StatusOK, "Removed. Sign in with the new password.")
			w.usePasskey(w.Visit(t), kept).Want(t, http.StatusUnprocessableEntity)
			v.Get(w.base+"/reset/passkeys").Want(t, http.StatusSeeOther)
		})
		t.Run("SignIn", func(t *testing.T) {
			w.Visit(t).Post(w.base+"/sign-in", "email", w.who.Email, "password", password).
				Want(t, http.StatusUnprocessableEntity)
			v.Post(w.base+"/sign-in", "email", w.who.Email, "password", chosen).Want(t, http.StatusSeeOther)
			v.Get(w.page).Want(t, http.StatusOK)
		})
		t.Run("Reuse", func(t *testing.T) {
			w.Visit(t).Get(path).Want(t, http.StatusNotFound, "This link no longer works")
			w.Visit(t).Post(w.base+"/reset", "token", tokenOf(path), "new_password", password, "repeat", password).
				Want(t, http.StatusNotFound)
		})
		t.Run("WithoutPasskeys", func(t *testing.T) {
			w.Visit(t).Submit(w.base+"/reset", "token", tokenOf(ask(t)), "new_password", password, "repeat", password).
				Want(t, http.StatusOK, "Your password is changed.", "Forgot your password?")
		})
		t.Run("EndsAfterAWhile", func(t *testing.T) {
			w.addPasskey(w.as(t, w.who), w.device(), "Tablet").Want(t, http.StatusSeeOther)
			w.mail(t)
			v := w.Visit(t)
			v.Submit(w.base+"/reset", "token", tokenOf(ask(t)), "new_password", password, "repeat", password).
				Want(t, http.StatusOK, "Tablet")
			w.Clock.Advance(15 * time.Minute)
			if p := v.Post(w.base+"/reset/passkeys", "all", "1"); p.Location != w.base+"/sign-in" {
				t.Errorf("%d to %q", p.Status, p.Location)
			}
		})
		t.Run("NotRenewed", func(t *testing.T) {
			v := w.Visit(t)
			v.Submit(w.base+"/reset", "token", tokenOf(ask(t)), "new_password", password, "repeat", password).
				Want(t, http.StatusOK, "Tablet")
			w.Clock.Advance(10 * time.Minute)
			v.Submit(w.base+"/reset/passkeys", "id", w.who.ID).Want(t, http.StatusOK, "Tablet") // no such passkey
			w.Clock.Advance(10 * time.Minute)
			if p := v.Get(w.base + "/reset/passkeys"); p.Location != w.base+"/sign-in" {
				t.Errorf("%d to %q", p.Status, p.Location)
			}
			w.mail(t)
		})
		t.Run("EndsWithThePassword", func(t *testing.T) {
			first, second := w.Visit(t), w.Visit(t)
			reset := func(v *pagetest.Visitor) {
				v.Submit(w.base+"/reset", "token", tokenOf(ask(t)), "new_password", password, "repeat", password).
					Want(t, http.StatusOK, "Tablet")
				w.mail(t)
			}
			reset(first)
			reset(second)
			if p := first.Post(w.base+"/reset/passkeys", "all", "1"); p.Location != w.base+"/sign-in" {
				t.Errorf("%d to %q", p.Status, p.Location)
			}
			second.Get(w.base+"/reset/passkeys").Want(t, http.StatusOK, "Tablet")
		})
		t.Run("EndedByAChangeOfPassword", func(t *testing.T) {
			path := ask(t)
			w.as(t, w.who).Post(w.settings+"/password", "password", password, "new_password", chosen, "repeat", chosen).
				Want(t, http.StatusSeeOther)
			w.Visit(t).Get(path).Want(t, http.StatusNotFound)
			w.mail(t)
		})
		t.Run("Expired", func(t *testing.T) {
			path := ask(t)
			w.Clock.Advance(access.ResetLife)
			w.Visit(t).Get(path).Want(t, http.StatusNotFound)
		})
		t.Run("Forged", func(t *testing.T) {
			w.Visit(t).Get(w.base+"/reset?token="+access.NewSessionToken()).Want(t, http.StatusNotFound)
			w.Visit(t).Get(w.base+"/reset").Want(t, http.StatusNotFound)
		})
		t.Run("NoEmail", func(t *testing.T) {
			w.Visit(t).Post(w.base+"/forgot", "email", "nonsense").Want(t, http.StatusUnprocessableEntity, "This is not valid.")
		})
	})
}

// TestFactorMail checks that turning the second factor on and off is told by mail.
func TestFactorMail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Reconfigure(t, shop.WithMail)
		_, recovery := enrol(t, w, w.who)
		if mail := w.mail(t); len(mail) != 1 || w.pathIn(t, mail["second-factor-on to "+w.who.Email]) != w.settings {
			t.Errorf("told %q", mail)
		}
		w.as(t, w.who).Post(w.settings+"/second-factor/end", "off_password", password,
			"current_code", recovery[0]).Want(t, http.StatusSeeOther)
		if mail := w.mail(t); len(mail) != 1 || w.pathIn(t, mail["second-factor-off to "+w.who.Email]) != w.settings {
			t.Errorf("told %q", mail)
		}
	})
}

// TestJoin follows an invitation.
func TestJoin(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Reconfigure(t, shop.WithMail)
		invite := func(t *testing.T, email string) string {
			t.Helper()
			kind := "invitation to "
			if w.audience == access.Desk {
				kind = "staff-invitation to "
				w.as(t, w.other).Post("/desk/admin/staff/invitations", "email", email, "name", "Nao", "role", "reviewer").
					Want(t, http.StatusSeeOther)
			} else {
				w.as(t, w.other).Post("/portal/team", "email", email, "role", "developer").Want(t, http.StatusSeeOther)
			}
			return w.pathIn(t, w.mail(t)[kind+strings.ToLower(email)])
		}
		path := invite(t, "New@acme.example")
		if !strings.HasPrefix(path, w.base+"/join?token=") {
			t.Errorf("the mail leads to %s", path)
		}
		join := func(t *testing.T, v *pagetest.Visitor, path, password string) *pagetest.Page {
			t.Helper()
			return v.Post(w.base+"/join", "token", tokenOf(path), "new_password", password, "repeat", password)
		}
		v := w.Visit(t)
		p := v.Get(path).Want(t, http.StatusOK, "new@acme.example")
		if p.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Error("the address, which is a secret, is told to other pages")
		}
		p = join(t, v, path, "short").Want(t, http.StatusUnprocessableEntity, "12 to 256")
		w.Visit(t).Get(p.In(t, "ja")).Want(t, http.StatusOK, "new@acme.example", "パスワード")
		join(t, v, path, chosen).Want(t, http.StatusSeeOther)
		v.Get(w.page).Want(t, http.StatusOK)
		if w.audience == access.Desk {
			v.Get(w.settings).Want(t, http.StatusOK, "Nao · new@acme.example")
			v.Get("/desk/admin/staff").Want(t, http.StatusForbidden)
		}
		t.Run("Reuse", func(t *testing.T) {
			w.Visit(t).Get(path).Want(t, http.StatusNotFound, "This link no longer works")
			join(t, w.Visit(t), path, chosen).Want(t, http.StatusNotFound)
		})
		t.Run("Replaced", func(t *testing.T) {
			first, second := invite(t, "twice@acme.example"), invite(t, "twice@acme.example")
			w.Visit(t).Get(first).Want(t, http.StatusNotFound)
			w.Visit(t).Get(second).Want(t, http.StatusOK)
		})
		t.Run("NotAReset", func(t *testing.T) {
			w.Visit(t).Get(w.base+"/reset?token="+tokenOf(invite(t, "reset@acme.example"))).Want(t, http.StatusNotFound)
		})
		t.Run("OtherAudience", func(t *testing.T) {
			path := invite(t, "elsewhere@acme.example")
			other := strings.NewReplacer("/portal/", "/desk/", "/desk/", "/portal/").Replace(path)
			w.Visit(t).Get(other).Want(t, http.StatusNotFound)
		})
		t.Run("Expired", func(t *testing.T) {
			path := invite(t, "late@acme.example")
			w.Clock.Advance(access.InvitationLife)
			w.Visit(t).Get(path).Want(t, http.StatusNotFound)
		})
	})
}

// TestStaffInvitation runs the administrator's side of an invitation, without a mail server.
func TestStaffInvitation(t *testing.T) {
	w := pagetest.New(t)
	admin := w.AsStaff(t, w.Aoi)
	link := regexp.MustCompile(`/desk/join\?token=([\w-]+)`)
	invite := func(words ...string) *pagetest.Page {
		return admin.Post("/desk/admin/staff/invitations", words...)
	}
	admin.Get("/desk/admin/staff").Want(t, http.StatusOK, "Create an invitation link", "Create with a password").
		Lacks(t, "Open invitations")
	invite("email", "nao@example.com", "name", "", "role", "boss").
		Want(t, http.StatusUnprocessableEntity, `value="nao@example.com"`)
	invite("email", w.Mika.Email, "name", "Mika", "role", "reviewer").
		Want(t, http.StatusUnprocessableEntity, "This is already in use.")
	p := invite("email", "Nao@example.com", "name", "Nao", "role", "reviewer").
		Want(t, http.StatusOK, "Share this link")
	first := link.FindString(p.Body)
	admin.Get("/desk/admin/staff").Want(t, http.StatusOK, "Open invitations", "nao@example.com", "New link")
	open, err := w.Service.StaffInvitations(t.Context(), w.Aoi.Actor(access.Origin{}))
	must.NoError(t, err)
	p = admin.Post("/desk/admin/staff/invitations/"+open[0].ID+"/again").Want(t, http.StatusOK, "Share this link")
	second := link.FindString(p.Body)
	w.Visit(t).Get(first).Want(t, http.StatusNotFound)
	w.Visit(t).Get(second).Want(t, http.StatusOK, "Join the desk", "nao@example.com")
	open, err = w.Service.StaffInvitations(t.Context(), w.Aoi.Actor(access.Origin{}))
	must.NoError(t, err)
	w.AsStaff(t, w.Mika).Post("/desk/admin/staff/invitations/"+open[0].ID+"/delete").Want(t, http.StatusForbidden)
	admin.Submit("/desk/admin/staff/invitations/"+open[0].ID+"/delete").
		Want(t, http.StatusOK, "The invitation is revoked.")
	admin.Post("/desk/admin/staff/invitations/"+open[0].ID+"/delete").Want(t, http.StatusNotFound)
	w.Visit(t).Get(second).Want(t, http.StatusNotFound)
	admin.Get("/desk/admin/log").Want(t, http.StatusOK, "Staff user invited", "Staff invitation revoked")
}
