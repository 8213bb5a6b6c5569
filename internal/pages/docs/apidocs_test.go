package docs

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
)

func get(t *testing.T, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler("https://assay.example", http.NotFoundHandler()).ServeHTTP(w, r)
	return w
}

// eachPage runs a test on both reference pages.
func eachPage(t *testing.T, test func(t *testing.T, html string, d *spec.Document)) {
	t.Helper()
	t.Run("Integration", func(t *testing.T) { test(t, get(t, "GET", "/docs").Body.String(), api.Integration()) })
	t.Run("Desk", func(t *testing.T) { test(t, get(t, "GET", "/docs/desk").Body.String(), api.Desk()) })
}

func TestPageShowsEverything(t *testing.T) {
	eachPage(t, func(t *testing.T, html string, d *spec.Document) {
		for _, op := range slices.Concat(d.Operations, d.Webhooks) {
			start := strings.Index(html, `id="`+op.ID+`"`)
			if start < 0 {
				t.Errorf("%s is not on the page", op.ID)
				continue
			}
			article, _, _ := strings.Cut(html[start:], "</article>")
			for _, p := range op.Parameters {
				if !strings.Contains(article, `<code class="name">`+p.Name+`</code>`) {
					t.Errorf("%s does not show the parameter %s", op.ID, p.Name)
				}
			}
			for _, r := range op.Responses {
				for _, code := range r.Codes() {
					if !strings.Contains(article, "<code>"+code+"</code>") {
						t.Errorf("%s does not show the code %s", op.ID, code)
					}
				}
			}
		}
		if strings.Contains(html, "ZgotmplZ") {
			t.Error("the template refused a value")
		}
	})
}

func TestPageIsSelfContained(t *testing.T) {
	eachPage(t, func(t *testing.T, html string, _ *spec.Document) {
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
			target := m[1]
			if id, local := strings.CutPrefix(target, "#"); local {
				if !strings.Contains(html, `id="`+id+`"`) {
					t.Errorf("nothing has the id %s", id)
				}
				continue
			}
			if w := get(t, "GET", target); w.Code != http.StatusOK {
				t.Errorf("%s answers %d", target, w.Code)
			}
		}
		if m := regexp.MustCompile(`<script>|<style|\sstyle="|\son[a-z]+="`).FindString(html); m != "" {
			t.Errorf("the content policy forbids %q", m)
		}
	})
}

func TestHandler(t *testing.T) {
	t.Run("StrictPolicy", func(t *testing.T) {
		policy := get(t, "GET", "/docs").Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("policy is %q", policy)
		}
	})
	t.Run("ContentTypes", func(t *testing.T) {
		for path, want := range map[string]string{
			"/docs": htmlType, "/docs/": htmlType, "/docs/desk": htmlType,
			"/docs/openapi.json": jsonType, "/docs/openapi.yaml": yamlType, "/docs/desk.json": jsonType,
			"/docs/desk.yaml": yamlType, "/docs/reference.css": "text/css; charset=utf-8",
			"/docs/reference.js": "text/javascript; charset=utf-8",
		} {
			w := get(t, "GET", path)
			if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != want || w.Body.Len() == 0 {
				t.Errorf("%s answers %d with %q and %d bytes", path, w.Code, got, w.Body.Len())
			}
		}
	})
	t.Run("NotModified", func(t *testing.T) {
		etag := get(t, "GET", "/docs").Header().Get("ETag")
		if w := get(t, "GET", "/docs", "If-None-Match", etag); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("answers %d with %d bytes", w.Code, w.Body.Len())
		}
	})
	t.Run("Head", func(t *testing.T) {
		if w := get(t, "HEAD", "/docs"); w.Code != http.StatusOK || w.Body.Len() > 0 {
			t.Errorf("answers %d with %d bytes", w.Code, w.Body.Len())
		}
	})
	t.Run("UnknownPath", func(t *testing.T) {
		if w := get(t, "GET", "/docs/templates/page.html"); w.Code != http.StatusNotFound {
			t.Errorf("answers %d", w.Code)
		}
	})
	t.Run("OtherMethod", func(t *testing.T) {
		if w := get(t, "POST", "/docs"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("answers %d", w.Code)
		}
	})
}
