// Package guides holds the guides for integrators: Markdown that reads well as it is and that the site at /docs shows.
package guides

import (
	"embed"
	"io/fs"
	"path"

	"github.com/assayhq/assay/internal/domain/text"
)

//go:embed *.md *.svg ja
var files embed.FS

// Overview is the guide that leads to the others.
const Overview = "README"

// Group is guides that belong together.
type Group struct {
	Name   string   // start or guides: the last part of the key of its label
	Guides []string // names of files, without .md
}

// Groups are all guides but the overview, in reading order.
var Groups = []Group{
	{"start", []string{"quickstart", "testing", "going-live"}},
	{"guides", []string{
		"orders", "photos", "photo-requests", "webhooks", "events", "idempotency", "errors", "limits", "capture-links",
		"certificates", "changelog",
	}},
}

// Names are all guides, the overview first.
func Names() []string {
	out := []string{Overview}
	for _, g := range Groups {
		out = append(out, g.Guides...)
	}
	return out
}

// Read returns the Markdown of a guide in a language.
func Read(name string, l text.Locale) ([]byte, error) { return File(name+".md", l) }

// File returns a file beside the guides of a language.
func File(name string, l text.Locale) ([]byte, error) {
	if l != text.English {
		name = path.Join(string(l), name)
	}
	return fs.ReadFile(files, name)
}
