// Package storetest runs tests over every database engine that the service supports.
package storetest

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/dump"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
)

// Each runs the test as one subtest for each engine, over a fresh database.
func Each(t *testing.T, f func(t *testing.T, s *store.Store)) {
	t.Helper()
	EachTarget(t, func(t *testing.T, target string) { f(t, Open(t, target)) })
}

// EachTarget is Each for tests that open the database themselves.
func EachTarget(t *testing.T, f func(t *testing.T, target string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, pgtest.Database(t)) })
}

// SQLite returns the path of a database that does not exist yet.
func SQLite(t testing.TB) string { return filepath.Join(t.TempDir(), "assay.db") }

// Open opens the database for the time of the test. Its logs are sealed with a key of tests until a service sets its
// own.
func Open(t testing.TB, target string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	must.CloseLater(t, s)
	s.SealLogs(audit.NewChain([]byte("key of tests")))
	return s
}

// Dump returns a dump of the database.
func Dump(t testing.TB, s *store.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := dump.Write(t.Context(), s, &b, time.Now()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
