package portal

import (
	"embed"
	"net/http"

	"github.com/assayhq/assay/internal/pages/ui"
)

//go:embed snippets/verify.*
var snippetFiles embed.FS

// snippets show how a receiver verifies a delivery. Tests run each of them in its language.
var snippets = []snippet{
	{"Go", "verify.go"},
	{"TypeScript", "verify.ts"},
	{"Python", "verify.py"},
	{"PHP", "verify.php"},
	{"Ruby", "verify.rb"},
}

type snippet struct{ Language, File string }

// Code is the text of the snippet.
func (s snippet) Code() (string, error) {
	b, err := snippetFiles.ReadFile("snippets/" + s.File)
	return string(b), err
}

type verifyView struct{ Snippets []snippet }

func (p *Portal) showVerify(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	return p.pages.Render(w, r, ui.Page{Template: "verify", Data: verifyView{snippets}})
}
