package docs

import (
	"encoding/json"
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/docs/guides"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

const publicURL = "https://assay.example"

// site is the documentation with everything that its pages need.
var site = sync.OnceValues(func() (*Docs, http.Handler) {
	site, err := ui.New(ui.Config{Now: time.Now, PublicURL: publicURL, MediaURL: uitest.MediaURL}, Area)
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	site.Routes(mux)
	d := New(site)
	d.Routes(mux)
	return d, site.Wrap(mux)
})

func get(t *testing.T, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	_, handler := site()
	handler.ServeHTTP(w, r)
	return w
}

// pagesOf returns the HTML of all pages in a language, by their addresses.
func pagesOf(t *testing.T, l text.Locale) map[string]string {
	t.Helper()
	out := make(map[string]string)
	d, _ := site()
	for _, path := range append(d.Pages(), searchPath) {
		w := get(t, "GET", path+"?lang="+string(l))
		if w.Code != http.StatusOK {
			t.Errorf("%s answers %d: %s", path, w.Code, w.Body)
		}
		out[path] = w.Body.String()
	}
	return out
}

// TestReferenceShowsEverything checks that each operation has its parameters, codes, a sample in every language and,
// with a Test environment, a form to try it.
func TestReferenceShowsEverything(t *testing.T) {
	pages := pagesOf(t, text.English)
	check := func(page string, op *spec.Operation, tried bool) {
		start := strings.Index(page, `id="`+op.ID+`"`)
		if start < 0 {
			t.Errorf("%s is not on its page", op.ID)
			return
		}
		article, _, _ := strings.Cut(page[start:], "</section>")
		for _, p := range op.Parameters {
			if !strings.Contains(article, `<code class="name">`+p.Name+`</code>`) {
				t.Errorf("%s does not show the parameter %s", op.ID, p.Name)
			}
		}
		for _, r := range op.Responses {
			for _, code := range r.Codes() {
				if !strings.Contains(article, "<code>"+code+"</code>") ||
					!strings.Contains(article, `href="`+ui.ErrorURL(code)+`"`) {
					t.Errorf("%s does not show the code %s", op.ID, code)
				}
			}
		}
		if !tried {
			return
		}
		for _, l := range languages {
			if !strings.Contains(article, `data-language="`+l.Name+`"`) {
				t.Errorf("%s has no sample in %s", op.ID, l.Label)
			}
		}
		head, _, _ := strings.Cut(article, "</h2>")
		if isAddition(op.Description) != strings.Contains(head, ">Addition</span>") {
			t.Errorf("%s: the mark of an addition is wrong", op.ID)
		}
	}
	for _, op := range api.Integration().Operations {
		check(pages[tagPath(op.Tag)], op, true)
		if !strings.Contains(pages[tagPath(op.Tag)], `data-path="`+op.Path+`"`) {
			t.Errorf("%s cannot be tried", op.ID)
		}
	}
	for _, op := range api.Integration().Webhooks {
		check(pages[tagPath(op.Tag)], op, false)
	}
	for _, op := range api.Desk().Operations {
		check(pages[deskPath], op, true)
	}
	if strings.Contains(pages[deskPath], "data-try") {
		t.Error("the desk has no Test environment to try")
	}
	var names []string
	for _, tag := range api.Integration().Tags {
		names = append(names, tag.Name)
	}
	if !slices.Equal(names, tags) {
		t.Errorf("the tags of the document are %q", names)
	}
}

// TestLinks checks that every address on every page, with its anchor, leads somewhere.
func TestLinks(t *testing.T) {
	elsewhere := map[string]bool{"/": true, "/portal": true, "/preferences": true}
	for _, l := range text.Locales {
		pages := pagesOf(t, l)
		answered := make(map[string]bool)
		for path, page := range pages {
			if strings.Contains(page, "ZgotmplZ") {
				t.Errorf("%s: the template refused a value", path)
			}
			if m := regexp.MustCompile(`<script>|<style|\sstyle="|\son[a-z]+="`).FindString(page); m != "" {
				t.Errorf("%s: the content policy forbids %q", path, m)
			}
			for _, m := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				target, err := url.Parse(html.UnescapeString(m[1]))
				if err != nil {
					t.Fatal(err)
				}
				if target.Path == "" {
					target.Path = path
				}
				other, known := pages[strings.TrimSuffix(target.Path, "/")]
				if target.Fragment != "" && (!known || !strings.Contains(other, `id="`+target.Fragment+`"`)) {
					t.Errorf("%s (%s): nothing at %s has the id %s", path, l, target.Path, target.Fragment)
				}
				if known || elsewhere[target.Path] || answered[target.Path] {
					continue
				}
				answered[target.Path] = true
				if w := get(t, "GET", target.Path); w.Code != http.StatusOK || target.Host != "" {
					t.Errorf("%s: %s answers %d", path, m[1], w.Code)
				}
			}
			ids := make(map[string]bool)
			for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				if ids[m[1]] {
					t.Errorf("%s: two elements have the id %s", path, m[1])
				}
				ids[m[1]] = true
			}
		}
	}
}

