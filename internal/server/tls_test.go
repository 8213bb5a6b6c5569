package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestSelfSigned checks that the certificate is one for every host that the settings name.
func TestSelfSigned(t *testing.T) {
	set := nodeSettings(t, "--public-url", "https://192.0.2.7:8443", "--media-url", "https://photos.example/media")
	_, files, err := set.tlsConfig(time.Now, slog.New(slog.DiscardHandler))
	must.NoError(t, err)
	leaf := files.inForce.Load().Leaf
	for _, host := range []string{"192.0.2.7", "photos.example", "localhost", "127.0.0.1", "::1"} {
		must.NoError(t, leaf.VerifyHostname(host))
	}
	if leaf.VerifyHostname("192.0.2.8") == nil {
		t.Error("it is one for any address")
	}
}

// TestInternationalHost checks that a host that no certificate can name is refused before anything is made, and that
// its xn-- form is taken.
func TestInternationalHost(t *testing.T) {
	for _, name := range []string{"public-url", "media-url"} {
		for domain, refused := range map[string]bool{
			"鑑定.example": true, "%E9%91%91.example": true, "xn--uor38x.example": false,
		} {
			set := nodeSettings(t, "--"+name, "https://"+domain)
			set.Data, set.TLSListen = filepath.Join(set.Data, "new"), "127.0.0.1:0"
			app, err := Start(t.Context(), set, slog.New(slog.DiscardHandler))
			if refused {
				if err == nil || !strings.Contains(err.Error(), "xn--") || host.Exists(set.Data) {
					t.Errorf("--%s %s: %v, made something: %t", name, domain, err, host.Exists(set.Data))
				}
				continue
			}
			must.NoError(t, err)
			s, err := New(t.Context(), app)
			must.NoError(t, err)
			must.NoError(t, s.certificate.inForce.Load().Leaf.VerifyHostname(domain))
			must.NoError(t, s.close())
			must.NoError(t, app.Close())
		}
	}
}

// pair makes a certificate that ends at a time, and writes it and its key to the files that the settings name.
func pair(t *testing.T, set *Settings, ends time.Time) {
	t.Helper()
	dir := t.TempDir()
	must.NoError(t, (&Settings{PublicURL: set.PublicURL}).ensureSelfSigned(
		filepath.Join(dir, "cert"), filepath.Join(dir, "key"), ends.Add(-selfSigned)))
	must.NoError(t, os.Rename(filepath.Join(dir, "cert"), set.TLSCert))
	must.NoError(t, os.Rename(filepath.Join(dir, "key"), set.TLSKey))
}

// pairSettings are settings with a certificate in files that ends at a time.
func pairSettings(t *testing.T, ends time.Time) *Settings {
	t.Helper()
	dir := t.TempDir()
	set := &Settings{TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem")}
	pair(t, set, ends)
	return set
}

// TestRenewedCertificate checks that the files of a certificate are read again, once a minute at most or when asked
// for, and that the former one stays in force while they do not fit.
func TestRenewedCertificate(t *testing.T) {
	began := time.Now().Truncate(time.Second)
	clock, log := fakeclock.New(began), new(child.Output)
	ends := began.Add(100 * 24 * time.Hour)
	set := pairSettings(t, ends)
	config, files, err := set.tlsConfig(clock.Now, slog.New(slog.NewTextHandler(log, nil)))
	must.NoError(t, err)
	want := func(when string, ends time.Time, said string) {
		t.Helper()
		served, err := config.GetCertificate(nil)
		must.NoError(t, err)
		if !served.Leaf.NotAfter.Equal(ends) {
			t.Errorf("%s: served is the one that ends %s, want %s", when, served.Leaf.NotAfter, ends)
		}
		levels := regexp.MustCompile(`level=\w+`).FindAllString(log.String(), -1)
		if got := strings.ReplaceAll(strings.Join(levels, " "), "level=", ""); got != said {
			t.Errorf("%s: the log says %q, want %q:\n%s", when, got, said, log)
		}
	}
	want("at the start", ends, "")

	second := ends.Add(time.Hour)
	pair(t, set, second)
	clock.Advance(time.Minute - 1)
	want("before the minute is over", ends, "")
	clock.Advance(1)
	want("after a minute", second, "INFO")

	third := second.Add(time.Hour)
	kept, err := os.ReadFile(set.TLSKey)
	must.NoError(t, err)
	pair(t, set, third)
	fitting, err := os.ReadFile(set.TLSKey)
	must.NoError(t, err)
	must.NoError(t, os.WriteFile(set.TLSKey, kept, 0o600))
	for range 3 {
		clock.Advance(time.Minute)
		want("with the key of another", second, "INFO ERROR")
	}
	must.NoError(t, os.WriteFile(set.TLSKey, fitting, 0o600))
	want("before it is looked again", second, "INFO ERROR")
	files.look()
	want("when asked for", third, "INFO ERROR INFO")
}

// TestCertificateEnds checks that the end of a certificate is told once a day while the server runs.
func TestCertificateEnds(t *testing.T) {
	began := time.Now().Truncate(time.Second)
	clock, log := fakeclock.New(began), new(child.Output)
	set := pairSettings(t, began.Add(certificateEnds+time.Hour))
	config, _, err := set.tlsConfig(clock.Now, slog.New(slog.NewJSONHandler(log, nil)))
	must.NoError(t, err)
	var want []string
	for _, step := range []struct {
		after time.Duration
		said  string
	}{
		{0, ""},
		{time.Hour - time.Minute, ""},
		{time.Minute, "THE CERTIFICATE ENDS SOON"},
		{23 * time.Hour, ""},
		{time.Hour, "THE CERTIFICATE ENDS SOON"},
		{13*24*time.Hour + time.Minute, "THE CERTIFICATE HAS EXPIRED"},
		{time.Hour, ""},
	} {
		clock.Advance(step.after)
		_, err := config.GetCertificate(nil)
		must.NoError(t, err)
		if step.said != "" {
			want = append(want, step.said)
		}
		if got := loud(t, log); got != strings.Join(want, ", ") {
			t.Errorf("%s after the start: warned of %q, want %q", clock.Now().Sub(began), got, want)
		}
	}
	pair(t, set, clock.Now().Add(selfSigned))
	clock.Advance(24 * time.Hour)
	_, err = config.GetCertificate(nil)
	must.NoError(t, err)
	if got := loud(t, log); got != strings.Join(want, ", ") {
		t.Errorf("a certificate that was renewed is warned of: %q", got)
	}
}

// TestRereadCertificate checks that clients get the certificate that has replaced another.
func TestRereadCertificate(t *testing.T) {
	began := time.Now().Truncate(time.Second)
	files := pairSettings(t, began.Add(100*24*time.Hour))
	s, _ := startWith(t, func(set *Settings) { set.TLSCert, set.TLSKey = files.TLSCert, files.TLSKey })
	second := began.Add(200 * 24 * time.Hour)
	pair(t, files, second)
	s.RereadCertificate()
	address := "https://" + s.listener["tls-listen"].Addr().String() + "/docs"
	if got := get(t, address, nil).TLS.PeerCertificates[0].NotAfter; !got.Equal(second) {
		t.Errorf("the certificate that is served ends %s, want %s", got, second)
	}
}
