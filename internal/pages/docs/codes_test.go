package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/docs/guides"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/admin"
	"github.com/assayhq/assay/internal/pages/desk"
	"github.com/assayhq/assay/internal/pages/portal"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// onlyOnPages are the codes of refusals that people see on pages and that no API answers with.
var onlyOnPages = strings.Fields(`
	approval-decided approval-requested four-eyes-credentials four-eyes-mail not-your-approval own-approval
	requester-gone secret-already-rotated
	already-a-member capture-link-ended capture-upload-limit-reached catalog-changed certificate-broken
	certificate-revoked confirmation-needed draft-changed endpoint-stopped form-too-large invalid-photo-index
	invitation-ended key-limit-reached key-revoked last-owner missing-photo-indexes no-session not-redeliverable
	orders-open own-access own-credentials own-password own-second-factor staff-active staff-deactivated`)

// notInTexts are the codes of refusals that no page says in a text of its fault.CODE: only APIs, commands and scripts
// are told them, or the page has words for them in another place.
var notInTexts = strings.Fields(`
	cursor-expired invalid-audit-date-range mock-outcome-required not-a-test-order order-not-cancelable
	photo-upload-limit-exceeded request-in-progress unauthorized unsupported-photo-url
	orders-open
	capture-link-ended capture-upload-limit-reached confirmation-needed incomplete-photo invalid-photo-index
	missing-photo-indexes second-factor-required
	FILE_TOO_LARGE INVALID_FILE_TYPE RESOLUTION_MISSING RESOLUTION_TOO_LARGE approval-requested claim-limit-reached
	draft-changed email-unusable empty-photo-file unsafe-webhook-url wrong-code wrong-current-code wrong-password
	wrong-sign-in`)

// refusal is one that the program makes, in the words of its source.
type refusal struct{ source, kind, code string }

// refusals finds every refusal in the program, but for files whose path has one of the words.
func refusals(t *testing.T, without ...string) []refusal {
	t.Helper()
	made := regexp.MustCompile(`fault\.New\(\s*([\w.]+),\s*(?:"([^"]+)"|([\w.]+)),`)
	constant := regexp.MustCompile(`(?m)^\s*(?:const )?(\w+)(?: +\w+)? *= "([A-Za-z_-]+)"`)
	values := make(map[string]string)
	var sources []string
	without = append(without, "testkit", "_test.go")
	root := filepath.Join("..", "..", "..", "internal")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		left := func(word string) bool { return strings.Contains(path, word) }
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || slices.ContainsFunc(without, left) {
			return err
		}
		content, err := os.ReadFile(filepath.Clean(path))
		sources = append(sources, string(content))
		for _, m := range constant.FindAllStringSubmatch(string(content), -1) {
			if strings.HasPrefix(strings.ToLower(m[1]), "code") {
				values[m[1]] = m[2]
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []refusal
	for _, source := range sources {
		for _, m := range made.FindAllStringSubmatch(source, -1) {
			code := m[2]
			if name := m[3][strings.LastIndexByte(m[3], '.')+1:]; name == "Code" {
				continue // that of another refusal
			} else if name != "" {
				code = values[name]
			}
			found = append(found, refusal{m[0], m[1], code})
		}
	}
	if len(found) < 50 {
		t.Errorf("only %d refusals were found", len(found))
	}
	return found
}

// TestCodesOfProgram finds every refusal in the program below the pages. Its code is explained in the guide, or is one
// of those that only pages show.
func TestCodesOfProgram(t *testing.T) {
	explained, unused := Codes(), slices.Clone(onlyOnPages)
	for _, r := range refusals(t, "pages", "signin") {
		unused = slices.DeleteFunc(unused, func(c string) bool { return c == r.code })
		if !slices.Contains(explained, r.code) && !slices.Contains(onlyOnPages, r.code) {
			t.Errorf("the code %q (%s) is not explained", r.code, r.source)
		}
	}
	if len(unused) > 0 {
		t.Errorf("no refusal has the codes %q any more", unused)
	}
}

// TestTextsOfCodes checks that pages have a text in the visitor's language for every refusal that they tell. They do
// not tell what does not exist or has failed.
func TestTextsOfCodes(t *testing.T) {
	site := uitest.Site(t, time.Now, portal.Area, desk.Area, admin.Area)
	untold := []string{"fault.NotFound", "fault.Unavailable", "fault.Internal"}
	unused := slices.Clone(notInTexts)
	for _, r := range refusals(t) {
		has := func(area string) bool { return site.Messages.Has(area + ".fault." + r.code) }
		switch {
		case slices.Contains(untold, r.kind), slices.ContainsFunc([]string{"ui", "portal", "desk", "admin", "signin"}, has):
		case slices.Contains(notInTexts, r.code):
			unused = slices.DeleteFunc(unused, func(c string) bool { return c == r.code })
		default:
			t.Errorf("pages have no text for the code %q (%s)", r.code, r.source)
		}
	}
	if len(unused) > 0 {
		t.Errorf("no refusal without a text has the codes %q any more", unused)
	}
}

// problemCodes are the codes of broken rules in the source of what reads the requests of integrators.
func problemCodes(t *testing.T) []string {
	t.Helper()
	var out []string
	add := func(e ast.Expr) {
		if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			code, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, code)
		}
	}
	var constants bool
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr: // the code stands before the message
			name := calledName(n)
			said := slices.Contains([]string{"Problem", "problem", "InvalidField"}, name) ||
				strings.EqualFold(name, "add") && len(n.Args) == 3
			if said && len(n.Args) > 1 {
				add(n.Args[len(n.Args)-2])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
				add(n.Value)
			}
		case *ast.ValueSpec:
			if constants && strings.HasPrefix(n.Names[0].Name, "Code") {
				add(n.Values[0])
			}
		}
		return true
	}
	for _, folder := range []string{"api/integration", "httpx/input", "domain/webhook"} {
		constants = folder == "httpx/input" // elsewhere they are the codes of refusals
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, visit)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// calledName is the last part of the name of what is called.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// TestProblemCodes checks that the guide of errors has every code of a broken rule in its table, and no other.
func TestProblemCodes(t *testing.T) {
	want := problemCodes(t)
	for _, l := range text.Locales {
		content, err := guides.Read("errors", l)
		if err != nil {
			t.Fatal(err)
		}
		_, section, _ := strings.Cut(string(content), "\n### `validation-error`\n")
		section, _, _ = strings.Cut(section, "\n### ")
		var got []string
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(section, -1) {
			for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
				got = append(got, code[1])
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the table has\n%q\nthe program has\n%q", l, got, want)
		}
	}
}
