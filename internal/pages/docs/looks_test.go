package docs

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/need"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestPages opens every page of the reference in both themes on all screens, and looks for what keeps people from using
// it.
func TestPages(t *testing.T) {
	need.Engine(t, "a browser")
	all, err := newResources("https://assay.example")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(Handler("https://assay.example", http.NotFoundHandler()))
	t.Cleanup(server.Close)
	pages := make(map[string]string)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		answer := get(t, "GET", path)
		uitest.CheckPolicy(t, answer.Header(), "")
		if all[path].contentType == htmlType && path != Path+"/" {
			pages[strings.ReplaceAll(path[1:], "/", "-")] = path
		}
	}
	if len(pages) != 2 {
		t.Errorf("pages %v", pages)
	}
	uitest.NewBrowser(t, server.URL).CheckPages(pages)
}
