package server

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestSelfSigned checks that the certificate is one for every host that the settings name.
func TestSelfSigned(t *testing.T) {
	set := nodeSettings(t, "--public-url", "https://192.0.2.7:8443", "--media-url", "https://photos.example/media")
	config, err := set.tlsConfig(time.Now())
	must.NoError(t, err)
	leaf := config.Certificates[0].Leaf
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
			must.NoError(t, s.servers[1].TLSConfig.Certificates[0].Leaf.VerifyHostname(domain))
			must.NoError(t, s.close())
			must.NoError(t, app.Close())
		}
	}
}
