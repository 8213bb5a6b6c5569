package letter

import (
	_ "embed" // the texts and layouts
	"errors"
	"fmt"
	"html"
	htmltemplate "html/template"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	texttemplate "text/template"
	"unicode"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"go.yaml.in/yaml/v3"
)

//go:embed letters.yaml
var source []byte

//go:embed layout.html
var htmlLayout string

//go:embed layout.txt
var textLayout string

// collection is the content of letters.yaml.
type collection struct {
	Roles  map[string]text.Text          `yaml:"roles"`
	Places map[access.Audience]text.Text `yaml:"places"`

	Environments map[access.Environment]text.Text `yaml:"environments"`

	Approvals map[access.ApprovalKind]text.Text `yaml:"approvals"`
	Contacts  map[access.Audience]text.Text     `yaml:"contacts"` // whom to tell when it was somebody else
	Operator  text.Text                         `yaml:"operator"`
	Footer    text.Text                         `yaml:"footer"`
	Letters   map[Kind]wording                  `yaml:"letters"`

	html *htmltemplate.Template
	text *texttemplate.Template
}

// wording is the text of a letter with placeholders in braces.
type wording struct {
	Subject text.Text   `yaml:"subject"`
	Lines   []text.Text `yaml:"lines"`
	Button  text.Text   `yaml:"button"` // label of the link; empty if there is none
	Notes   []text.Text `yaml:"notes"`  // in small print
}

func (w *wording) all() []text.Text {
	return slices.Concat([]text.Text{w.Subject, w.Button}, w.Lines, w.Notes)
}

// texts parses the embedded texts once. A test finds errors in them.
var texts = sync.OnceValue(func() *collection {
	c, err := parse(source)
	if err != nil {
		panic("letter: " + err.Error())
	}
	return c
})

func parse(source []byte) (*collection, error) {
	c := new(collection)
	if err := yaml.Unmarshal(source, c); err != nil {
		return nil, err
	}
	var problems []error
	if len(c.Letters) != len(Kinds) {
		problems = append(problems, fmt.Errorf("there are %d texts for %d kinds of letters", len(c.Letters), len(Kinds)))
	}
	for _, kind := range Kinds {
		w, ok := c.Letters[kind]
		if !ok || w.Subject.EN == "" || len(w.Lines) == 0 {
			problems = append(problems, fmt.Errorf("%s has no text", kind))
		}
		for _, t := range w.all() {
			if (t.EN == "") != (t.JA == "") || !slices.Equal(placeholders(t.EN), placeholders(t.JA)) {
				problems = append(problems, fmt.Errorf("%s: %q and %q do not match", kind, t.EN, t.JA))
			}
		}
	}
	var err error
	if c.html, err = htmltemplate.New("html").Parse(htmlLayout); err != nil {
		problems = append(problems, err)
	}
	if c.text, err = texttemplate.New("text").Parse(textLayout); err != nil {
		problems = append(problems, err)
	}
	return c, errors.Join(problems...)
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func placeholders(s string) []string {
	names := placeholder.FindAllString(s, -1)
	slices.Sort(names)
	return slices.Compact(names)
}

// facts are the values of placeholders. They are user input.
type facts map[string]string

// page is the data of the layout templates.
type page struct {
	Locale  text.Locale
	Subject string
	Lines   []string
	Button  string
	Link    string
	Notes   []string
	Footer  string
}

func write(kind Kind, l text.Locale, link string, f facts) Letter {
	c := texts()
	w := c.Letters[kind]
	fill := filler(f)
	p := page{Locale: l, Subject: fill(w.Subject.In(l)), Link: link, Footer: c.Footer.In(l)}
	for _, t := range w.Lines {
		p.Lines = append(p.Lines, fill(t.In(l)))
	}
	if link != "" {
		p.Button = fill(w.Button.In(l))
	}
	for _, t := range w.Notes {
		p.Notes = append(p.Notes, fill(t.In(l)))
	}
	var plain, marked strings.Builder
	if err := errors.Join(c.text.Execute(&plain, p), c.html.Execute(&marked, p)); err != nil {
		panic("letter: " + err.Error()) // the layouts use what page has
	}
	return Letter{Kind: kind, Locale: l, Subject: p.Subject, Text: plain.String(), HTML: marked.String()}
}

// filler returns a function that replaces placeholders by their values. Line breaks in a value are removed, so that
// it cannot start another line of the letter or another header.
func filler(f facts) func(string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		pairs = append(pairs, "{"+name+"}", oneLine(f[name]))
	}
	return strings.NewReplacer(pairs...).Replace
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Signed returns the letter with the name and the address of who sends it at its end.
func (l Letter) Signed(name, address string) Letter {
	if name == "" {
		return l
	}
	lines := []string{oneLine(name)}
	if address != "" {
		lines = append(lines, oneLine(address))
	}
	l.Text = strings.TrimRight(l.Text, "\n") + "\n" + strings.Join(lines, "\n") + "\n"
	for i, line := range lines {
		lines[i] = html.EscapeString(line)
	}
	const end = "</p>\n</body>"
	l.HTML = strings.Replace(l.HTML, end, "<br>"+strings.Join(lines, "<br>")+end, 1)
	return l
}
