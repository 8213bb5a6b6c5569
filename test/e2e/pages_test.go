package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestPages opens the main pages of the complete program. The browser fails the test if a page logs an error,
// violates the content security policy or makes requests to another origin; the policy itself is checked, too.
func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t, program.Settings{"secret-key": secretKey}, "--demo=empty")
	must.Eventually(t, time.Minute, "the demo is printed", func() bool { return strings.Contains(s.Stdout(), "curl") })
	passwords := passwordPattern.FindAllStringSubmatch(s.Stdout(), -1) // owner, reviewer, administrator
	policy := func(paths ...string) {
		t.Helper()
		for _, path := range paths {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(path), http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
				t.Errorf("%s is %q", path, res.Header.Get("Content-Type"))
			}
			uitest.CheckPolicy(t, res.Header, "https://"+publicHost+"/media")
		}
	}
	policy("/", "/portal/sign-in", "/desk/sign-in", "/docs", "/docs/desk", "/certificates/nothing", "/docs/nothing",
		"/nothing", "/portal/nothing", "/desk/nothing")

	b := uitest.NewBrowser(t, s.URL(""))
	signIn := func(home, email, password string) {
		b.Open(home + "/sign-in?lang=en")
		b.Fill("#f-email", email)
		b.Fill("#f-password", password)
		b.Follow(".signin .primary")
	}
	signIn("/portal", "owner@demo.example", passwords[0][1])
	signIn("/desk", "admin@demo.example", passwords[2][1])
	for _, path := range []string{
		"/docs", "/docs/desk", "/portal/test", "/portal/live/orders", "/portal/keys", "/portal/test/sandbox",
		"/portal/test/webhooks", "/portal/audit", "/portal/team", "/portal/settings", "/desk", "/desk/me",
		"/desk/admin/statistics", "/desk/admin/accounts", "/desk/admin/catalog", "/desk/admin/deliveries",
		"/desk/admin/certificates", "/desk/admin/staff", "/desk/admin/log", "/desk/admin/system",
	} {
		b.Open(path)
		if got := b.Path(); got != path {
			t.Errorf("%s leads to %s", path, got)
		}
	}
	if page := b.Text("main"); strings.Contains(page, secretKey) || !strings.Contains(page, "--secret-key") ||
		!strings.Contains(page, "All systems operational") {
		t.Errorf("the page of the system says\n%s", page)
	}
	b.Open("/desk/admin/log?staff=operator") // the demo was made at the command line
	if page := b.Text("main"); !strings.Contains(page, "Account created") ||
		!strings.Contains(page, "Staff user created") {
		t.Errorf("the log of administration says\n%s", page)
	}
}
