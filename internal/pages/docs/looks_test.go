package docs

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/need"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestPages opens every page of the reference in both themes and languages on all screens, and looks for what keeps
// people from using it.
func TestPages(t *testing.T) {
	need.Engine(t, "a browser")
	server := httptest.NewServer(handler())
	t.Cleanup(server.Close)
	addresses := make(map[string]string)
	for path := range pages {
		uitest.CheckPolicy(t, get(t, "GET", path).Header(), uitest.MediaURL)
		addresses[strings.ReplaceAll(path[1:], "/", "-")] = path
	}
	uitest.NewBrowser(t, server.URL).CheckPages(addresses)
}
