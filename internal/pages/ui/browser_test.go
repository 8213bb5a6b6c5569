package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestComponents shows every component in a real browser: in both themes and languages, on a desk and on a phone.
func TestComponents(t *testing.T) {
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	handler = galleryHandler(uitest.SiteAt(t, server.URL, time.Now, gallery()))

	b := uitest.NewBrowser(t, server.URL)
	for _, theme := range []string{"light", "dark"} {
		for _, lang := range []string{"en", "ja"} {
			for _, width := range []int{uitest.DeskWidth, uitest.TabletWidth, uitest.PhoneWidth} {
				b.Theme(theme)
				b.Resize(width)
				b.Open("/gallery?lang=" + lang)
				b.CheckAccessibility()
				b.Screenshot(fmt.Sprint(theme, "-", lang, "-", width))
			}
		}
	}
	b.Resize(uitest.DeskWidth)
	b.Open("/gallery?wide")
	b.CheckAccessibility()
	b.Screenshot("wide")

	t.Run("Clock", func(t *testing.T) {
		b.Open("/gallery?lang=ja")
		if got := b.Text("time.clock.overdue"); got != "3 分 超過" {
			t.Errorf("the clock of what is late shows %q", got)
		}
		b.Open("/gallery?lang=en")
		if got := b.Text("time.clock"); !strings.HasPrefix(got, "4") || !strings.HasSuffix(got, " min") {
			t.Errorf("the clock shows %q", got)
		}
		if got := b.Text("time.clock.overdue"); got != "3 min late" {
			t.Errorf("the clock of what is late shows %q", got)
		}
	})
	t.Run("Dates", func(t *testing.T) {
		for _, style := range []struct{ lang, date string }{
			{"ja", `^\d{4}/\d{1,2}/\d{1,2} \d\d:\d\d(:\d\d \S+)?$`},
			{"en", `^\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d(:\d\d \S+)?$`},
		} {
			b.Open("/gallery?lang=" + style.lang)
			for _, kind := range []string{"local", "instant"} {
				if got := b.Text("time[data-time=" + kind + "]"); !regexp.MustCompile(style.date).MatchString(got) {
					t.Errorf("the browser writes %q", got)
				}
			}
		}
	})
	t.Run("FoldedTable", func(t *testing.T) {
		b.Open("/gallery")
		uitest.Eval[string](b, "document.querySelector('table.stacked').parentElement.style.width = '12rem'")
		b.Await("table.folded")
		labels := uitest.Eval[[]string](b,
			"[...document.querySelectorAll('table.folded tbody tr:first-child > *')].map((cell) => cell.dataset.label ?? '')")
		if want := []string{"Order", "Status", "Outcome", "Left", "Price", ""}; !slices.Equal(labels, want) {
			t.Errorf("the cells of a folded row are labelled %q, want %q", labels, want)
		}
	})
	t.Run("Theme", func(t *testing.T) {
		b.Theme("light")
		b.Open("/gallery")
		b.Click("button[name=theme][value=dark]")
		b.AwaitTrue("document.documentElement.dataset.theme === 'dark'")
		b.AwaitTrue("fetch('/gallery').then(r => r.text()).then(s => s.includes('data-theme=\"dark\"'))")
		b.Click("button[name=theme][value=auto]")
	})
	t.Run("Dialog", func(t *testing.T) {
		b.Open("/gallery")
		b.Click("[data-dialog=sure]")
		b.Await("dialog#sure")
		b.Screenshot("dialog")
		b.Click("dialog [data-close]")
		b.AwaitGone("dialog#sure")
	})
	t.Run("BesideADialog", func(t *testing.T) {
		b.Open("/gallery")
		b.Click("[data-dialog=sure]")
		b.Await("dialog#sure")
		at := uitest.Eval[struct{ X, Y float64 }](b,
			"(({left, top}) => ({x: left, y: top}))(document.getElementById('sure').getBoundingClientRect())")
		open := func(after string) {
			t.Helper()
			if !uitest.Eval[bool](b, "document.getElementById('sure').open") {
				t.Fatalf("the dialog is closed after %s", after)
			}
		}
		b.ClickAt(at.X+5, at.Y+5)
		open("a click at its edge")
		b.Drag(at.X+30, at.Y+30, at.X-30, at.Y+30)
		open("text in it was marked")
		b.ClickAt(at.X-5, at.Y+5)
		b.AwaitGone("dialog#sure")
	})
	t.Run("CopiedTwice", func(t *testing.T) {
		b.Open("/gallery?lang=en")
		b.Await("button[data-copy]")
		label := uitest.Eval[string](b, `(() => {
			navigator.clipboard.writeText = async () => {};
			const button = document.querySelector("button[data-copy]");
			const before = button.textContent.trim();
			button.click();
			return before;
		})()`)
		says := func(text string) {
			t.Helper()
			b.AwaitTrue(`document.querySelector("button[data-copy]").textContent.trim() === "` + text + `"`)
		}
		says("Copied")
		b.Click("button[data-copy]")
		says("Copied")
		says(label)
	})
	form := func(t *testing.T) {
		b.Open("/gallery")
		b.Fill("#f-email", "a@b.test")
		b.Click("#f-outcome-0")
		b.Follow("form.stacked .primary")
		if got := b.Text(".alert.tone-good"); !strings.Contains(got, "Saved a@b.test.") {
			t.Errorf("the page says %q", got)
		}
	}
	t.Run("Form", form)
	t.Run("FormWithoutScripts", func(t *testing.T) {
		b.Scripts(false)
		form(t)
	})
}

