package mail_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/smtptest"
	"github.com/assayhq/assay/internal/worker/mail"
	"github.com/prometheus/client_golang/prometheus"
)

// TestSend sends a mail to each kind of server.
func TestSend(t *testing.T) {
	for name, options := range map[string]smtptest.Options{
		"StartTLS":    {Auth: true},
		"ImplicitTLS": {Auth: true, Implicit: true},
		"Login":       {Auth: true, Login: true},
		"LocalRelay":  {NoTLS: true},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, o *office) {
				server := smtptest.Start(t, options)
				o.invite(t, "new@acme.example")
				o.wantQueue(t, 1)
				round(t, o.sender(t, server, server.URL()))
				o.wantQueue(t, 0)
				got := server.Mail()
				if len(got) != 1 {
					t.Fatalf("%d mails", len(got))
				}
				m := got[0]
				if m.From != "assay@mail.test" || fmt.Sprint(m.To) != "[new@acme.example]" || m.Encrypted == options.NoTLS {
					t.Errorf("from %s to %s, encrypted: %v", m.From, m.To, m.Encrypted)
				}
				if from, err := m.Header.AddressList("From"); err != nil || from[0].Name != "Assay 鑑定" ||
					from[0].Address != "assay@mail.test" {
					t.Errorf("from %v (%v)", from, err)
				}
				if to := m.Header.Get("To"); to != "<new@acme.example>" {
					t.Errorf("to %q", to)
				}
				if at, err := m.Header.Date(); err != nil || !at.Equal(o.Clock.Now()) {
					t.Errorf("date %v (%v)", at, err)
				}
				if !strings.HasSuffix(m.Header.Get("Message-Id"), "@mail.test>") ||
					m.Header.Get("Auto-Submitted") != "auto-generated" || m.Header.Get("Content-Language") != "en" {
					t.Errorf("headers %v", m.Header)
				}
				if m.Subject != "Invitation to Acme 鑑定" || !strings.Contains(m.Text, "owner@acme.example invites you") ||
					!strings.Contains(m.Text, "as developer") {
					t.Errorf("%s\n%s", m.Subject, m.Text)
				}
				if link := m.Link(); !strings.HasPrefix(link, "https://assay.example/portal/join?token=") ||
					!strings.Contains(m.HTML, `href="`+link+`"`) {
					t.Errorf("the link is %q; HTML:\n%s", link, m.HTML)
				}
				o.wantLog(t, "a mail was sent")
			})
		})
	}
}

// TestNotSent checks that nothing is sent to a server that does not meet the settings.
func TestNotSent(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options smtptest.Options
		url     func(s *smtptest.Server) string
		trusted bool
		failure string
	}{
		{
			"StartTLSNotOffered", smtptest.Options{NoTLS: true, Auth: true}, func(s *smtptest.Server) string {
				return s.URL() + "?starttls=required"
			}, true, "tls",
		},
		{"NotTrusted", smtptest.Options{Auth: true}, (*smtptest.Server).URL, false, "tls"},
		{"NotTrustedImplicit", smtptest.Options{Auth: true, Implicit: true}, (*smtptest.Server).URL, false, "tls"},
		{
			"WrongPassword", smtptest.Options{Auth: true}, func(s *smtptest.Server) string {
				return strings.Replace(s.URL(), "%251", "x", 1)
			}, true, "auth 535 5.7.8",
		},
		{
			"NoPassword", smtptest.Options{Auth: true}, func(s *smtptest.Server) string {
				return "smtp://" + s.Address + "?starttls=required"
			}, true, "sender 502 5.7.0",
		},
		{"Away", smtptest.Options{}, func(*smtptest.Server) string { return "smtp://127.0.0.1:1" }, true, "connect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, o *office) {
				server := smtptest.Start(t, tt.options)
				o.invite(t, "new@acme.example")
				trust := server
				if !tt.trusted {
					trust = nil
				}
				round(t, o.sender(t, trust, tt.url(server)))
				if len(server.Mail()) != 0 {
					t.Error("it was sent")
				}
				if n := server.Logins(); n != 0 && tt.name != "WrongPassword" {
					t.Error("the password was sent")
				}
				rows := o.queue(t)
				if len(rows) != 1 || rows[0][0] != "1" || rows[0][1] != "<null>" {
					t.Errorf("the queue is %q: it has to wait", rows)
				}
				o.wantLog(t, tt.failure, "could not be sent for now")
			})
		})
	}
}

