package docs

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestPages opens every page in both themes and languages on all screens, and looks for what keeps people from using
// it.
func TestPages(t *testing.T) {
	requires.Engine(t, "a browser")
	d, handler := site()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	addresses := map[string]string{"docs-search": searchPath + "?q=webhook"}
	for _, path := range d.Pages() {
		uitest.CheckPolicy(t, get(t, "GET", path).Header(), uitest.MediaURL)
		addresses[strings.ReplaceAll(path[1:], "/", "-")] = path
	}
	uitest.NewBrowser(t, server.URL).CheckPages(addresses)
}
