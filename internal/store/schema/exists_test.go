package schema_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/dump"
	"github.com/assayhq/assay/internal/store/schema"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestExists_NoVersion: tables without a schema version are no empty database. Nothing is made there, so that it can be
// put right.
func TestExists_NoVersion(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		if exists, err := schema.Exists(t.Context(), target); exists || err != nil {
			t.Errorf("nothing: %v, %v", exists, err)
		}
		newest, err := schema.NewestVersion()
		must.NoError(t, err)
		opens := func() {
			t.Helper()
			s, err := store.Open(t.Context(), target)
			must.NoError(t, err)
			must.NoError(t, s.Close())
		}
		opens()
		if exists, err := schema.Exists(t.Context(), target); !exists || err != nil {
			t.Errorf("an installation: %v, %v", exists, err)
		}
		for lost, back := range map[string]string{
			"UPDATE goose_db_version SET version_id = -version_id": "UPDATE goose_db_version SET version_id = -version_id",
			"ALTER TABLE goose_db_version RENAME TO kept":          "ALTER TABLE kept RENAME TO goose_db_version",
		} {
			rawsql.Exec(t, target, lost)
			if _, err := schema.Exists(t.Context(), target); !errors.Is(err, schema.ErrNoVersion) {
				t.Errorf("%s: Exists: %v", lost, err)
			}
			if err := dump.CanLoad(t.Context(), target, newest); !errors.Is(err, schema.ErrNoVersion) {
				t.Errorf("%s: CanLoad: %v", lost, err)
			}
			if _, err := store.Open(t.Context(), target); !errors.Is(err, schema.ErrNoVersion) {
				t.Errorf("%s: Open: %v", lost, err)
			}
			rawsql.Exec(t, target, back) // nothing has made another one
			opens()
		}
	})
}

// TestExists_LeavesNothing: a look at a database leaves its folder as it was.
func TestExists_LeavesNothing(t *testing.T) {
	target := storetest.SQLite(t)
	files := func() (names []string) {
		entries, err := os.ReadDir(filepath.Dir(target))
		must.NoError(t, err)
		for _, e := range entries {
			info, err := e.Info()
			must.NoError(t, err)
			names = append(names, e.Name(), info.ModTime().String())
		}
		return names
	}
	look := func(when string, want bool) {
		t.Helper()
		before := files()
		if exists, err := schema.Exists(t.Context(), target); exists != want || err != nil {
			t.Errorf("%s: %v, %v", when, exists, err)
		}
		if after := files(); !slices.Equal(before, after) {
			t.Errorf("%s: there was %v, and now is %v", when, before, after)
		}
	}
	look("nothing", false)
	s, err := store.Open(t.Context(), target)
	must.NoError(t, err)
	look("open", true)
	must.NoError(t, s.Close())
	look("closed", true)
}