// TestAccessibilityCheck checks that the check finds what it is for: a check that finds nothing proves nothing.
func TestAccessibilityCheck(t *testing.T) {
	page := `{{define "main"}}<h1>One</h1><h3>Skips</h3><h1>Two</h1><p class="soft">Low <b class="low">contrast</b></p>
		<img src="data:,"><input name="x"><button></button>
		<p id="twice"></p><p id="twice"></p><p aria-describedby="nobody">x</p><ul><p>no item</p></ul>
		<table><tr><td>x</td></tr></table><svg></svg>{{end}}
		{{define "head"}}<link rel="stylesheet" href="{{asset "bad/bad.css"}}">{{end}}`
	b := uitest.NewBrowser(t, bad(t, page, ".low { color: #bbb; background: #fff } h3 { width: 3000px }"))
	b.Open("/bad")
	found := strings.Join(b.AccessibilityProblems(), "\n")
	for _, want := range []string{
		"2 headings of the first level", "skips from level 1 to 3", "contrast of 1.", "no alt", "a field has no label",
		"a control has no name", "the id twice stands twice", "aria-describedby names nothing", "something else than items",
		"no headers", "neither named nor hidden", "wide on a screen",
		"axe: Buttons must have discernible text (button-name, critical)", "(image-alt, critical)",
	} {
		if !strings.Contains(found, want) {
			t.Errorf("%q is not found:\n%s", want, found)
		}
	}
}

// bad serves a page at /bad and returns the address of its server.
func bad(t *testing.T, page, style string) string {
	t.Helper()
	area := ui.Area{Name: "bad", Files: fstest.MapFS{
		"templates/bad.html": {Data: []byte(page)}, "static/bad.css": {Data: []byte(style)},
	}}
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	site := uitest.SiteAt(t, server.URL, time.Now, area)
	mux := http.NewServeMux()
	site.Routes(mux)
	mux.Handle("GET /bad", site.Pages("bad").Handle(func(w http.ResponseWriter, r *http.Request) error {
		return site.Pages("bad").Render(w, r, ui.Page{Template: "bad"})
	}))
	handler = site.Wrap(mux)
	return server.URL
}

// TestLayoutCheck checks that the check of the layout finds what it is for.
func TestLayoutCheck(t *testing.T) {
	requires.Engine(t, "chromium") // the browser of the inner test would be skipped
	const head = `{{define "head"}}<link rel="stylesheet" href="{{asset "bad/bad.css"}}">{{end}}
		{{define "main"}}<h1>Bad</h1>`
	const style = `.cut { width: 4rem; overflow: hidden; white-space: nowrap }
		.over { margin-top: -2rem; position: relative }
		.tight { width: 1.5rem; overflow-wrap: anywhere } .box { width: 4rem; background: #eee; white-space: nowrap }
		.below { display: block } .badge { white-space: normal !important; width: 3rem } .far { margin-left: 150vw }
		.deep { margin-top: 110vh } #all { overflow: hidden; max-height: none }`
	for page, want := range map[string][]string{
		`<p class="cut">More than there is room for</p><p>Under</p><div class="over"><p>Over it</p></div>
			<p class="tight">Breaking</p><p class="box">Leaves the box it stands in</p>
			<input type="checkbox" id="c"><label class="below" for="c">Below</label>
			<p><span class="badge">Two or three lines</span></p><p class="far">Far</p>{{end}}`: {
			`cut off at the side by <p.cut>`, "lies over", `the word "Breaking" is broken`, "leaves its box <p.box>",
			"the label stands below or above its box", "is broken into lines", "outside the screen",
		},
		`<dialog open id="all" aria-label="All"><p class="deep">Deep</p></dialog>{{end}}`: {"above or below the screen"},
	} {
		r := &recorder{TB: t}
		uitest.NewBrowser(r, bad(t, head+page, style)).CheckPages(map[string]string{"bad": "/bad"})
		found := strings.Join(r.errors, "\n")
		for _, words := range want {
			if !strings.Contains(found, words) {
				t.Errorf("%q is not found:\n%s", words, found)
			}
		}
	}
}

