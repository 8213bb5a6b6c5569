package cli_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// begun returns the folder of an installation with an account, and a copy of it for every call.
func begun(t *testing.T, environment map[string]string) func(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	for _, args := range [][]string{
		{"accounts", "create", "--name", "A", "--owner", "a@a.example"},
		{"catalog", "import", "../../test/e2e/testdata/catalog.yaml"},
	} {
		if code, _, stderr := run(t, data, environment, args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	return func(t *testing.T) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "data")
		must.NoError(t, os.CopyFS(dir, os.DirFS(data)))
		return dir
	}
}

// report runs a check that finds problems.
func report(t *testing.T, data string, environment map[string]string) *proof.Report {
	t.Helper()
	code, stdout, stderr := run(t, data, environment, "check", "--json")
	r := new(proof.Report)
	if err := json.Unmarshal([]byte(stdout), r); code != 1 || err != nil || r.OK || r.ProblemCount == 0 {
		t.Fatalf("status %d, %q, %s", code, stdout, stderr)
	}
	if !strings.Contains(stderr, "problem") {
		t.Errorf("standard error: %s", stderr)
	}
	return r
}

func wantKind(t *testing.T, r *proof.Report, kind proof.ProblemKind, id string) {
	t.Helper()
	if !slices.ContainsFunc(r.Problems, func(p proof.Problem) bool { return p.Kind == kind && (id == "" || p.ID == id) }) {
		t.Errorf("no %s %s: %+v", kind, id, r)
	}
}

// listing returns the names of all files and folders below a folder, with their content.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	must.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			content, e := os.ReadFile(filepath.Join(dir, path))
			files[path], err = string(content), e
			return err
		}
		files[path] = ""
		return err
	}))
	return files
}

// TestCheckChangesNothing: a check makes no folder and no file, not even for a lock, and changes none.
func TestCheckChangesNothing(t *testing.T) {
	t.Parallel()
	data := begun(t, nil)(t)
	must.NoError(t, os.RemoveAll(filepath.Join(data, "media")))
	must.NoError(t, os.Remove(filepath.Join(data, "assay.db.lock")))
	before := listing(t, data)
	code, stdout, stderr := run(t, data, nil, "check", "--deep")
	if code != 0 || !strings.Contains(stdout, "0 problems") {
		t.Errorf("status %d, %s, %s", code, stdout, stderr)
	}
	after := listing(t, data)
	for name, content := range after {
		if was, existed := before[name]; !existed || was != content {
			t.Errorf("%s was made or changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files and folders, there were %d", len(after), len(before))
	}
}

// TestCheckBroken: what is so broken that it cannot be opened gives a report, too.
func TestCheckBroken(t *testing.T) {
	t.Parallel()
	fresh := begun(t, nil)
	write := func(change func(content []byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			content, err := os.ReadFile(path)
			must.NoError(t, err)
			must.NoError(t, os.WriteFile(path, change(content), 0o600))
		}
	}
	statement := func(sql string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			rawsql.Exec(t, path, sql)
		}
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, path string)
		want   proof.ProblemKind
		id     string
	}{
		{"NoDatabase", write(func([]byte) []byte { return []byte(strings.Repeat("no database ", 1000)) }), "", ""},
		{"Header", write(func(b []byte) []byte { return append([]byte("SQLite format 4\x00"), b[16:]...) }), "", ""},
		{"FirstPage", write(func(b []byte) []byte {
			for i := 100; i < 4096; i++ {
				b[i] ^= 0x5a
			}
			return b
		}), "", ""},
		{"CutInHalf", write(func(b []byte) []byte { return b[:len(b)/2] }), "", ""},
		{"Schema", statement("DROP TABLE catalog_versions; DROP TABLE sealed_keys"), proof.Schema, "sealed_keys"},
		{"SealedKeys", statement("DELETE FROM sealed_keys"), proof.SecretBroken, "certificates-live"},
		{"SealedKey", statement("DELETE FROM sealed_keys WHERE id = 'audit-chains'"), proof.SecretBroken, "audit-chains"},
		{"VersionTable", statement("DROP TABLE goose_db_version"), proof.Schema, "goose_db_version"},
		{"Version", statement("DELETE FROM goose_db_version"), proof.Schema, "goose_db_version"},
		{"Catalog", statement("UPDATE catalog_versions SET document = 'x' || document"), proof.CatalogBroken, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := fresh(t)
			c.damage(t, filepath.Join(data, "assay.db"))
			kind := c.want
			if kind == "" {
				kind = proof.DatabaseCorrupt
			}
			wantKind(t, report(t, data, nil), kind, c.id)
		})
	}
	t.Run("OtherCommands", func(t *testing.T) {
		data := fresh(t)
		rawsql.Exec(t, filepath.Join(data, "assay.db"), "UPDATE catalog_versions SET document = 'x' || document")
		code, _, stderr := run(t, data, nil, "accounts", "list")
		if code != 1 || !strings.Contains(stderr, "stored in the database") || !strings.Contains(stderr, "catalog_versions") {
			t.Errorf("status %d, %s", code, stderr)
		}
	})
	t.Run("OtherCommandsWithoutVersion", func(t *testing.T) {
		data := fresh(t)
		wantVersionLost(t, data, filepath.Join(data, "assay.db"), nil)
	})
}

// wantVersionLost takes the version of the schema away: what opens the database says so, and leaves it as it is.
func wantVersionLost(t *testing.T, data, database string, environment map[string]string) {
	t.Helper()
	rawsql.Exec(t, database, "DROP TABLE goose_db_version")
	for _, args := range [][]string{
		{"accounts", "list"},
		{"accounts", "create", "--name", "B", "--owner", "b@b.example"},
		{"backup", filepath.Join(t.TempDir(), "copy")},
		{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"},
	} {
		code, _, stderr := run(t, data, environment, args...)
		if code != 1 || !strings.Contains(stderr, "goose_db_version") || strings.Contains(stderr, "no installation") {
			t.Errorf("%q: status %d, %s", args, code, stderr)
		}
	}
	wantKind(t, report(t, data, environment), proof.Schema, "goose_db_version")
}

// TestCheckBrokenPostgres is TestCheckBroken for what can be broken there.
func TestCheckBrokenPostgres(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	environment := map[string]string{"ASSAY_DATABASE": database, "ASSAY_SECRET_KEY": strings.Repeat("k", 64)}
	data := begun(t, environment)(t)
	if code, stdout, stderr := run(t, data, environment, "check", "--deep"); code != 0 {
		t.Fatalf("status %d, %s, %s", code, stdout, stderr)
	}
	rawsql.Exec(t, database, "UPDATE catalog_versions SET document = 'x' || document")
	wantKind(t, report(t, data, environment), proof.CatalogBroken, "1")
	rawsql.Exec(t, database, "DROP TABLE catalog_versions; DROP TABLE sealed_keys")
	r := report(t, data, environment)
	wantKind(t, r, proof.Schema, "sealed_keys")
	wantKind(t, r, proof.Schema, "catalog_versions")
	wantVersionLost(t, data, database, environment)
}
