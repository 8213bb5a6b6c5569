// Package uitest holds every area to the rules that all pages follow. A test of each area calls it.
package uitest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/jsonlog"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/secret"
)

const (
	// SecretKey is for tests only.
	SecretKey = "a secret key that only tests may use"
	// MediaURL is where the sites of tests say that photos are.
	MediaURL = "https://media.assay.test/media"
)

// Site returns a site with the areas, whose public address is http://assay.test; the clock is the one given.
func Site(t testing.TB, now func() time.Time, areas ...ui.Area) *ui.Site {
	t.Helper()
	return SiteAt(t, "http://assay.test", now, areas...)
}

// SiteAt is Site with another public address.
func SiteAt(t testing.TB, publicURL string, now func() time.Time, areas ...ui.Area) *ui.Site {
	t.Helper()
	box, err := secret.New(SecretKey)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ui.New(ui.Config{
		Log: slog.New(slog.NewTextHandler(t.Output(), jsonlog.Options())),
		Now: now, Secrets: box, PublicURL: publicURL, MediaURL: MediaURL,
	}, areas...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// CheckMessages fails for messages of an area that nothing uses, and for keys in its Go files that do not exist.
// Templates are checked for missing keys when a site is made; a text missing in a language is refused there, too. dirs
// are the folders whose Go files use the keys. dynamic are beginnings of keys that are put together while the program
// runs.
func CheckMessages(t *testing.T, site *ui.Site, area string, dirs []string, dynamic ...string) {
	t.Helper()
	used := site.Pages(area).UsedKeys()
	for key := range usedInGo(t, area, dirs) {
		isPrefix := slices.ContainsFunc(dynamic, func(d string) bool {
			return strings.HasPrefix(d, key) || strings.HasPrefix(key, d)
		})
		if !site.Messages.Has(key) && !isPrefix {
			t.Errorf("a Go file uses the message %q, which does not exist", key)
		}
		used[key] = true
	}
	for _, key := range site.Messages.Keys(area) {
		if !used[key] && !slices.ContainsFunc(dynamic, func(d string) bool { return strings.HasPrefix(key, d) }) {
			t.Errorf("the message %q is used nowhere", key)
		}
	}
}

// usedInGo returns the string literals of Go files, tests left out, that look like keys of the area.
func usedInGo(t *testing.T, area string, dirs []string) map[string]bool {
	t.Helper()
	used := make(map[string]bool)
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			imports := make(map[string]bool)
			for _, i := range file.Imports {
				imports[i.Path.Value] = true
			}
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING || imports[lit.Value] {
					return true
				}
				if s, err := strconv.Unquote(lit.Value); err == nil && isKey(area, s) {
					used[s] = true
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return used
}

func isKey(area, s string) bool {
	rest, ok := strings.CutPrefix(s, area+".")
	if !ok || rest == "" {
		return false
	}
	return !strings.ContainsFunc(rest, func(r rune) bool {
		return r != '.' && r != '_' && r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}
