package uitest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

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
