package uitest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestAwaitTrue asks a page that gives way to another one while it is asked, and that one before it has what is asked
// for.
func TestAwaitTrue(t *testing.T) {
	requires.Engine(t, "a browser")
	pages := map[string]string{
		"/first": `<!doctype html><title>first</title><link rel=icon href="data:,">`,
		"/second": `<!doctype html><title>second</title><link rel=icon href="data:,">
			<script>setTimeout(() => document.body.innerHTML = "<b>late</b>", 100)</script>`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, pages[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	b := uitest.NewBrowser(t, server.URL)
	b.Open("/first")
	b.AwaitTrue(`document.title === "first" ?
		(location.href = "/second", false) : document.querySelector("b").textContent === "late"`)
	if got := b.Path(); got != "/second" {
		t.Errorf("the browser is at %s", got)
	}
}