// TestGuidesAgree checks that a guide has the same headings, code and links in every language.
func TestGuidesAgree(t *testing.T) {
	comment := regexp.MustCompile(`(?m)\s*(//|#) .*$`)
	fences := regexp.MustCompile("(?s)```[^\n]*\n.*?\n```")
	destinations := regexp.MustCompile(`\]\(([^)]*)\)`)
	outline := func(content string) (levels, codes, targets []string) {
		for _, m := range fences.FindAllString(content, -1) {
			codes = append(codes, comment.ReplaceAllString(m, ""))
		}
		content = fences.ReplaceAllString(content, "")
		levels = regexp.MustCompile(`(?m)^#+ `).FindAllString(content, -1)
		for _, m := range destinations.FindAllStringSubmatch(content, -1) {
			targets = append(targets, m[1])
		}
		slices.Sort(targets)
		return levels, codes, targets
	}
	for _, name := range guides.Names() {
		english, err := guides.Read(name, text.English)
		if err != nil {
			t.Fatal(err)
		}
		other, err := guides.Read(name, text.Japanese)
		if err != nil {
			t.Fatal(err)
		}
		levels, codes, targets := outline(string(english))
		otherLevels, otherCodes, otherTargets := outline(string(other))
		if !slices.Equal(levels, otherLevels) {
			t.Errorf("%s: the headings are %q and %q", name, levels, otherLevels)
		}
		for i := range codes {
			if i >= len(otherCodes) || codes[i] != otherCodes[i] {
				t.Errorf("%s: code %d differs: %s", name, i, codes[i])
			}
		}
		if !slices.Equal(targets, otherTargets) {
			t.Errorf("%s: the links are\n%q\nand\n%q", name, targets, otherTargets)
		}
	}
}

// TestOverviewListsGuides checks that the overview leads to every guide once: in the file by a list, on the site by
// cards in its place.
func TestOverviewListsGuides(t *testing.T) {
	for _, l := range text.Locales {
		content, err := guides.Read(guides.Overview, l)
		if err != nil {
			t.Fatal(err)
		}
		list := "\n\n"
		page := get(t, "GET", Path+"?lang="+string(l)).Body.String()
		_, page, _ = strings.Cut(page, `id="all-guides"`)
		page, _, _ = strings.Cut(page, "</article>")
		for _, name := range guides.Names()[1:] {
			list += "- [" + guideTitle(name, l) + "](" + name + ".md)\n"
			if n := strings.Count(page, `href="`+address(name)+`"`); n != 1 {
				t.Errorf("%s: below All guides %s stands %d times", l, name, n)
			}
		}
		if !strings.HasSuffix(string(content), list) {
			t.Errorf("%s: the overview does not end with\n%s", l, list)
		}
	}
}

