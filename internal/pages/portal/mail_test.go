package portal_test

import (
	"fmt"
	"log/slog"
	"net/http"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/smtptest"
	"github.com/assayhq/assay/internal/testkit/uitest"
	"github.com/assayhq/assay/internal/worker/mail"
)

// mailServer gives the portal a mail server, over TLS and with a password, and a sender at work.
func (w *world) mailServer(t *testing.T, o smtptest.Options) *smtptest.Server {
	t.Helper()
	o.Auth = true
	server := smtptest.Start(t, o)
	address, err := mail.ParseServer(server.URL())
	must.NoError(t, err)
	roots, err := netguard.LoadCAs(server.CAFile)
	must.NoError(t, err)
	var sender *mail.Sender
	w.Reconfigure(t, func(c *service.Config) { c.OnMail = func() { sender.Wake() } })
	sender = mail.New(mail.Config{
		Service: w.Service, Server: address, From: &netmail.Address{Name: "Assay", Address: "assay@mail.test"},
		RootCAs: roots, Now: w.Clock.Now, Log: slog.New(slog.DiscardHandler),
	})
	var running sync.WaitGroup
	ctx := t.Context()
	running.Go(func() {
		if err := sender.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(running.Wait) // the context of the test has ended by then
	return server
}

// pathOf is the page that a mail leads to, on the server of the test.
func (w *world) pathOf(t *testing.T, m *smtptest.Message) string {
	t.Helper()
	path, ok := strings.CutPrefix(m.Link(), w.Service.Address())
	if !ok {
		t.Fatalf("the mail leads to %q", m.Link())
	}
	return path
}

func tokenOf(path string) string {
	_, token, _ := strings.Cut(path, "token=")
	return token
}

func TestForgot(t *testing.T) {
	w := newWorld(t)
	server := w.mailServer(t, smtptest.Options{})
	const chosen = "a password of my own"
	v := w.Visit(t)
	v.Get("/portal/forgot").Want(t, http.StatusOK, `action="/portal/forgot"`, "Enter the email")
	v.Post("/portal/forgot", "email", "Viewer@acme.example").Want(t, http.StatusOK, "we have sent a mail with a link")
	path := w.pathOf(t, server.Await(t, w.Viewer.Email, "Choose a new password"))
	v.Get(path).Want(t, http.StatusOK, w.Viewer.Email)
	v.Submit("/portal/reset", "token", tokenOf(path), "new_password", chosen, "repeat", chosen).
		Want(t, http.StatusOK, "Your password is changed.")
	v.Post("/portal/sign-in", "email", w.Viewer.Email, "password", chosen).Want(t, http.StatusSeeOther)
	v.Get("/portal/keys").Want(t, http.StatusOK)
	server.Await(t, w.Viewer.Email, "Your password was changed")

	t.Run("Reuse", func(t *testing.T) {
		w.Visit(t).Get(path).Want(t, http.StatusNotFound, "This link no longer works")
		w.Visit(t).Post("/portal/reset", "token", tokenOf(path), "new_password", password, "repeat", password).
			Want(t, http.StatusNotFound)
	})
	t.Run("Japanese", func(t *testing.T) {
		v := w.Visit(t)
		v.Headers["Accept-Language"] = "ja"
		v.Post("/portal/forgot", "email", w.Developer.Email).Want(t, http.StatusOK, "リンクを記載したメールをお送りします")
		m := server.Await(t, w.Developer.Email, "新しいパスワードの設定")
		if !strings.Contains(m.Text, "再設定が依頼されました") {
			t.Error(m.Text)
		}
	})
	t.Run("NoEmail", func(t *testing.T) {
		w.Visit(t).Post("/portal/forgot", "email", "nonsense").
			Want(t, http.StatusUnprocessableEntity, `value="nonsense"`, "This is not valid.")
	})
	t.Run("Throttled", func(t *testing.T) {
		for range 5 {
			w.Visit(t).Post("/portal/forgot", "email", "nobody@acme.example").Want(t, http.StatusOK)
		}
		w.Visit(t).Post("/portal/forgot", "email", "nobody@acme.example").
			Want(t, http.StatusTooManyRequests, "Too many attempts")
	})
}

// TestForgot_UnknownEmail asks for known and unknown emails: answers are equal to the byte, and take as long, because
// nobody looks who has an email before the answer. That is no test of time, which says nothing on a machine that does
// other things: whoever looked would find no table.
func TestForgot_UnknownEmail(t *testing.T) {
	w := newWorld(t)
	w.Reconfigure(t, shop.WithMail)
	const pairs = 3
	for i := range pairs {
		w.AddUser(t, w.Account.ID, fmt.Sprintf("known-%02d@acme.example", i), access.Viewer)
	}
	rawsql.Exec(t, w.Target, "ALTER TABLE users RENAME TO users_elsewhere")
	w.Visit(t).Post("/portal/sign-in", "email", "known-00@acme.example", "password", password).
		Want(t, http.StatusInternalServerError) // it has to look
	for i := range pairs {
		ask := func(email string) string {
			return w.Visit(t).Post("/portal/forgot", "email", fmt.Sprintf(email, i)).Want(t, http.StatusOK).Body
		}
		if known, unknown := ask("known-%02d@acme.example"), ask("nobody-%02d@acme.example"); known != unknown {
			t.Fatalf("an unknown email is told apart:\n%s\n%s", known, unknown)
		}
	}
	rawsql.Exec(t, w.Target, "ALTER TABLE users_elsewhere RENAME TO users")
	server := w.mailServer(t, smtptest.Options{})
	for i := range pairs {
		server.Await(t, fmt.Sprintf("known-%02d@acme.example", i), "Choose a new password")
	}
	if n := len(server.Mail()); n != pairs {
		t.Errorf("%d mails for %d users", n, pairs)
	}
}

func TestInvitation_ByMail(t *testing.T) {
	w := newWorld(t)
	server := w.mailServer(t, smtptest.Options{Refuse: func(to string) error {
		if strings.HasPrefix(to, "typo") {
			return smtptest.Permanently(to)
		}
		return nil
	}})
	owner := w.AsUser(t, w.Owner)
	const chosen = "a password of my own"
	owner.Get("/portal/team").Want(t, http.StatusOK, "Send invitation").Lacks(t, "Create an invitation link")
	owner.Submit("/portal/team", "email", "New@acme.example", "role", "developer").
		Want(t, http.StatusOK, "An email with the link is being sent to New@acme.example.", "new@acme.example", "Resend").
		Lacks(t, "/portal/join", "token=")
	first := w.pathOf(t, server.Await(t, "new@acme.example", "Invitation to Acme"))

	_, invitations, err := w.Service.Team(t.Context(), w.Owner.Actor("", access.Origin{}))
	must.NoError(t, err)
	owner.Submit("/portal/team/invitations/"+invitations[0].ID+"/again").
		Want(t, http.StatusOK, "An email with the link is being sent to new@acme.example.").Lacks(t, "token=")
	owner.Post("/portal/team/invitations/"+invitations[0].ID+"/again").Want(t, http.StatusNotFound)
	w.AsUser(t, w.Stranger).Post("/portal/team/invitations/"+invitations[0].ID+"/again").Want(t, http.StatusNotFound)
	second := w.pathOf(t, server.AwaitCount(t, 2)[1])
	v := w.Visit(t)
	v.Get(first).Want(t, http.StatusNotFound)
	v.Get(second).Want(t, http.StatusOK, "new@acme.example")
	v.Submit("/portal/join", "token", tokenOf(second), "new_password", chosen, "repeat", chosen)
	v.Get("/portal/keys/new").Want(t, http.StatusOK)

	t.Run("CannotBeDelivered", func(t *testing.T) {
		owner.Post("/portal/team", "email", "typo@acme.example", "role", "viewer").Want(t, http.StatusSeeOther)
		for range 200 {
			if p := owner.Get("/portal/team"); strings.Contains(p.Body, "mail delivery failed") {
				return
			}
		}
		t.Error("the owner is not told")
	})
	t.Run("ResetOfAMember", func(t *testing.T) {
		owner.Submit("/portal/team/users/"+w.Viewer.ID+"/reset").Want(t, http.StatusOK, "being sent to viewer@acme.example").
			Lacks(t, "token=")
		w.Visit(t).Get(w.pathOf(t, server.Await(t, w.Viewer.Email, "Choose a new password"))).
			Want(t, http.StatusOK, w.Viewer.Email)
	})
}

// TestInvitation_NewLink is the same button without a mail server: it shows another link.
func TestInvitation_NewLink(t *testing.T) {
	w := newWorld(t)
	token, id := w.invitation(t, "new@acme.example", access.Viewer)
	owner := w.AsUser(t, w.Owner)
	owner.Get("/portal/team").Want(t, http.StatusOK, "New link").Lacks(t, "Resend")
	owner.Post("/portal/team/invitations/"+id+"/again").
		Want(t, http.StatusOK, "Share this link", "/portal/join?token=")
	w.Visit(t).Get("/portal/join?token="+token).Want(t, http.StatusNotFound)
}

func TestLowBalance(t *testing.T) {
	w := newWorld(t)
	owner := w.AsUser(t, w.Owner)
	owner.Get("/portal/live/credits").Want(t, http.StatusOK, "Low balance", `value="100"`, "The overview shows a notice")
	owner.Get("/portal/test/credits").Want(t, http.StatusOK).Lacks(t, "Low balance")
	owner.Get("/portal/live").Want(t, http.StatusOK).Lacks(t, "credits left")
	for _, below := range []string{"", "-1", "1.5", "many", "1000000000001"} {
		owner.Post("/portal/live/credits/notice", "below", below).
			Want(t, http.StatusUnprocessableEntity, "A whole number from 0 to 1000000000000.", `value="`+below+`"`)
	}
	owner.Submit("/portal/live/credits/notice", "below", "1001").
		Want(t, http.StatusOK, "Notification settings saved.", `value="1001"`)
	owner.Get("/portal/live").Want(t, http.StatusOK, "1,000 credits left", "1,001")
	owner.Get("/portal/test").Want(t, http.StatusOK).Lacks(t, "credits left")
	viewer := w.AsUser(t, w.Viewer)
	viewer.Get("/portal/live/credits").Want(t, http.StatusOK, "Owners are notified below 1,001 credits.").
		Lacks(t, `name="below"`)
	viewer.Post("/portal/live/credits/notice", "below", "5").Want(t, http.StatusForbidden)
	w.AsUser(t, w.Stranger).Get("/portal/live").Want(t, http.StatusOK).Lacks(t, "credits left") // it never had any
	owner.Submit("/portal/live/credits/notice", "below", "0")
	viewer.Get("/portal/live/credits").Want(t, http.StatusOK, "The notification is off.")

	server := w.mailServer(t, smtptest.Options{})
	owner.Get("/portal/live/credits").Want(t, http.StatusOK, "all owners get one mail")
	owner.Submit("/portal/live/credits/notice", "below", "1000")
	w.Order(t, w.Live, "")
	if m := server.Await(t, w.Owner.Email, "Live credits left"); w.pathOf(t, m) != "/portal/live/credits" {
		t.Errorf("the mail leads to %s", m.Link())
	}
}

// TestForgot_InABrowser drives the way back in, in a real browser.
func TestForgot_InABrowser(t *testing.T) {
	requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	server := w.mailServer(t, smtptest.Options{})
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Open("/portal/sign-in?lang=en")
	b.Follow("a[href='/portal/forgot']")
	b.Screenshot("forgot-form")
	b.Fill("#f-email", w.Developer.Email)
	b.Follow("main .primary")
	b.Await(".alert.tone-good")
	b.Screenshot("forgot-sent")
	const chosen = "a password of my own"
	b.Open(w.pathOf(t, server.Await(t, w.Developer.Email, "Choose a new password")))
	b.Fill("#f-new_password", chosen)
	b.Fill("#f-repeat", chosen)
	b.Follow("main .primary")
	b.Fill("#f-email", w.Developer.Email)
	b.Fill("#f-password", chosen)
	b.Follow("main .primary")
	b.Await(".env-switch")
}

// TestMail_Looks opens what a mail server changes, in both languages and themes and on a phone.
func TestMail_Looks(t *testing.T) {
	requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	w.mailServer(t, smtptest.Options{Refuse: func(to string) error {
		switch {
		case strings.HasPrefix(to, "typo"):
			return smtptest.Permanently(to)
		case strings.HasPrefix(to, "slow"):
			return smtptest.Temporarily()
		}
		return nil
	}})
	owner := w.AsUser(t, w.Owner)
	for _, email := range []string{"new@acme.example", "typo@acme.example", "slow@acme.example"} {
		owner.Post("/portal/team", "email", email, "role", "developer").Want(t, http.StatusSeeOther)
	}
	owner.Submit("/portal/live/credits/notice", "below", "1200").Want(t, http.StatusOK)
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Allow("422")
	for _, look := range []struct {
		name, lang, theme string
		width             int
	}{
		{"en", "en", "light", uitest.DeskWidth},
		{"ja-dark", "ja", "dark", uitest.DeskWidth},
		{"phone", "en", "light", uitest.PhoneWidth},
	} {
		b.Theme(look.theme)
		b.Resize(look.width)
		show := func(name string) {
			b.Screenshot("mail-" + look.name + "-" + name)
			b.CheckAccessibility()
		}
		b.Open("/portal/forgot?lang=" + look.lang)
		show("forgot")
		b.Fill("#f-email", look.name+"@acme.example")
		b.Follow("main .primary")
		b.Await(".alert.tone-good")
		show("forgot-sent")
		signIn(t, w, b, w.Owner)
		for name, path := range map[string]string{
			"overview": "/portal/live", "credits": "/portal/live/credits", "team": "/portal/team",
		} {
			b.Open(path + "?lang=" + look.lang)
			show(name)
		}
		b.Follow("form[action='/portal/sign-out'] button")
	}
}
