package uitest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Look is one of the ways in which people see a page.
type Look struct {
	Theme string
	Lang  string
	Width int
}

// Looks are those in which CheckPages opens every page: between them are both themes, both languages and all widths.
var Looks = []Look{{"light", "en", DeskWidth}, {"dark", "ja", TabletWidth}, {"dark", "en", PhoneWidth}}

// CheckPages opens pages, which have names, in every look, holds each to the rules of accessibility and takes its
// picture.
func (b *Browser) CheckPages(pages map[string]string) {
	b.t.Helper()
	for _, look := range Looks {
		b.Theme(look.Theme)
		b.Resize(look.Width)
		for _, name := range slices.Sorted(maps.Keys(pages)) {
			path, separator := pages[name], "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			b.Open(path + separator + "lang=" + look.Lang)
			if look.Width == PhoneWidth { // what is new on a phone is the width: the slow check has seen the page twice
				b.refuse(b.ownProblems())
			} else {
				b.CheckAccessibility()
			}
			b.Screenshot(look.Theme + "-" + look.Lang + "-" + screens[look.Width] + "-" + name)
		}
	}
	b.Theme("light")
	b.Resize(DeskWidth)
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
