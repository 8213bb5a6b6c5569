package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// TestShownSettings checks that no setting shows a secret, and that a new one shows nothing by default.
func TestShownSettings(t *testing.T) {
	const secret = "hunter2"
	var s Settings
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	s.Bind(fs)
	for name, value := range map[string]string{
		"database": "postgres://assay:" + secret + "@db.example:5432/assay?sslpassword=" + secret, "secret-key": secret,
		"smtp-url": "smtps://mail:" + secret + "@mail.example:465", "webhook-timeout": "3s",
	} {
		if err := fs.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	shown := make(map[string]string)
	for _, x := range s.shown() {
		shown[x.Name] = x.Value
		if strings.Contains(x.Value, secret) {
			t.Errorf("--%s shows %q", x.Name, x.Value)
		}
		if x.Default == slices.Contains([]string{"database", "secret-key", "smtp-url", "webhook-timeout"}, x.Name) {
			t.Errorf("--%s is the default: %t", x.Name, x.Default)
		}
	}
	for name, want := range map[string]string{
		"database": "postgres://db.example:5432/assay", "secret-key": "***", "smtp-url": "smtps://mail.example:465",
		"webhook-timeout": "3s", "max-photo-bytes": "10MiB", "public-url": "http://localhost:8080",
	} {
		if shown[name] != want {
			t.Errorf("--%s is shown as %q, want %q", name, shown[name], want)
		}
	}
	fs.VisitAll(func(f *flag.Flag) {
		if _, ok := shown[f.Name]; !ok {
			t.Errorf("--%s is not shown", f.Name)
		}
	})
	if got := withoutSecrets("s3://" + secret + ":" + secret + "@bucket?secret_key=" + secret); got != "s3://bucket" {
		t.Errorf("an address is shown as %q", got)
	}
	for _, odd := range []string{
		"user:" + secret + "@host", "postgres:" + secret, "host=db password=" + secret, "%zz" + secret,
	} {
		if got := withoutSecrets(odd); strings.Contains(got, secret) {
			t.Errorf("%q is shown as %q", odd, got)
		}
	}
}

// failing is a worker that fails at once, twice.
type failing struct{ runs int }

func (f *failing) Name() string { return "failing" }

func (f *failing) Run(ctx context.Context) error {
	if f.runs++; f.runs <= 2 {
		return errors.New("no luck")
	}
	<-ctx.Done()
	return nil
}

func TestWorkerHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{app: &App{Log: slog.New(slog.DiscardHandler)}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.supervise(ctx, new(failing)) }()
		synctest.Wait()
		list := s.health.list()
		if len(list) != 1 || list[0].Name != "failing" {
			t.Fatalf("got %+v", list)
		}
		if w := list[0]; w.Running || w.Failures != 1 || w.FailedAt == nil || w.Cause != "no luck" {
			t.Errorf("after the first failure: %+v", w)
		}
		time.Sleep(firstPause + 2*firstPause) // the time of the bubble
		synctest.Wait()
		if w := s.health.list(); w[0].Failing() || w[0].Failures != 2 || !w[0].Since.After(*w[0].FailedAt) {
			t.Errorf("when it runs: %+v", w)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestFailedRound checks that the system page tells of a round of housekeeping that failed until one succeeds, and
// that the node is ready all the while.
func TestFailedRound(t *testing.T) {
	set := nodeSettings(t, "--claim-expiry", "10s", "--require-second-factor", "none")
	s := run(t, set, slog.New(slog.DiscardHandler))
	staff, err := s.app.Service.CreateStaff(t.Context(), access.Operator, "aoi@example.com", "Aoi", access.Admin)
	must.NoError(t, err)
	_, token, err := s.app.Service.StartSession(t.Context(), access.Desk, staff.Staff.ID, access.Origin{})
	must.NoError(t, err)
	page := func() string {
		r := must.Request(t, http.MethodGet, s.BaseURL()+"/desk/admin/system", http.NoBody)
		r.AddCookie(&http.Cookie{Name: "assay_desk", Value: token})
		answer, body := must.Do(t, http.DefaultClient, r)
		expect.Equal(t, "status", answer.StatusCode, http.StatusOK)
		return string(body)
	}
	const failed, cause = "Last round failed", "uploaded catalogs forgotten: "
	if got := page(); strings.Contains(got, failed) {
		t.Errorf("before anything fails: %s", got)
	}
	database := filepath.Join(set.Data, "assay.db")
	rawsql.Exec(t, database, "ALTER TABLE catalog_drafts RENAME TO gone")
	must.Eventually(t, time.Minute, "the page says that a round has failed, and why", func() bool {
		got := page()
		return strings.Contains(got, failed) && strings.Contains(got, cause) && !strings.Contains(got, "All systems")
	})
	wantReady(t, s, "", "")
	rawsql.Exec(t, database, "ALTER TABLE gone RENAME TO catalog_drafts")
	must.Eventually(t, time.Minute, "the page says that all is well", func() bool {
		got := page()
		return !strings.Contains(got, failed) && !strings.Contains(got, cause)
	})
}

// TestShortCause checks what administrators are told of failures.
func TestShortCause(t *testing.T) {
	gone := fault.UnavailableError(errors.New("dial tcp 10.0.0.7:5432: connection refused"))
	for _, test := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("disk full"), "disk full"},
		{errors.New("panic: no\ngoroutine 7 [running]"), "panic: no …"},
		{
			errors.Join(fmt.Errorf("claims returned: %w", gone), errors.New("sessions ended: x")),
			"claims returned: " + gone.Error() + ": dial tcp 10.0.0.7:5432: connection refused …",
		},
		{errors.Join(errors.New("claims returned: x"), fmt.Errorf("sessions ended: %w", gone)), "claims returned: x …"},
		{
			errors.New(`Get "https://key:hunter2@bucket.example/a?X-Amz-Signature=hunter2": EOF`),
			`Get "https://bucket.example/a": EOF`,
		},
		{errors.New(strings.Repeat("長", 300)), strings.Repeat("長", 199) + "…"},
	} {
		expect.Equal(t, "cause", shortCause(test.err), test.want)
	}
}
