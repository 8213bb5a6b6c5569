package expect

import (
	"os"
	"strings"
	"testing"
)

// Golden fails the test unless a text is what a file has, byte for byte. With ASSAY_UPDATE_GOLDEN=1 it writes the file
// instead: read the diff before you commit it.
func Golden(t testing.TB, file, got string) {
	t.Helper()
	if os.Getenv("ASSAY_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: ASSAY_UPDATE_GOLDEN=1 writes it", err)
	}
	if want := string(read); got != want {
		have, should, line := differingLines(got, want)
		t.Errorf("%s differs from line %d on; got\n%swant\n%sASSAY_UPDATE_GOLDEN=1 rewrites it", file, line, have, should)
	}
}

// differingLines returns the lines of two texts from the first that differs, not very many of them, and its number.
func differingLines(a, b string) (inA, inB string, line int) {
	linesA, linesB := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	first := 0
	for first < min(len(linesA), len(linesB)) && linesA[first] == linesB[first] {
		first++
	}
	some := func(lines []string) string {
		return strings.TrimSuffix(strings.Join(lines[first:min(first+20, len(lines))], ""), "\n") + "\n"
	}
	return some(linesA), some(linesB), first + 1
}
