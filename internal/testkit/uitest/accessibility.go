package uitest

import (
	_ "embed" // the checks that run in the page
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

var (
	//go:embed accessibility.js
	accessibilityCheck string
	//go:embed layout.js
	layoutCheck string
)

// CheckAccessibility fails for what keeps people from using the page, as two checkers see it: names that are missing,
// contrast that is too low, a broken outline, a page wider than its screen; and what axe-core calls serious or
// critical.
func (b *Browser) CheckAccessibility() {
	b.t.Helper()
	b.refuse(b.AccessibilityProblems())
}

func (b *Browser) refuse(problems []string) {
	b.t.Helper()
	for _, p := range problems {
		b.t.Errorf("accessibility of %s: %s", b.Path(), p)
	}
}

// AccessibilityProblems returns what CheckAccessibility would fail for.
func (b *Browser) AccessibilityProblems() []string {
	b.t.Helper()
	return append(b.ownProblems(), b.axeProblems(true)...)
}

func (b *Browser) ownProblems() []string {
	b.t.Helper()
	return b.run(accessibilityCheck)
}

// layoutProblems returns what is cut off, lies over something else or leaves its box on this screen.
func (b *Browser) layoutProblems() []string {
	b.t.Helper()
	return b.run(layoutCheck)
}

// run calls the function that a script is, when the page has answered to the size of its screen.
func (b *Browser) run(check string) []string {
	b.t.Helper()
	for strings.HasPrefix(check, "//") {
		_, check, _ = strings.Cut(check, "\n")
	}
	return evalWithin[[]string](b, axeLimit,
		"new Promise((done) => requestAnimationFrame(() => setTimeout(done))).then("+check+")")
}

// axeScript reads axe-core, an accessibility checker that scripts/install-axe downloads into .tools at the root of the
// project; tests run in the folder of their package, somewhere below.
var axeScript = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	for {
		found, err := filepath.Glob(filepath.Join(dir, ".tools", "axe-core-*.min.js"))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			script, err := os.ReadFile(found[0])
			return string(script), err
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("axe-core is missing: run scripts/install-test-deps; " +
				"`make test-fast` runs the tests that do not need it")
		}
		dir = filepath.Dir(dir)
	}
})

// axeLimit is for the largest page, the reference of the API, on a busy machine.
const axeLimit = 3 * time.Minute

// violation is a rule of axe that a page breaks.
type violation struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML string `json:"html"`
	} `json:"nodes"`
}

// axeProblems returns the serious and critical problems that axe finds in the page. Whoever computes the contrast
// themselves leaves it out: it is most of the time.
func (b *Browser) axeProblems(contrast bool) []string {
	b.t.Helper()
	script, err := axeScript()
	if err != nil {
		b.t.Fatal(err)
	}
	found := evalWithin[string](b, axeLimit,
		fmt.Sprintf(`%s; axe.run(document, { resultTypes: ["violations"], rules: { "color-contrast": { enabled: %t } } }).
			then((r) => JSON.stringify(r.violations))`, script, contrast))
	var violations []violation
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.t.Fatal(err)
	}
	var problems []string
	for _, v := range violations {
		if v.Impact != "serious" && v.Impact != "critical" {
			continue
		}
		for _, n := range v.Nodes {
			problems = append(problems, fmt.Sprintf("axe: %s (%s, %s): %.300s", v.Help, v.ID, v.Impact, n.HTML))
		}
	}
	return problems
}
