package cli_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
)

// TestUnusableDatabase checks that commands say why the database cannot be used, and where it is, without its password.
func TestUnusableDatabase(t *testing.T) {
	const refused = "postgres://assay:hunter2@127.0.0.1:1/assay"
	key := strings.Repeat("k", 64)
	begun := t.TempDir()
	if code, _, stderr := run(t, begun, nil, "accounts", "create", "--name", "A", "--owner", "a@a.example"); code != 0 {
		t.Fatal(stderr)
	}
	folder := t.TempDir() // whose database cannot be opened
	must.NoError(t, os.Mkdir(filepath.Join(folder, "assay.db"), 0o700))
	words := strings.NewReplacer("REFUSED", refused, "KEY", key, "BEGUN", begun, "EMPTY", t.TempDir(), "FOLDER", folder)
	for _, c := range []struct {
		call string
		want []string
	}{
		{"accounts list --database REFUSED --secret-key KEY", []string{"127.0.0.1:1", "refused"}},
		{
			"staff create --email a@a.example --name N --role admin --database REFUSED --secret-key KEY",
			[]string{"127.0.0.1:1", "refused"},
		},
		{"accounts list --data FOLDER", []string{filepath.Join(folder, "assay.db") + ": ", "unable to open database file"}},
		{
			"move --from-database REFUSED --from-secret-key KEY --to-data EMPTY",
			[]string{"the installation to move: ", "refused"},
		},
		{"move --from-data BEGUN --to-data EMPTY --to-database REFUSED", []string{"the new place: ", "refused"}},
		{"move --from-data BEGUN --to-data FOLDER", []string{"the new place: ", folder}},
	} {
		wantCause(t, nil, strings.Fields(words.Replace(c.call)), c.want...)
	}
	t.Run("UnknownDatabase", func(t *testing.T) {
		address, err := url.Parse(pgtest.Database(t))
		must.NoError(t, err)
		address.Path = "/nowhere"
		wantCause(t, map[string]string{"ASSAY_SECRET_KEY": key, "ASSAY_DATABASE": address.String()},
			[]string{"accounts", "list"}, `database "nowhere" does not exist`)
	})
}

func wantCause(t *testing.T, set map[string]string, args []string, want ...string) {
	t.Helper()
	code, stdout, stderr := run(t, t.TempDir(), set, args...)
	if code != 1 || stdout != "" || strings.Contains(stderr, "hunter2") || strings.Contains(stderr, `\u0009`) {
		t.Errorf("%q: status %d, says %q and %q", args, code, stdout, stderr)
	}
	for _, text := range want {
		if !strings.Contains(stderr, text) {
			t.Errorf("%q says %q, not %q", args, stderr, text)
		}
	}
}