// TestTemporaryFailure follows a mail that is deferred until it is accepted, or given up after a day.
func TestTemporaryFailure(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		var refuse atomic.Bool
		refuse.Store(true)
		server := smtptest.Start(t, smtptest.Options{Refuse: func(to string) error {
			if refuse.Load() && strings.HasPrefix(to, "slow") {
				return smtptest.Temporarily()
			}
			return nil
		}})
		sender := o.sender(t, server, server.URL())
		o.invite(t, "slow@acme.example")
		o.invite(t, "quick@acme.example")
		round(t, sender)
		if got := recipients(server); got["[quick@acme.example]"] != 1 || len(got) != 1 {
			t.Fatalf("taken: %v: one that waits must not hold up the others", got)
		}
		round(t, sender)
		if rows := o.queue(t); len(rows) != 1 || rows[0][0] != "1" {
			t.Fatalf("the queue is %q: it was tried again at once", rows)
		}
		o.Clock.Advance(67 * time.Second)
		round(t, sender)
		if rows := o.queue(t); rows[0][0] != "2" {
			t.Fatalf("the queue is %q: it was not tried again after a minute", rows)
		}
		refuse.Store(false)
		o.Clock.Advance(133 * time.Second)
		round(t, sender)
		o.wantQueue(t, 0)
		if got := recipients(server); got["[slow@acme.example]"] != 1 {
			t.Errorf("taken: %v", got)
		}
		o.wantLog(t, "recipient 451 4.7.1")
	})
}

func TestGivenUp(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		server := smtptest.Start(t, smtptest.Options{Refuse: func(string) error { return smtptest.Temporarily() }})
		sender := o.sender(t, server, server.URL())
		o.invite(t, "never@acme.example")
		begun := o.Clock.Now()
		for o.Clock.Now().Sub(begun) < 23*time.Hour {
			round(t, sender)
			if rows := o.queue(t); rows[0][1] != "<null>" {
				t.Fatalf("given up after %s: %q", o.Clock.Now().Sub(begun), rows)
			}
			o.Clock.Advance(time.Hour)
		}
		o.Clock.Advance(50 * time.Minute)
		round(t, sender)
		rows := o.queue(t)
		if len(rows) != 1 || rows[0][1] != "recipient 451 4.7.1" || rows[0][2] != "" {
			t.Errorf("after a day the queue is %q", rows)
		}
		o.wantLog(t, "a mail is given up")
	})
}

// TestPermanentFailure checks that a permanent refusal is recorded, that the link is deleted, and that the owner
// sees it.
func TestPermanentFailure(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		server := smtptest.Start(t, smtptest.Options{Refuse: func(to string) error {
			if strings.HasPrefix(to, "nobody") {
				return smtptest.Permanently(to)
			}
			return nil
		}})
		registry := prometheus.NewRegistry()
		sender := o.senderOf(t, o.Service, server, server.URL(), registry)
		o.invite(t, "nobody@acme.example")
		o.invite(t, "somebody@acme.example")
		round(t, sender)
		if got := recipients(server); got["[somebody@acme.example]"] != 1 {
			t.Errorf("taken: %v: a refusal holds up the others", got)
		}
		rows := o.queue(t)
		if len(rows) != 1 || rows[0][1] != "recipient 550 5.1.1" || rows[0][2] != "" {
			t.Fatalf("the queue is %q", rows)
		}
		o.Clock.Advance(time.Hour)
		round(t, sender)
		if rows := o.queue(t); rows[0][0] != "1" {
			t.Errorf("it was tried again: %q", rows)
		}
		o.wantLog(t, "a mail cannot be delivered")
		_, invitations, err := o.Service.Team(t.Context(), o.Owner.Actor("", access.Origin{}))
		must.NoError(t, err)
		for _, i := range invitations {
			if i.MailFailed != strings.HasPrefix(i.Email, "nobody") || i.MailWaiting {
				t.Errorf("invitation %s: failed %v, waits %v", i.Email, i.MailFailed, i.MailWaiting)
			}
		}
		o.invite(t, "third@acme.example")
		want := map[string]float64{
			"assay_mail_sent_total":    1,
			"assay_mail_failed_total":  1,
			"assay_mail_put_off_total": 0,
			"assay_mail_queued":        1,
		}
		families, err := registry.Gather()
		must.NoError(t, err)
		for _, f := range families {
			m := f.GetMetric()[0]
			if got := m.GetCounter().GetValue() + m.GetGauge().GetValue(); got != want[f.GetName()] {
				t.Errorf("%s is %v, want %v", f.GetName(), got, want[f.GetName()])
			}
			delete(want, f.GetName())
		}
		if len(want) != 0 {
			t.Errorf("there is no %v", want)
		}
		o.Clock.Advance(30 * 24 * time.Hour)
		if _, err := o.Service.DeleteOldMail(t.Context(), o.Clock.Now().Add(-24*time.Hour), 10); err != nil {
			t.Fatal(err)
		}
		if rows := o.queue(t); len(rows) != 1 || rows[0][1] != "expired" || rows[0][2] != "" {
			t.Errorf("a month later the queue is %q: the refused one is forgotten, the one that nobody sent is expired", rows)
		}
	})
}

