package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// numbered is the beginning of the row of a risk or chapter.
var numbered = regexp.MustCompile(`^\| (API|V)[0-9]+ `)

// TestSecurity checks that every risk and chapter has a test that exists.
func TestSecurity(t *testing.T) {
	text, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	known := findTests(t, "..")
	rows := 0
	for i, line := range strings.Split(string(text), "\n") {
		if !numbered.MatchString(line) {
			continue
		}
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "| "), " ")
		rows++
		cells := strings.Split(strings.Trim(rest, "|"), " | ")
		named := testName.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(named) == 0 && !strings.Contains(rest, "not used") {
			t.Errorf("security.md:%d: %s has no test", i+1, name)
		}
		for _, m := range named {
			if !known.has(m[1]) {
				t.Errorf("security.md:%d: %s names the test %s, which does not exist", i+1, name, m[1])
			}
		}
	}
	if rows != 10+17 {
		t.Errorf("security.md has %d rows: 10 risks and 17 chapters", rows)
	}
}
