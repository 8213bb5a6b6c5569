package mail_test

import (
	"fmt"
	"log/slog"
	netmail "net/mail"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/smtptest"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/worker/mail"
	"github.com/prometheus/client_golang/prometheus"
)

// office is a service that sends mail, with the owner of an account. Nothing is sent before a round.
type office struct {
	*shop.Shop
	Owner *service.Member
	log   child.Output
}

// each runs a test on every engine.
func each(t *testing.T, f func(t *testing.T, o *office)) {
	t.Helper()
	storetest.EachTarget(t, func(t *testing.T, target string) { f(t, newOffice(t, target)) })
}

func newOffice(t *testing.T, target string) *office {
	t.Helper()
	o := &office{Shop: shop.New(t, target, shop.WithMail)}
	u, err := o.Store.Owner(t.Context(), o.Account.ID)
	must.NoError(t, err)
	o.Owner, err = o.Service.MemberOfSession(t.Context(), u.ID)
	must.NoError(t, err)
	return o
}

// sender returns a sender for the server, by its URL or the given address.
func (o *office) sender(t *testing.T, s *smtptest.Server, address string) *mail.Sender {
	t.Helper()
	return o.senderOf(t, o.Service, s, address, nil)
}

func (o *office) senderOf(t *testing.T, sv *service.Service, s *smtptest.Server, address string,
	r prometheus.Registerer,
) *mail.Sender {
	t.Helper()
	server, err := mail.ParseServer(address)
	must.NoError(t, err)
	c := mail.Config{
		Service: sv, Server: server, Now: o.Clock.Now, From: &netmail.Address{Name: "Assay 鑑定", Address: "assay@mail.test"},
		Log: slog.New(slog.NewTextHandler(&o.log, nil)), Metrics: r,
	}
	if s != nil {
		c.RootCAs, err = netguard.LoadCAs(s.CAFile)
		must.NoError(t, err)
	}
	return mail.New(c)
}

func (o *office) invite(t *testing.T, email string) {
	t.Helper()
	address, err := o.Service.Invite(t.Context(), o.Owner.Actor("", access.Origin{}), email, access.Developer)
	must.NoError(t, err)
	if address != "" {
		t.Fatal("the link of an invitation by mail is shown")
	}
}

func round(t *testing.T, s *mail.Sender) {
	t.Helper()
	must.NoError(t, s.Round(t.Context()))
}

// queue returns the rows of the queue: attempts, failure and sealed content.
func (o *office) queue(t *testing.T) [][]string {
	t.Helper()
	return rawsql.Rows(t, o.Target, "SELECT attempts, failure, sealed FROM mails ORDER BY id")
}

func (o *office) wantQueue(t *testing.T, rows int) {
	t.Helper()
	if found := o.queue(t); len(found) != rows {
		t.Fatalf("the queue is %q, want %d rows", found, rows)
	}
}

// second opens the same database as another node.
func (o *office) second(t *testing.T) (*service.Service, *store.Store) {
	t.Helper()
	st, err := store.Open(t.Context(), o.Target)
	must.NoError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	c := o.Config
	c.Store = st
	return service.New(c), st
}

// wantLog fails unless the log has the words and lacks what must not be in it.
func (o *office) wantLog(t *testing.T, words ...string) {
	t.Helper()
	text := o.log.String()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("the log does not say %q:\n%s", w, text)
		}
	}
	for _, secret := range []string{"@acme.example", "token=", smtptest.Password, "user unknown"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log tells %q:\n%s", secret, text)
		}
	}
}

func recipients(s *smtptest.Server) map[string]int {
	counts := make(map[string]int)
	for _, m := range s.Mail() {
		counts[fmt.Sprint(m.To)]++
	}
	return counts
}