// TestErrorCodes holds the guide of errors against the documents: each code has its heading, in every language, and
// there are no others.
func TestErrorCodes(t *testing.T) {
	d, _ := site()
	for _, l := range text.Locales {
		g, err := d.readGuide("errors", l)
		if err != nil {
			t.Fatal(err)
		}
		var explained []string
		for _, s := range g.Sections {
			if s.Level == 3 {
				explained = append(explained, s.Title)
				if ui.ErrorURL(s.Title) != "/docs/errors#"+s.ID {
					t.Errorf("%s is at %s", s.Title, s.ID)
				}
				if !strings.Contains(string(g.Body), `id="`+s.Title+`"`) {
					t.Errorf("nothing has the id %s as it is written", s.Title)
				}
			}
		}
		slices.SortFunc(explained, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
		if want := Codes(); !slices.Equal(explained, want) {
			t.Errorf("%s: the guide explains\n%q\nthe documents have\n%q", l, explained, want)
		}
	}
}

func TestHandler(t *testing.T) {
	t.Run("StrictPolicy", func(t *testing.T) {
		policy := get(t, "GET", "/docs").Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("policy is %q", policy)
		}
	})
	t.Run("ContentTypes", func(t *testing.T) {
		const htmlType = "text/html; charset=utf-8"
		for path, want := range map[string]string{
			"/docs": htmlType, "/docs/": htmlType, "/docs/desk": htmlType, "/docs/reference/orders": htmlType,
			"/docs/openapi.json": jsonType, "/docs/openapi.yaml": yamlType, "/docs/desk.json": jsonType,
			"/docs/desk.yaml": yamlType, "/docs/openapi-3.0.json": jsonType, "/docs/postman.json": jsonType,
			"/docs/webhooks.md": markdownType, "/docs/sample.jpg": "image/jpeg",
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
	t.Run("OwnAddress", func(t *testing.T) { // of the service, not that of samples
		for path, page := range pagesOf(t, text.English) {
			if strings.Contains(page, "127.0.0.1:8080") || strings.Contains(page, "localhost:8080") {
				t.Errorf("%s names another address", path)
			}
		}
	})
}

// TestLanguages checks that pages are in the language of the reader, and that what the documents say is marked as
// English.
func TestLanguages(t *testing.T) {
	for lang, want := range map[text.Locale][]string{
		text.English: {`<html lang="en"`, "Parameters", "Request body", "Create an order"},
		text.Japanese: {
			`<html lang="ja"`, "パラメーター", "リクエスト本文", "操作の詳しい説明は英語です。", "注文を作成",
			`lang="en"`, "商品のブランド。", "文字以下", " または null",
		},
	} {
		page := pagesOf(t, lang)[tagPath("Orders")]
		for _, words := range want {
			if !strings.Contains(page, words) {
				t.Errorf("the orders in %s do not say %s", lang, words)
			}
		}
	}
	for _, d := range []*spec.Document{api.Integration(), api.Desk()} {
		for _, op := range slices.Concat(d.Operations, d.Webhooks) {
			if w := japaneseOperations()[op.ID]; w.Summary == "" || w.About == "" {
				t.Errorf("%s has no Japanese name or sentence", op.ID)
			}
		}
	}
}

// TestSearch checks that words of both languages, parts of words, codes, paths and fields are found, the best first.
func TestSearch(t *testing.T) {
	for _, c := range []struct{ lang, query, first string }{
		{"en", "idempot", "/docs/idempotency"},
		{"en", "missing-required-photo-indexes", "/docs/errors#missing-required-photo-indexes"},
		{"en", "INVALID_FILE_TYPE", "/docs/errors#invalid_file_type"},
		{"en", "createOrder", "/docs/reference/orders#createOrder"},
		{"en", "/capture_links", "/docs/reference/photos#createCaptureLink"},
		{"en", "rotate secret", "/docs/reference/webhooks#rotateSecret"},
		{"en", "claim", "/docs/desk#claimOrder"},
		{"ja", "シークレット 更新", "/docs/webhooks#rotate-the-secret"},
		{"ja", "冪等", "/docs/idempotency"},
		{"ja", "べき等", "/docs/idempotency"},
		{"ja", "ＷＥＢＨＯＯＫ　一時停止", "/docs/reference/webhooks#updateWebhook"},
		{"ja", "not-enough-credits", "/docs/errors#not-enough-credits"},
	} {
		d, _ := site()
		index, err := d.newIndex(text.Locale(c.lang))
		if err != nil {
			t.Fatal(err)
		}
		found := find(index, c.query)
		if len(found) == 0 || found[0].Href != c.first {
			var got []string
			for _, f := range found[:min(5, len(found))] {
				got = append(got, f.Href)
			}
			t.Errorf("%q finds %q, want %s first", c.query, got, c.first)
		}
		page := get(t, "GET", searchPath+"?lang="+c.lang+"&q="+url.QueryEscape(c.query)).Body.String()
		if !strings.Contains(page, `href="`+html.EscapeString(c.first)+`"`) {
			t.Errorf("the page for %q does not show %s", c.query, c.first)
		}
	}
	t.Run("Nothing", func(t *testing.T) {
		page := get(t, "GET", searchPath+"?q=xyzzy").Body.String()
		if !strings.Contains(page, "Nothing found") {
			t.Error("the page does not say so")
		}
	})
	t.Run("Escaped", func(t *testing.T) {
		page := get(t, "GET", searchPath+"?q="+url.QueryEscape(`<script>alert(1)</script>`)).Body.String()
		if strings.Contains(page, "<script>alert") {
			t.Error("the query is not escaped")
		}
	})
	t.Run("Part", func(t *testing.T) {
		part := get(t, "GET", searchPath+"?part=found&q=webhook").Body.String()
		if strings.Contains(part, "<html") || !strings.Contains(part, "<mark>") {
			t.Errorf("the part is %s", part)
		}
	})
}

// TestPostman checks the collection against the document and the form that Postman reads.
func TestPostman(t *testing.T) {
	var c postmanCollection
	if err := json.Unmarshal(get(t, "GET", "/docs/postman.json").Body.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	if c.Info.Schema != postmanSchema || c.Variable[0].Value != publicURL+"/v1/integrations" || c.Variable[1].Value != "" {
		t.Errorf("the collection has %+v, %+v", c.Info, c.Variable)
	}
	items := make(map[string]postmanItem)
	for _, folder := range c.Item {
		for _, item := range folder.Item {
			items[item.Name] = item
		}
	}
	for _, op := range api.Integration().Operations {
		item, ok := items[op.Summary]
		if !ok || item.Request.Method != op.Method || item.Request.URL.Raw != "{{base_url}}"+postmanPath(op) {
			t.Errorf("%s is %+v", op.ID, item.Request)
			continue
		}
		if strings.Join(item.Request.URL.Path, "/") != strings.TrimPrefix(postmanPath(op), "/") {
			t.Errorf("%s: the path is %q", op.ID, item.Request.URL.Path)
		}
		if body := item.Request.Body; body != nil && body.Mode == "raw" && !json.Valid([]byte(body.Raw)) {
			t.Errorf("%s: the body is no JSON", op.ID)
		}
		answers := 0
		for _, r := range op.Responses {
			if len(r.Content) > 0 {
				answers += len(r.Content[0].Examples)
			}
		}
		if len(item.Response) != answers {
			t.Errorf("%s has %d answers, the document %d", op.ID, len(item.Response), answers)
		}
	}
}

// TestMessages checks that every text is used: by the shell, or by the templates of the reference.
func TestMessages(t *testing.T) {
	used := []string{"docs.area", "docs.nav.", "docs.group.", "docs.tag.", "docs.download.", "docs.reference."}
	names, err := fs.Glob(fragments, "reference/*.html")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(fragments, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`t "(docs\.[a-z_.0-9]+)"`).FindAllStringSubmatch(string(content), -1) {
			used = append(used, m[1])
		}
	}
	uitest.CheckMessages(t, uitest.Site(t, time.Now, Area), Area.Name, []string{"."}, used...)
}

// TestGuideBodies checks the JSON of the guides, that which names a schema against the document.
func TestGuideBodies(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(api.IntegrationAt(publicURL).JSON)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource("https://assay.invalid/openapi.json", document); err != nil {
		t.Fatal(err)
	}
	for _, name := range guides.Names() {
		for _, l := range text.Locales {
			content, err := guides.Read(name, l)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile("(?s)```json ?(\\w*)\n(.*?)\n```").FindAllStringSubmatch(string(content), -1) {
				body, err := jsonschema.UnmarshalJSON(strings.NewReader(m[2]))
				if err != nil {
					t.Errorf("%s: %v\n%s", name, err, m[2])
					continue
				}
				if m[1] == "" {
					continue
				}
				schema, err := compiler.Compile("https://assay.invalid/openapi.json#/components/schemas/" + m[1])
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(body); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// Codes are the error codes that the APIs document, sorted.
func Codes() []string {
	var out []string
	for _, d := range []*spec.Document{api.Integration(), api.Desk()} {
		for _, op := range d.Operations {
			for _, r := range op.Responses {
				out = append(out, r.Codes()...)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return slices.Compact(out)
}
