package ui

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/secret"
)

//go:embed templates messages static
var ownFiles embed.FS

const ownArea = "ui"

// Config is what the pages of all areas share.
type Config struct {
	Log       *slog.Logger
	Now       func() time.Time
	Secrets   *secret.Box // signs short-lived cookies
	PublicURL string      // where people open the pages
	MediaURL  string      // photos are shown from there

	// Issuer is who runs the service, as people know them. Without a name pages have the name of the program.
	Issuer certificate.Issuer
}

// Area is the pages of one audience. Files holds
//
//	templates/**.html          pages, named by their path below templates, without .html
//	templates/shared/*.html    what the pages of the area share
//	messages/*.yaml            texts, under keys that begin with the area's name
//	static/**                  assets, addressed as NAME/file
type Area struct {
	Name  string
	Files fs.FS
	Needs []Area // whose pages are part of it, such as those to sign in
}

// Site is everything that pages are made with. It does not change once it is made.
type Site struct {
	Config
	Messages *Messages

	public   *url.URL
	assets   *assets
	policy   string // Content-Security-Policy
	origins  *http.CrossOriginProtection
	cookies  []byte // key that signs cookies
	areas    map[string]*Pages
	fallback *Pages // for errors outside of every area
}

// New checks the templates and messages of all areas and refuses what would fail later: a template that does not parse,
// a text missing in a language, a key or asset that does not exist.
func New(c Config, areas ...Area) (*Site, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Site{
		Config: c, Messages: &Messages{byKey: make(map[string]message)}, assets: &assets{files: make(map[string]*asset)},
		areas:   make(map[string]*Pages),
		origins: http.NewCrossOriginProtection(),
	}
	var err error
	if s.public, err = url.Parse(c.PublicURL); err != nil {
		return nil, fmt.Errorf("public URL: %w", err)
	}
	if s.policy, err = contentPolicy(c.MediaURL); err != nil {
		return nil, err
	}
	if c.Secrets != nil {
		s.cookies = c.Secrets.Derive("cookies")
	}
	s.origins.SetDenyHandler(http.HandlerFunc(s.refuseOrigin))
	areas = withNeeded(append([]Area{{Name: ownArea, Files: ownFiles}}, areas...))
	for _, a := range areas {
		if err := errors.Join(s.Messages.load(a.Name, a.Files), s.assets.add(a.Name, a.Files)); err != nil {
			return nil, err
		}
	}
	s.assets.seal()
	for _, a := range areas {
		t, err := s.newTemplates(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		s.areas[a.Name] = &Pages{site: s, name: a.Name, templates: t}
	}
	s.fallback = s.areas[ownArea]
	return s, nil
}

// withNeeded adds the areas that the areas need, each once.
func withNeeded(areas []Area) []Area {
	all, seen := []Area(nil), make(map[string]bool)
	for _, a := range areas {
		for _, each := range append(slices.Clone(a.Needs), a) {
			if !seen[each.Name] {
				seen[each.Name] = true
				all = append(all, each)
			}
		}
	}
	return all
}

// Pages returns the pages of an area that New was given.
func (s *Site) Pages(area string) *Pages {
	p, ok := s.areas[area]
	if !ok {
		panic("ui: there is no area " + area) // a mistake of the program, found at its start
	}
	return p
}

// T returns a text in the language of the request.
func (s *Site) T(r *http.Request, key string, args ...any) string {
	return s.Messages.T(LocaleOf(r), key, args...)
}

// AssetURL returns the address of a static file, such as "desk/viewer.js"; it panics when there is none.
func (s *Site) AssetURL(name string) string {
	u, err := s.assets.url(name)
	if err != nil {
		panic("ui: " + err.Error())
	}
	return u
}

// check refuses names in templates that lead nowhere.
func (s *Site) check(used literals) error {
	var problems []error
	for key := range used["t"] {
		if !s.Messages.Has(key) {
			problems = append(problems, fmt.Errorf("a template uses the message %q, which does not exist", key))
		}
	}
	for _, function := range []string{"asset", "style", "script"} {
		for name := range used[function] {
			_, err := s.assets.url(name)
			problems = append(problems, err)
		}
	}
	for name := range used["icon"] {
		_, err := icon(name)
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// logoPath is where the issuer's logo is.
const logoPath = "/issuer-logo"

// Brand is whose pages these are.
type Brand struct {
	Name string
	Logo string // address; empty: the mark of the program
}

// Brand returns the issuer, or the program where none is set.
func (s *Site) Brand() Brand {
	b := Brand{Name: cmp.Or(s.Issuer.Name, "Assay")}
	if s.Issuer.Logo != nil {
		b.Logo = logoPath
	}
	return b
}

// Routes mounts what all areas need: the assets and the preferences.
func (s *Site) Routes(mux *http.ServeMux) {
	mux.Handle("GET "+assetPrefix, s.assets)
	if logo := s.Issuer.Logo; logo != nil {
		mux.HandleFunc("GET "+logoPath, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/"+logo.Format)
			w.Header().Set("Cache-Control", "public, max-age=300")
			w.Header().Set("Content-Length", strconv.Itoa(len(logo.Content)))
			_, _ = w.Write(logo.Content) // a client that is gone is no failure
		})
	}
	mux.Handle("POST /preferences", s.fallback.Handle(s.setPreferences))
	mux.Handle("/", s.fallback.Handle(func(http.ResponseWriter, *http.Request) error { return pageNotFound }))
}

// overTLS reports whether the visitor's browser has a secure connection, perhaps to a proxy in front.
func (s *Site) overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(s.public.Scheme, "https")
}
