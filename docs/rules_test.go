package docs_test

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
)

// rule is a row of rules.md.
type rule struct {
	line   int
	id     string
	text   string
	source string
	tests  []string
}

var (
	ruleID   = regexp.MustCompile(`^[A-Z]{2,4}-[0-9]{2}$`)
	testName = regexp.MustCompile("`([^`]+)`")
)

// readRules returns the rows of the tables in rules.md.
func readRules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for i, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| Id ") {
			continue
		}
		if len(cells) != 4 {
			t.Errorf("rules.md:%d: a row has 4 cells, not %d", i+1, len(cells))
			continue
		}
		for c := range cells {
			cells[c] = strings.TrimSpace(cells[c])
		}
		r := rule{line: i + 1, id: cells[0], text: cells[1], source: cells[2]}
		for _, m := range testName.FindAllStringSubmatch(cells[3], -1) {
			r.tests = append(r.tests, m[1])
		}
		rules = append(rules, r)
	}
	return rules
}

// TestRules checks that every rule has an id of its own, a source and a test that exists.
func TestRules(t *testing.T) {
	rules := readRules(t)
	if len(rules) < 200 {
		t.Errorf("rules.md has %d rules: rows were lost", len(rules))
	}
	known := findTests(t, "..")
	seen := make(map[string]bool)
	for _, r := range rules {
		switch {
		case !ruleID.MatchString(r.id):
			t.Errorf("rules.md:%d: %q is not an id such as ORD-07", r.line, r.id)
		case seen[r.id]:
			t.Errorf("rules.md:%d: the id %s is used twice", r.line, r.id)
		case r.text == "" || r.source == "":
			t.Errorf("rules.md:%d: %s lacks its words or its source", r.line, r.id)
		case len(r.tests) == 0:
			t.Errorf("rules.md:%d: %s has no test", r.line, r.id)
		}
		seen[r.id] = true
		for _, name := range r.tests {
			if !known.has(name) {
				t.Errorf("rules.md:%d: %s names the test %s, which does not exist", r.line, r.id, name)
			}
		}
	}
}

// tests are the tests of the tree: the names of subtests by package and function. A package is named by its folder,
// or by its last two folders (service/signin) where others have the same name.
type tests map[string]map[string]map[string]bool

// has reports whether a test such as integration.TestCreateOrder/NotEnoughCredits exists. The engines of a test stand
// between its name and its subtests and are left out.
func (all tests) has(name string) bool {
	pkg, path, ok := strings.Cut(name, ".")
	if !ok {
		return false
	}
	parts := strings.Split(path, "/")
	subtests, ok := all[pkg][parts[0]]
	return ok && !slices.ContainsFunc(parts[1:], func(sub string) bool { return !subtests[sub] })
}

// findTests reads the sources of all tests below a folder. Names of subtests are found where they are written: as the
// first argument of Run, as the field name of a table's row, as the first value of a row, or as the key of a map.
func findTests(t *testing.T, root string) tests {
	t.Helper()
	all := make(tests)
	folders := make(map[string][]*ast.File)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, files := range folders {
		base, declared := filepath.Base(folder), declarations(files)
		for _, pkg := range []string{base, filepath.Base(filepath.Dir(folder)) + "/" + base} {
			if all[pkg] == nil {
				all[pkg] = make(map[string]map[string]bool)
			}
			for name := range declared {
				if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") {
					all[pkg][name] = subtestsOf(name, declared)
				}
			}
		}
	}
	return all
}

// declarations returns what a package's tests declare at the top, by name.
func declarations(files []*ast.File) map[string]ast.Node {
	declared := make(map[string]ast.Node)
	for _, file := range files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declared[d.Name.Name] = d
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for _, name := range v.Names {
							declared[name.Name] = v
						}
					}
				}
			}
		}
	}
	return declared
}

// subtestsOf returns the names that a test and all it uses of its package may give to subtests.
func subtestsOf(name string, declared map[string]ast.Node) map[string]bool {
	names, visited := make(map[string]bool), make(map[string]bool)
	var visit func(string)
	visit = func(name string) {
		node, ok := declared[name]
		if !ok || visited[name] {
			return
		}
		visited[name] = true
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				visit(n.Name)
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Run" && len(n.Args) > 0 {
					add(names, n.Args[0])
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "name" {
					add(names, n.Value)
				}
				add(names, n.Key)
			case *ast.CompositeLit:
				if len(n.Elts) > 0 {
					add(names, n.Elts[0])
				}
			}
			return true
		})
	}
	visit(name)
	return names
}

// add adds the value of a string literal.
func add(names map[string]bool, e ast.Expr) {
	if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		if s, err := strconv.Unquote(literal.Value); err == nil {
			names[s] = true
		}
	}
}
