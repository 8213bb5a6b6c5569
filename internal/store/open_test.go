package store

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/testkit/must"
)

// openTest opens a SQLite database, which is closed at the end of the test.
func openTest(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "assay.db"))
	if err != nil {
		t.Fatal(err)
	}
	must.CloseLater(t, s)
	return s
}

// plan tells how SQLite runs a statement.
func (s *Store) plan(t *testing.T, text string, args []any) string {
	t.Helper()
	var plan []string
	if err := s.db.Rows(t.Context(), "EXPLAIN QUERY PLAN "+text, args, func(scan db.Scanner) error {
		var id, parent, unused int
		var detail string
		err := scan(&id, &parent, &unused, &detail)
		plan = append(plan, detail)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}
