package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReliability checks that every test that reliability.md names exists.
func TestReliability(t *testing.T) {
	text, err := os.ReadFile("reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
			known[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 20 {
		t.Errorf("reliability.md names %d tests", len(named))
	}
	for _, m := range named {
		if !known[m[1]] {
			t.Errorf("reliability.md names %s, which does not exist", m[1])
		}
	}
}