// TestEveryAreaIsLookedAt checks that each area has a test that looks at its pages.
func TestEveryAreaIsLookedAt(t *testing.T) {
	areas, err := filepath.Glob("../*/templates")
	must.NoError(t, err)
	for _, templates := range areas {
		area := filepath.Dir(templates)
		if filepath.Base(area) == "ui" {
			continue
		}
		tests, err := filepath.Glob(area + "/*_test.go")
		must.NoError(t, err)
		if !slices.ContainsFunc(tests, func(name string) bool {
			text, err := os.ReadFile(filepath.Clean(name))
			must.NoError(t, err)
			return strings.Contains(string(text), ".CheckPages(")
		}) {
			t.Errorf("no test looks at the pages of %s", filepath.Base(area))
		}
	}
}

// recorder is a test whose errors are counted and do not count.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Error(words ...any) { r.errors = append(r.errors, fmt.Sprint(words...)) }
func (r *recorder) Errorf(format string, words ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, words...))
}

// TestBrowserFailsTests checks that a page which breaks the policy, logs an error or asks another origin fails its
// test.
func TestBrowserFailsTests(t *testing.T) {
	requires.Engine(t, "chromium") // the browser of the inner test would be skipped
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; img-src http://127.0.0.2:9; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w,
			`<!doctype html><title>x</title><script>console.error("inline")</script><img src="http://127.0.0.2:9/x.png" alt="">`)
	}))
	t.Cleanup(server.Close)
	r := &recorder{TB: t}
	t.Run("Page", func(t *testing.T) {
		r.TB = t
		uitest.NewBrowser(r, server.URL).Open("/")
	})
	found := strings.Join(r.errors, "\n")
	for _, want := range []string{"Content Security Policy", "another origin is asked: http://127.0.0.2:9/x.png"} {
		if !strings.Contains(found, want) {
			t.Errorf("%q is not found:\n%s", want, found)
		}
	}
}

func TestPolicyProblems(t *testing.T) {
	const strict = "default-src 'none'; script-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	for policy, want := range map[string]string{
		"":                                     "there is no policy",
		strict:                                 "",
		strict + "; style-src 'unsafe-inline'": "style-src allows 'unsafe-inline'",
		strict +
			"; script-src-elem 'unsafe-eval'": "script-src-elem allows 'unsafe-eval'",
		strict +
			"; font-src https://fonts.example": "font-src allows https://fonts.example",
		strict + "; img-src 'self' data: https://m.example": "",
		strict +
			"; img-src https://other.example": "img-src allows https://other.example",
		strict +
			"; connect-src https://m.example": "connect-src allows https://m.example",
		"script-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'": "default-src is missing",
	} {
		h := http.Header{}
		h.Set("Content-Security-Policy", policy)
		if got := strings.Join(uitest.PolicyProblems(h, "https://m.example/media"), "; "); got != want {
			t.Errorf("%q: %q, want %q", policy, got, want)
		}
	}
}

// TestSortPages checks that a page which no test looks at does not go unseen.
func TestSortPages(t *testing.T) {
	answers := map[string]string{"/page": "<!doctype html>x", "/file": "a,b", "/new": "a,b", "/grown": "<!DOCTYPE html>x"}
	r := &recorder{TB: t}
	pages := uitest.SortPages(r, []string{"GET /page", "GET /file", "GET /new", "GET /grown", "POST /form"},
		[]string{"GET /file", "GET /grown"},
		func(pattern string) string { return strings.TrimPrefix(pattern, "GET ") },
		func(string) (int, string) { return http.StatusSeeOther, "" },
		func(path string) (int, string) { return http.StatusOK, answers[path] })
	if len(pages[0]) != 0 || len(pages[1]) != 1 || pages[1]["page"] != "/page" {
		t.Errorf("pages %v", pages)
	}
	if len(r.errors) != 2 || !strings.Contains(r.errors[0], "GET /new") || !strings.Contains(r.errors[1], "GET /grown") {
		t.Errorf("errors %v", r.errors)
	}
}
