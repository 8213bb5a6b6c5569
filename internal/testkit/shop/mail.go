package shop

import (
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
)

// NextMail sends the mail that waits the longest; nil: none waits.
func (i *Installation) NextMail(t testing.TB) *service.OutgoingMail {
	t.Helper()
	m, err := i.Service.NextMail(t.Context())
	must.NoError(t, err)
	if m != nil {
		must.NoError(t, i.Service.MailSent(t.Context(), m))
	}
	return m
}

// Mails sends all mail that waits.
func (i *Installation) Mails(t testing.TB) []*service.OutgoingMail {
	t.Helper()
	var all []*service.OutgoingMail
	for m := i.NextMail(t); m != nil; m = i.NextMail(t) {
		all = append(all, m)
	}
	return all
}

// WantMails sends all mail that waits and checks its kinds and receivers, in any order.
func (i *Installation) WantMails(t testing.TB, want ...string) []*service.OutgoingMail {
	t.Helper()
	all := i.Mails(t)
	var got []string
	for _, m := range all {
		got = append(got, string(m.Kind)+" "+m.To)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("posted %q, want %q", got, want)
	}
	return all
}
