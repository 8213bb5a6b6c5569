package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	_ "time/tzdata" // the program embeds it too
)

func example(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// edited returns the example with replacements, each of text that occurs exactly once.
func edited(t testing.TB, oldnew ...string) string {
	t.Helper()
	s := example(t)
	for i := 0; i < len(oldnew); i += 2 {
		if n := strings.Count(s, oldnew[i]); n != 1 {
			t.Fatalf("the example has %q %d times, not once", oldnew[i], n)
		}
		s = strings.Replace(s, oldnew[i], oldnew[i+1], 1)
	}
	return s
}

func parse(t testing.TB, data string) *Document {
	t.Helper()
	doc, err := Parse([]byte(data))
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, data)
	}
	return doc
}

func problemsOf(t testing.TB, err error) []Problem {
	t.Helper()
	if err == nil {
		t.Fatal("the document was accepted")
	}
	refusal, ok := errors.AsType[*DocumentError](err)
	if !ok {
		t.Fatalf("%T is not a *DocumentError: %v", err, err)
	}
	return refusal.Problems
}

// wantProblems compares all problems. A wanted one is "LINE PATH: part of the message"; the path may be empty.
func wantProblems(t testing.TB, err error, want ...string) {
	t.Helper()
	problems := problemsOf(t, err)
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	if len(problems) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%s", len(problems), len(want), strings.Join(lines, "\n"))
	}
	for i, p := range problems {
		place, message, _ := strings.Cut(want[i], ": ")
		if got := strings.TrimSpace(fmt.Sprintf("%d %s", p.Line, p.Path)); got != place ||
			!strings.Contains(p.Message, message) {
			t.Errorf("problem %d:\n got %s: %s\nwant %s", i, got, p.Message, want[i])
		}
	}
}

// Equal reports whether two documents are equal.
func (d *Document) Equal(other *Document) bool {
	a, errA := d.JSON()
	b, errB := other.JSON()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
