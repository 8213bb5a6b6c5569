package docs

import (
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// handler serves the reference with everything that its pages need.
var handler = sync.OnceValue(func() http.Handler {
	site, err := ui.New(ui.Config{Now: time.Now, PublicURL: "https://assay.example", MediaURL: uitest.MediaURL}, Area)
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	site.Routes(mux)
	New(site).Routes(mux)
	return site.Wrap(mux)
})

func get(t *testing.T, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, r)
	return w
}

// eachPage runs a test on both reference pages.
func eachPage(t *testing.T, test func(t *testing.T, page string, d *spec.Document)) {
	t.Helper()
	t.Run("Integration", func(t *testing.T) { test(t, get(t, "GET", "/docs").Body.String(), api.Integration()) })
	t.Run("Desk", func(t *testing.T) { test(t, get(t, "GET", "/docs/desk").Body.String(), api.Desk()) })
}

func TestPageShowsEverything(t *testing.T) {
	eachPage(t, func(t *testing.T, page string, d *spec.Document) {
		for _, op := range slices.Concat(d.Operations, d.Webhooks) {
			start := strings.Index(page, `id="`+op.ID+`"`)
			if start < 0 {
				t.Errorf("%s is not on the page", op.ID)
				continue
			}
			article, _, _ := strings.Cut(page[start:], "</article>")
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
		if strings.Contains(page, "ZgotmplZ") {
			t.Error("the template refused a value")
		}
	})
}

func TestPageIsSelfContained(t *testing.T) {
	eachPage(t, func(t *testing.T, page string, _ *spec.Document) {
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			target := html.UnescapeString(m[1])
			if id, local := strings.CutPrefix(target, "#"); local {
				if !strings.Contains(page, `id="`+id+`"`) {
					t.Errorf("nothing has the id %s", id)
				}
				continue
			}
			if w := get(t, "GET", target); w.Code != http.StatusOK {
				t.Errorf("%s answers %d", target, w.Code)
			}
		}
		if m := regexp.MustCompile(`<script>|<style|\sstyle="|\son[a-z]+="`).FindString(page); m != "" {
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
			"/docs/desk.yaml": yamlType, "/docs/openapi-3.0.json": jsonType,
		} {
			w := get(t, "GET", path)
			if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != want || w.Body.Len() == 0 {
				t.Errorf("%s answers %d with %q and %d bytes", path, w.Code, got, w.Body.Len())
			}
		}
	})
	t.Run("NotModified", func(t *testing.T) {
		etag := get(t, "GET", "/docs/openapi.json").Header().Get("ETag")
		w := get(t, "GET", "/docs/openapi.json", "If-None-Match", etag)
		if w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("answers %d with %d bytes", w.Code, w.Body.Len())
		}
	})
	t.Run("Head", func(t *testing.T) {
		if w := get(t, "HEAD", "/docs/openapi.json"); w.Code != http.StatusOK || w.Body.Len() > 0 {
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

// TestLanguages checks that the frame and the labels are in the language of the reader, and that what the documents say
// is marked as English.
func TestLanguages(t *testing.T) {
	for lang, want := range map[string][]string{
		"en": {`<html lang="en"`, "Parameters", "Request body", "Base URL"},
		"ja": {`<html lang="ja"`, "パラメーター", "リクエスト本文", "ベース URL", "説明文は英語です。", `<h1 lang="en">`},
	} {
		for path := range pages {
			page := get(t, "GET", path+"?lang="+lang).Body.String()
			for _, words := range want {
				if !strings.Contains(page, words) {
					t.Errorf("%s in %s does not say %s", path, lang, words)
				}
			}
		}
	}
}

// TestMessages checks that every text is used: by the shell, or by the templates of the reference.
func TestMessages(t *testing.T) {
	used := []string{"docs.area", "docs.nav."}
	names, err := fs.Glob(reference, "reference/*.html")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(reference, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`t "(docs\.[a-z_.0-9]+)"`).FindAllStringSubmatch(string(content), -1) {
			used = append(used, m[1])
		}
	}
	uitest.CheckMessages(t, uitest.Site(t, time.Now, Area), Area.Name, []string{"."}, used...)
}
