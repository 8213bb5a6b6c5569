package e2e_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// TestLockedOut lets the operator help people who have lost what they sign in with: the only administrator too, whom
// nobody else could help.
func TestLockedOut(t *testing.T) {
	t.Parallel()
	s := start(t, program.Settings{})
	a := s.open(t)
	r := &secretRun{t: t, site: s, secrets: map[string]string{}}
	var staff struct{ Password, Token string }
	s.CLI(t, &staff, "staff", "create", "--email", "boss@desk.example", "--name", "Boss", "--role", "admin")
	signIn := func(base, email, password string) string { // returns where it leads
		t.Helper()
		jar, err := cookiejar.New(nil)
		must.NoError(t, err)
		browser := &http.Client{
			Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		answer, err := browser.PostForm(s.URL(base+"/sign-in"), url.Values{"email": {email}, "password": {password}})
		must.NoError(t, err)
		must.NoError(t, answer.Body.Close())
		return answer.Header.Get("Location")
	}
	for base, who := range map[string]struct{ group, email, password, settings string }{
		"/desk":   {"staff", "boss@desk.example", staff.Password, "/desk/me"},
		"/portal": {"accounts", "owner@acme.example", a.Password, "/portal/settings"},
	} {
		r.secondFactor(r.signIn(base, who.email, who.password, base), who.settings, who.password)
		if to := signIn(base, who.email, who.password); to != base+"/sign-in/code" {
			t.Errorf("%s: a second factor leads to %q", base, to)
		}
		var reset struct{ Email string }
		s.CLI(t, &reset, who.group, "reset-second-factor", "--email", strings.ToUpper(who.email[:1])+who.email[1:])
		if to := signIn(base, who.email, who.password); reset.Email != who.email || to != base {
			t.Errorf("%s: without it to %q, %+v", base, to, reset)
		}
	}
	var fresh struct{ Password string }
	s.CLI(t, &fresh, "staff", "reset-password", "--email", "boss@desk.example")
	if to := signIn("/desk", "boss@desk.example", staff.Password); to != "" {
		t.Errorf("the old password leads to %q", to)
	}
	if to := signIn("/desk", "boss@desk.example", fresh.Password); to != "/desk" {
		t.Errorf("the new password leads to %q", to)
	}
	s.get(t, staff.Token, "/v1/desk/orders").wantStatus(t, http.StatusUnauthorized)
	for _, command := range []string{"accounts reset-second-factor", "staff reset-second-factor", "staff reset-password"} {
		words := append(strings.Fields(command), "--email", "nobody@x.example")
		if out := s.Installation().Run(t, words...); out.ExitCode != 1 || !strings.Contains(out.Stderr, "nobody@x.example") {
			t.Errorf("%s: %+v", command, out)
		}
	}
}