// TestSeveralNodes runs many senders on one queue: every mail is sent once.
func TestSeveralNodes(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		server := smtptest.Start(t, smtptest.Options{})
		const mails, nodes = 48, 4
		for i := range mails {
			o.invite(t, fmt.Sprintf("user-%02d@acme.example", i))
		}
		var working sync.WaitGroup
		for range nodes {
			node, _ := o.second(t)
			sender := o.senderOf(t, node, server, server.URL(), nil)
			working.Go(func() {
				if err := sender.Round(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		working.Wait()
		got := recipients(server)
		for to, n := range got {
			if n != 1 {
				t.Errorf("%s got %d mails", to, n)
			}
		}
		if len(got) != mails {
			t.Errorf("%d of %d were sent", len(got), mails)
		}
		o.wantQueue(t, 0)
	})
}

// TestCrashAfterSending loses the database right after the server accepted the mail. Another node sends it again
// after the claim has expired, with the same message id.
func TestCrashAfterSending(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		crashing, database := o.second(t)
		var crash sync.Once
		server := smtptest.Start(t, smtptest.Options{Taken: func(*smtptest.Message) error {
			crash.Do(func() { _ = database.Close() })
			return nil
		}})
		o.invite(t, "twice@acme.example")
		if err := o.senderOf(t, crashing, server, server.URL(), nil).Round(t.Context()); err == nil {
			t.Fatal("the sender did not notice that it could not write")
		}
		other := o.sender(t, server, server.URL())
		round(t, other)
		if n := len(server.Mail()); n != 1 {
			t.Fatalf("%d mails while the claim stands", n)
		}
		o.Clock.Advance(2*time.Minute + time.Second)
		round(t, other)
		o.wantQueue(t, 0)
		got := server.Mail()
		if len(got) != 2 || got[0].Header.Get("Message-Id") != got[1].Header.Get("Message-Id") || got[0].Text != got[1].Text {
			t.Errorf("%d mails: %v", len(got), got)
		}
	})
}

// TestNothingHappened checks that what did not happen is not written about.
func TestNothingHappened(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		_, err := o.Service.Invite(t.Context(), o.Owner.Actor("", access.Origin{}), o.Owner.Email, access.Viewer)
		if err == nil {
			t.Error("a member was invited")
		}
		taken, err := o.Service.CreateAccount(t.Context(), access.System, "Other", "owner@other.example", text.English)
		must.NoError(t, err)
		const password = "a password of my own"
		o.Owner.PasswordHash = access.HashPassword(password)
		g := o.Service.SignIn(access.Portal)
		_, err = g.ChangeEmail(
			t.Context(), o.Owner.Person(), signin.Proof{Password: "wrong"}, taken.Owner.Email, access.Origin{})
		if !errors.Is(err, signin.WrongPassword) {
			t.Errorf("an email without the password: %v", err)
		}
		o.wantQueue(t, 0)

		server := smtptest.Start(t, smtptest.Options{})
		o.invite(t, "undone@acme.example")
		_, invitations, err := o.Service.Team(t.Context(), o.Owner.Actor("", access.Origin{}))
		must.NoError(t, err)
		if !invitations[0].MailWaiting {
			t.Error("the team is not told that the mail is on its way")
		}
		must.NoError(t, o.Service.Uninvite(t.Context(), o.Owner.Actor("", access.Origin{}), invitations[0].ID))
		o.wantQueue(t, 0)
		o.invite(t, "again@acme.example")
		_, invitations, err = o.Service.Team(t.Context(), o.Owner.Actor("", access.Origin{}))
		must.NoError(t, err)
		_, _, err = o.Service.InviteAgain(t.Context(), o.Owner.Actor("", access.Origin{}), invitations[0].ID)
		must.NoError(t, err)
		round(t, o.sender(t, server, server.URL()))
		if got := recipients(server); got["[again@acme.example]"] != 1 || len(got) != 1 {
			t.Errorf("taken: %v", got)
		}
		token := tokenOf(server.Mail()[0])
		if _, err := o.Service.SignIn(access.Portal).Link(t.Context(), access.Invitation, token); err != nil {
			t.Errorf("the link that was sent does not work: %v", err)
		}
	})
}

