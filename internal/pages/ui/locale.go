package ui

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/text"
)

const (
	languageCookie = "assay_lang"
	themeCookie    = "assay_theme"
	rememberFor    = 365 * 24 * time.Hour
	languageQuery  = "lang"
)

type localeKey struct{}

// LocaleOf returns the language of the page that the request asks for.
func LocaleOf(r *http.Request) text.Locale {
	if l, ok := r.Context().Value(localeKey{}).(text.Locale); ok {
		return l
	}
	return text.English
}

// withLocale chooses the language: ?lang=, which a navigation is remembered by, then what was remembered, then what the
// browser prefers. A page that brings itself up to date asks in its own language and chooses none for the others.
func (s *Site) withLocale(w http.ResponseWriter, r *http.Request) *http.Request {
	l, asked := parseLanguage(r.URL.Query().Get(languageQuery))
	switch {
	case !asked:
		l = preferredLocale(r)
	case !byScript(r) && r.Header.Get(refreshHeader) == "":
		s.setCookie(w, r, languageCookie, string(l), rememberFor)
	}
	return r.WithContext(context.WithValue(r.Context(), localeKey{}, l))
}

func preferredLocale(r *http.Request) text.Locale {
	if c, err := r.Cookie(languageCookie); err == nil {
		if l, ok := parseLanguage(c.Value); ok {
			return l
		}
	}
	best, bestWeight := text.English, 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		language, _, _ := strings.Cut(tag, "-")
		l, ok := parseLanguage(strings.ToLower(language))
		if !ok {
			continue
		}
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q="); ok {
			if v, err := strconv.ParseFloat(q, 64); err == nil {
				weight = v
			}
		}
		if weight > bestWeight {
			best, bestWeight = l, weight
		}
	}
	return best
}

func parseLanguage(s string) (text.Locale, bool) {
	if s == "" {
		return "", false
	}
	return text.ParseLocale(s)
}

// languageLink leads to the same page in a language.
type languageLink struct {
	Locale  text.Locale
	Name    string
	Href    string
	Current bool
}

// LanguageNames are what the languages call themselves.
var LanguageNames = map[text.Locale]string{text.English: "English", text.Japanese: "日本語"}

func languageLinks(r *http.Request) []languageLink {
	links := make([]languageLink, len(text.Locales))
	for i, l := range text.Locales {
		q := r.URL.Query()
		q.Set(languageQuery, string(l))
		u := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: q.Encode()}
		links[i] = languageLink{Locale: l, Name: LanguageNames[l], Href: u.String(), Current: l == LocaleOf(r)}
	}
	return links
}

// themeOf returns light or dark when the visitor has chosen one, else nothing: the system decides.
func themeOf(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// setPreferences remembers the theme, or the language, and goes back to the page.
func (s *Site) setPreferences(w http.ResponseWriter, r *http.Request) error {
	form, err := ReadForm(w, r)
	if err != nil {
		return err
	}
	if theme := form.Get("theme"); theme != "" {
		if theme != "light" && theme != "dark" {
			theme = "" // auto: forget
		}
		s.setCookie(w, r, themeCookie, theme, rememberFor)
	}
	if l, ok := parseLanguage(form.Get(languageQuery)); ok {
		s.setCookie(w, r, languageCookie, string(l), rememberFor)
	}
	next := SafeNext(form.Get("next"), "/")
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // only addresses on this site are safe
	return nil
}
