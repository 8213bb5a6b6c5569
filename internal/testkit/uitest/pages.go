package uitest

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/chromedp/chromedp"
)

// CheckPages opens pages, which have names, in both languages, and looks at each in both themes on all screens without
// loading it again: for what is cut off, lies over something else or leaves its box, for contrast, and for what
// axe-core calls serious. It takes pictures of them.
func (b *Browser) CheckPages(pages map[string]string) {
	b.t.Helper()
	for _, lang := range []string{"en", "ja"} {
		for _, name := range slices.Sorted(maps.Keys(pages)) {
			path, separator := pages[name], "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			b.Resize(DeskWidth)
			b.Theme("light")
			b.Open(path + separator + "lang=" + lang)
			b.CheckLooks(name, lang)
		}
	}
}

// CheckLooks does what CheckPages does with the page that is open, as it stands: for a state that only a flow leads to.
// The slow check sees it twice, once in each theme: its outline and names are those of the language, and the contrast
// of every look is computed besides.
func (b *Browser) CheckLooks(name, lang string) {
	b.t.Helper()
	defer b.Resize(DeskWidth)
	defer b.Theme("light")
	found := make(map[string]string) // problems, with the first look that has them
	note := func(look string, problems []string) {
		for _, p := range problems {
			if _, ok := found[p]; !ok {
				found[p] = look
			}
		}
	}
	for _, width := range []int{DeskWidth, TabletWidth, PhoneWidth} {
		b.Resize(width)
		layout := b.layoutProblems()
		for _, theme := range []string{"light", "dark"} {
			b.Theme(theme)
			look := theme + "-" + lang + "-" + screens[width]
			note(look, append(layout, b.ownProblems()...))
			if width == DeskWidth && theme == "light" && lang == "en" || width == PhoneWidth && theme == "dark" && lang == "ja" {
				note(look, b.axeProblems(false))
			}
			b.Screenshot(look + "-" + name)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(found)) {
		b.t.Errorf("%s (%s, %s): %s", name, b.Path(), found[p], p)
	}
}

var screens = map[int]string{DeskWidth: "desk", TabletWidth: "tablet", PhoneWidth: "phone"}

// SortPages asks for the address of every GET route as each of the visitors, and returns the pages that each is the
// first to get, by name, for CheckPages. others are the routes that answer with something else, or with a page that
// only a flow leads to. A route that is new and no page, or was one before, fails the test: so that every page is
// looked at.
func SortPages(t testing.TB, patterns, others []string, fill func(pattern string) string,
	visitors ...func(path string) (status int, body string),
) []map[string]string {
	t.Helper()
	pages := make([]map[string]string, len(visitors))
	for i := range pages {
		pages[i] = make(map[string]string)
	}
	for _, pattern := range patterns {
		method, address, _ := strings.Cut(pattern, " ")
		if method != http.MethodGet {
			continue
		}
		path := fill(pattern)
		first := slices.IndexFunc(visitors, func(visit func(string) (int, string)) bool {
			status, body := visit(path)
			return status == http.StatusOK && strings.HasPrefix(strings.ToLower(body), "<!doctype html>")
		})
		switch known := slices.Contains(others, pattern); {
		case first < 0 && !known:
			t.Errorf("%s is no page for any visitor, and not known as something else", pattern)
		case first >= 0 && known:
			t.Errorf("%s is a page and has to be checked as one", pattern)
		case first >= 0:
			pages[first][strings.NewReplacer("/", "_", "{", "", "}", "").Replace(strings.Trim(address, "/"))] = path
		}
	}
	return pages
}

// Anybody returns a visitor of SortPages who is not signed in.
func Anybody(t testing.TB, home string) func(path string) (status int, body string) {
	return func(path string) (int, string) {
		t.Helper()
		answer, body := must.Get(t, http.DefaultClient, home+path)
		return answer.StatusCode, string(body)
	}
}

// CheckPolicy fails for what PolicyProblems finds in an answer that is HTML.
func CheckPolicy(t testing.TB, h http.Header, media string) {
	t.Helper()
	if !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
		return
	}
	for _, p := range PolicyProblems(h, media) {
		t.Errorf("content security policy: %s", p)
	}
}

// PolicyProblems returns what the content security policy of a page allows and must not: scripts or styles in the page,
// code from text, and files of other origins. Images may come from the address of the media.
func PolicyProblems(h http.Header, media string) []string {
	policy := h.Get("Content-Security-Policy")
	if policy == "" {
		return []string{"there is no policy"}
	}
	var problems []string
	directives := make(map[string]bool)
	for directive := range strings.SplitSeq(policy, ";") {
		words := strings.Fields(directive)
		if len(words) == 0 {
			continue
		}
		directives[words[0]] = true
		for _, source := range words[1:] {
			switch {
			case source == "'self'", source == "'none'":
			case words[0] == "img-src" && (source == "data:" || media != "" && source == originOf(media)):
			default:
				problems = append(problems, words[0]+" allows "+source)
			}
		}
	}
	// default-src stands for all but these three
	for _, needed := range []string{"default-src", "form-action", "frame-ancestors", "base-uri"} {
		if !directives[needed] {
			problems = append(problems, needed+" is missing")
		}
	}
	return problems
}

// screenshotVariable names a folder that Screenshot writes to; without it nothing is written.
const screenshotVariable = "ASSAY_SCREENSHOTS"

// Screenshot writes the page to a file in the folder that ASSAY_SCREENSHOTS names, if it names one.
func (b *Browser) Screenshot(name string) {
	dir := os.Getenv(screenshotVariable)
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Log(err)
		return
	}
	file := strings.ReplaceAll(b.t.Name(), "/", "-") + "-" + name + ".png"
	if err := os.WriteFile(filepath.Join(filepath.Clean(dir), file), picture, 0o600); err != nil {
		b.t.Log(err)
	}
}