func tokenOf(m *smtptest.Message) string {
	_, token, _ := strings.Cut(m.Link(), "token=")
	return token
}

// TestSealed checks that a stolen database tells neither links nor addresses of mails, and another key reads none.
func TestSealed(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		o.invite(t, "new@acme.example")
		sealed := o.queue(t)[0][2]
		if !strings.HasPrefix(sealed, "v2:") || strings.Contains(sealed, "acme") || strings.Contains(sealed, "token") {
			t.Errorf("at rest it is %q", sealed)
		}
	})
}

// TestHeaderInjection sends mail about names and to addresses that try to add lines to it.
func TestHeaderInjection(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		server := smtptest.Start(t, smtptest.Options{})
		const evil = "Evil\r\nBcc: victim@other.example\r\n\r\n<script>alert(1)</script> {by} {link}"
		for _, email := range []string{
			"a@acme.example\r\nBcc: victim@other.example", "a@acme.example>\r\nRCPT TO:<victim@other.example",
			"a@acme.example, victim@other.example", "a@acme.example\x00",
		} {
			if _, err := o.Service.Invite(t.Context(), o.Owner.Actor("", access.Origin{}), email, access.Viewer); err == nil {
				t.Errorf("%q was invited", email)
			}
		}
		// The service would refuse this name.
		rawsql.Exec(t, o.Target, "UPDATE accounts SET name = '"+evil+"' WHERE id = '"+o.Account.ID+"'")
		o.invite(t, "new@acme.example")
		round(t, o.sender(t, server, server.URL()))
		got := server.Mail()
		if len(got) != 1 || fmt.Sprint(got[0].To) != "[new@acme.example]" {
			t.Fatalf("%d mails, to %v", len(got), recipients(server))
		}
		m := got[0]
		if m.Header.Get("Bcc") != "" || len(m.Header["Subject"]) != 1 || strings.ContainsAny(m.Subject, "\r\n") {
			t.Errorf("headers %v", m.Header)
		}
		if strings.Contains(m.HTML, "<script>") || !strings.Contains(m.HTML, "&lt;script&gt;") {
			t.Errorf("the name is HTML of the mail:\n%s", m.HTML)
		}
		if !strings.Contains(m.Subject, "{by} {link}") || strings.Count(m.Text, "\nBcc") != 0 {
			t.Errorf("%q\n%s", m.Subject, m.Text)
		}
	})
}

// TestRun checks that a sender at work sends what it is woken for, and what another process has queued.
func TestRun(t *testing.T) {
	each(t, func(t *testing.T, o *office) {
		server := smtptest.Start(t, smtptest.Options{})
		var sender *mail.Sender
		o.Reconfigure(t, func(c *service.Config) { c.OnMail = func() { sender.Wake() } })
		sender = o.sender(t, server, server.URL())
		var running sync.WaitGroup
		running.Go(func() {
			if err := sender.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(running.Wait)
		for i := range 3 {
			to := fmt.Sprintf("user-%d@acme.example", i)
			o.invite(t, to)
			server.Await(t, to, "Invitation")
		}
	})
}

// TestSchedule checks the pauses between attempts.
func TestSchedule(t *testing.T) {
	made := time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC)
	attempts, now := 0, made
	for again := true; again; {
		attempts++
		var next time.Time
		next, again = letter.NextAttempt(attempts, made, now, 0)
		if pause := next.Sub(now); pause < time.Minute || pause > 30*time.Minute {
			t.Fatalf("pause %d is %s", attempts, pause)
		}
		now = next
	}
	if tried := now.Sub(made); tried < 24*time.Hour || tried > 25*time.Hour || attempts < 20 {
		t.Errorf("tried %d times for %s", attempts, tried)
	}
}
