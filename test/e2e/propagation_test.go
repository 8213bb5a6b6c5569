package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// TestRevocation revokes a key in another process while it is in use.
func TestRevocation(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		s := start(t, settings)
		a := s.open(t)
		s.get(t, a.Test.Key, prefix+"/balance").wantStatus(t, http.StatusOK)

		revoking := make(chan struct{})
		go func() {
			defer close(revoking)
			s.CLI(t, new(any), "keys", "revoke", a.Test.ID)
		}()
		for inUse := true; inUse; { // so that the server has cached the key when it is revoked
			select {
			case <-revoking:
				inUse = false
			default:
				s.get(t, a.Test.Key, prefix+"/balance")
			}
		}
		// That a second is enough is tested where the clock is injected.
		must.Eventually(t, time.Minute, "the revoked key is refused", func() bool {
			return s.get(t, a.Test.Key, prefix+"/balance").StatusCode == http.StatusUnauthorized
		})
		s.get(t, a.Test.Key, prefix+"/balance").wantFailure(t, http.StatusUnauthorized, "unauthorized")
		s.get(t, a.Live.Key, prefix+"/balance").wantStatus(t, http.StatusOK)
	})
}

// TestCatalogImport replaces the catalog in another process: the server picks it up, and ETags change.
func TestCatalogImport(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		s := start(t, settings)
		a := s.open(t)
		before := s.get(t, a.Test.Key, brands)
		importContoso(t, s, a, "Fabrikam")
		after := s.get(t, a.Test.Key, brands)
		if before.Header.Get("Etag") == after.Header.Get("Etag") || strings.Contains(string(after.body), "Contoso") {
			t.Errorf("entity tags %s and %s, body %s", before.Header.Get("Etag"), after.Header.Get("Etag"), after.body)
		}
	})
}

const brands = prefix + "/catalog/brands"

// importContoso renames a brand of the catalog and waits until the server shows it.
func importContoso(t *testing.T, s *site, a *account, name string) {
	t.Helper()
	document, err := os.ReadFile(catalogFile)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(changed, []byte(strings.ReplaceAll(string(document), "{en: Contoso}", "{en: "+name+"}")),
		0o600); err != nil {
		t.Fatal(err)
	}
	s.CLI(t, new(any), "catalog", "import", changed)
	must.Eventually(t, time.Minute, "the new catalog is served", func() bool {
		return strings.Contains(string(s.get(t, a.Test.Key, brands).body), name)
	})
}
