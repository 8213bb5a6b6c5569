package server

import (
	"testing"
	"time"

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
