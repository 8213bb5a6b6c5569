package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxProblems bounds the error report for a document that is wrong throughout.
const maxProblems = 10_000

// Problem is one broken rule of a catalog document.
type Problem struct {
	Line    int    `json:"line"`    // in the document, from 1
	Path    string `json:"path"`    // such as photo_indexes[3].photo_limit; empty for the document as a whole
	Message string `json:"message"` // the rule in words
}

func (p Problem) String() string {
	if p.Path == "" {
		return fmt.Sprintf("line %d: %s", p.Line, p.Message)
	}
	return fmt.Sprintf("line %d: %s: %s", p.Line, p.Path, p.Message)
}

// DocumentError is returned for an invalid document. It has all problems, sorted by line.
type DocumentError struct {
	Problems []Problem `json:"problems"`
}

// Error lists every problem, one on each line.
func (e *DocumentError) Error() string {
	var b strings.Builder
	if len(e.Problems) == 1 {
		b.WriteString("the catalog document has 1 problem:")
	} else {
		fmt.Fprintf(&b, "the catalog document has %d problems:", len(e.Problems))
	}
	for _, p := range e.Problems {
		b.WriteString("\n  ")
		b.WriteString(p.String())
	}
	return b.String()
}

// documentError returns nil when there is no problem.
func documentError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return &DocumentError{Problems: problems}
}

func tooManyProblems(line int) Problem {
	return Problem{Line: line, Message: fmt.Sprintf("there are more problems; the first %d are listed", maxProblems)}
}

// quote quotes and shortens a value of the document for a message.
func quote(s string) string {
	const longest = 60
	n := 0
	for i := range s {
		if n == longest {
			return strconv.Quote(s[:i] + "…")
		}
		n++
	}
	return strconv.Quote(s)
}
