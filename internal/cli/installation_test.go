package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestNoInstallation: a command that does not begin an installation refuses a place without one and leaves it as it is.
func TestNoInstallation(t *testing.T) {
	dir := t.TempDir()
	empty, missing, half := filepath.Join(dir, "empty"), filepath.Join(dir, "missing"), filepath.Join(dir, "half")
	must.NoError(t, os.Mkdir(empty, 0o700))
	must.NoError(t, os.Mkdir(half, 0o700))
	must.NoError(t, os.WriteFile(filepath.Join(half, "assay.db"), nil, 0o600))
	for _, args := range [][]string{
		{"check"},
		{"check", "--json"},
		{"backup", filepath.Join(dir, "backup")},
		{"keys", "list", "--account", "a"},
		{"keys", "create", "--account", "a", "--env", "test", "--name", "n", "--scopes", "all"},
		{"credits", "grant", "--account", "a", "--env", "test", "--amount", "1", "--note", "n"},
		{"catalog", "export"},
		{"secrets", "rotate"},
		{"accounts", "reset-password", "--email", "a@b.example"},
		{"accounts", "reset-second-factor", "--email", "a@b.example"},
		{"staff", "reset-password", "--email", "a@b.example"},
		{"staff", "reset-second-factor", "--email", "a@b.example"},
	} {
		for _, data := range []string{empty, missing, half} {
			code, stdout, stderr := run(t, data, nil, args...)
			if code != 1 || stdout != "" || !strings.Contains(stderr, "no installation here") {
				t.Errorf("%v in %s: status %d, says %q and %q", args, filepath.Base(data), code, stdout, stderr)
			}
		}
	}
	if got := strings.Join(listed(t, dir), " "); got != "empty half half/assay.db" {
		t.Errorf("left behind: %s", got)
	}
}

// TestSecretKey: the key of an installation is neither replaced silently nor mixed with another one.
func TestSecretKey(t *testing.T) {
	data := t.TempDir()
	create := []string{"staff", "create", "--email", "a@b.example", "--name", "A", "--role", "admin"}
	fails := func(t *testing.T, environment map[string]string, want []string, args ...string) {
		t.Helper()
		code, stdout, stderr := run(t, data, environment, args...)
		if code == 0 || stdout != "" {
			t.Errorf("status %d, says %q and %q", code, stdout, stderr)
		}
		for _, w := range want {
			if !strings.Contains(stderr, w) {
				t.Errorf("standard error lacks %q: %s", w, stderr)
			}
		}
	}
	t.Run("Weak", func(t *testing.T) {
		fails(t, map[string]string{"ASSAY_SECRET_KEY": "changeme2026"}, []string{"--secret-key", "at least 32"}, create...)
		if _, err := os.Stat(filepath.Join(data, "assay.db")); err == nil {
			t.Error("an installation was begun")
		}
	})
	if code, _, stderr := run(t, data, nil, create...); code != 0 {
		t.Fatal(stderr)
	}
	keyFile := filepath.Join(data, "secret.key")
	key, err := os.ReadFile(keyFile)
	must.NoError(t, err)
	t.Run("Missing", func(t *testing.T) {
		must.NoError(t, os.Rename(keyFile, keyFile+".away"))
		for _, args := range [][]string{{"check"}, {"serve"}, create} {
			fails(t, nil, []string{"secret.key is missing", "backup", "--secret-key-file"}, args...)
		}
		if _, err := os.Stat(keyFile); err == nil {
			t.Error("a new key was made")
		}
		must.NoError(t, os.Rename(keyFile+".away", keyFile))
	})
	t.Run("Another", func(t *testing.T) {
		environment := map[string]string{"ASSAY_SECRET_KEY": secret.Generate()}
		for _, args := range [][]string{{"check"}, {"serve"}, {"secrets", "rotate"}} {
			fails(t, environment, []string{"--secret-key", "not the one", "--secret-key-previous", "assay secrets rotate"},
				args...)
		}
	})
	t.Run("Rotate", func(t *testing.T) {
		fresh := filepath.Join(t.TempDir(), "fresh.key")
		must.NoError(t, os.WriteFile(fresh, []byte(secret.Generate()+"\n"), 0o600))
		environment := map[string]string{"ASSAY_SECRET_KEY_FILE": fresh}
		rotate := []string{"secrets", "rotate", "--json", "--secret-key-previous-file", keyFile}
		var done struct{ Resealed, Remaining int }
		const forgotten = "warning: --secret-key-previous is not given: there was nothing to replace\n"
		code, stdout, stderr := run(t, data, nil, rotate[:3]...)
		if only(t, stdout, &done); code != 0 || done.Resealed != 0 || done.Remaining != 0 || stderr != forgotten {
			t.Errorf("without the replaced key: status %d, %+v, %s", code, done, stderr)
		}
		code, stdout, stderr = run(t, data, environment, rotate...)
		if only(t, stdout, &done); code != 0 || done.Resealed != 4 || done.Remaining != 0 || stderr != "" {
			t.Errorf("status %d, %+v, %s", code, done, stderr)
		}
		code, stdout, _ = run(t, data, environment, rotate...)
		if only(t, stdout, &done); code != 0 || done.Resealed != 0 || done.Remaining != 0 {
			t.Errorf("again: status %d, %+v", code, done)
		}
		if code, _, stderr := run(t, data, environment, "check"); code != 0 {
			t.Errorf("without the replaced key: %s", stderr)
		}
		fails(t, nil, []string{"secret.key", "not the one"}, "check")
		must.NoError(t, os.WriteFile(keyFile, key, 0o600))
	})
	t.Run("Files", func(t *testing.T) {
		empty := filepath.Join(t.TempDir(), "empty")
		must.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
		fails(t, nil, []string{"is empty"}, "check", "--secret-key-file", empty)
		fails(t, nil, []string{"no such file"}, "check", "--database-file", empty+"x")
		fails(t, map[string]string{"ASSAY_SMTP_URL": "smtp://a", "ASSAY_SMTP_URL_FILE": keyFile},
			[]string{"ASSAY_SMTP_URL and ASSAY_SMTP_URL_FILE"}, "check")
		fails(t, nil, []string{"--secret-key and --secret-key-file"}, "check", "--secret-key", string(key),
			"--secret-key-file", keyFile)
	})
}

// TestNewerSchema: a program that is too old for the schema sends nobody back to a backup whose newer program works.
func TestNewerSchema(t *testing.T) {
	data := t.TempDir()
	create := []string{"staff", "create", "--email", "a@b.example", "--name", "A", "--role", "admin"}
	if code, _, stderr := run(t, data, nil, create...); code != 0 {
		t.Fatal(stderr)
	}
	rawsql.Exec(t, filepath.Join(data, "assay.db"),
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)")
	code, _, stderr := run(t, data, nil, "backup", filepath.Join(t.TempDir(), "backup"))
	const want = "use that version. Only to go back to this one, restore a backup"
	if code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("status %d, %s", code, stderr)
	}
}

// TestLostKey: no command makes a key again that the database has lost.
func TestLostKey(t *testing.T) {
	data := t.TempDir()
	create := []string{"staff", "create", "--email", "a@b.example", "--name", "A", "--role", "admin"}
	if code, _, stderr := run(t, data, nil, create...); code != 0 {
		t.Fatal(stderr)
	}
	database := filepath.Join(data, "assay.db")
	rawsql.Exec(t, database, "DELETE FROM sealed_keys WHERE id = 'certificates-live'")
	for _, args := range [][]string{
		{"check"}, // which reports it
		{"staff", "list"},
		{"audit", "head"},
		{"catalog", "export"},
		{"secrets", "rotate"},
		{"backup", filepath.Join(t.TempDir(), "backup")},
		{"serve", "--listen", "127.0.0.1:0"},
		create,
	} {
		code, stdout, stderr := run(t, data, nil, args...)
		report := args[0] == "check" && strings.Contains(stdout, "certificates-live")
		if code != 1 || (stdout != "") != report || !strings.Contains(stderr, "lost certificates-live") ||
			!strings.Contains(stderr, "restore a backup") {
			t.Errorf("%v: status %d, says %q and %q", args, code, stdout, stderr)
		}
	}
	if kept := rawsql.Rows(t, database, "SELECT COUNT(*) FROM sealed_keys")[0][0]; kept != "3" {
		t.Errorf("%s keys are kept", kept)
	}
}

// TestUnfinishedBeginning: a start that was killed before it had made its keys is gone on with by what may begin an
// installation; to everything else there is none.
func TestUnfinishedBeginning(t *testing.T) {
	for _, name := range []string{"WithoutSecretKey", "WithSecretKey"} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			s, err := store.Open(t.Context(), filepath.Join(data, "assay.db"))
			must.NoError(t, err)
			must.NoError(t, s.Close())
			keyFile := filepath.Join(data, "secret.key")
			if name == "WithSecretKey" {
				must.NoError(t, os.WriteFile(keyFile, []byte(shop.SecretKey+"\n"), 0o600))
			}
			for _, args := range [][]string{{"check"}, {"staff", "list"}, {"secrets", "rotate"}} {
				code, _, stderr := run(t, data, nil, args...)
				if code != 1 || !strings.Contains(stderr, "no installation here") {
					t.Errorf("%v: status %d, says %q", args, code, stderr)
				}
			}
			if _, err := os.Stat(keyFile); name == "WithoutSecretKey" && err == nil {
				t.Error("a reading command has made a secret key")
			}
			code, _, stderr := run(t, data, nil, "staff", "create", "--email", "a@b.example", "--name", "A", "--role", "admin")
			if code != 0 {
				t.Error(stderr)
			}
			if code, _, stderr := run(t, data, nil, "check"); code != 0 {
				t.Error(stderr)
			}
		})
	}
}

// TestAuditHead: the heads that a backup and audit head tell are held against the logs later.
func TestAuditHead(t *testing.T) {
	data := t.TempDir()
	must.NoError(t, os.WriteFile(filepath.Join(data, "secret.key"), []byte(shop.SecretKey+"\n"), 0o600))
	s := shop.New(t, filepath.Join(data, "assay.db"))
	must.NoError(t, os.Symlink(s.MediaDir, filepath.Join(data, "media")))
	s.Trade(t)
	code, stdout, stderr := run(t, data, nil, "audit", "head", "--json")
	var heads []struct {
		Chain, Account, Head string
		Number               int64
	}
	only(t, stdout, &heads)
	if code != 0 || len(heads) != 3 || heads[0].Chain != "administration" || heads[0].Account != "" ||
		heads[1].Account != s.Account.ID || heads[1].Number != 2 || len(heads[1].Head) != 64 ||
		heads[2].Chain != "portal" || heads[2].Account != s.Account.ID || len(heads[2].Head) != 64 {
		t.Fatalf("status %d, %+v, %s", code, heads, stderr)
	}
	kept := filepath.Join(t.TempDir(), "heads.json")
	must.NoError(t, os.WriteFile(kept, []byte(stdout), 0o600))
	code, stdout, stderr = run(t, data, nil, "backup", filepath.Join(t.TempDir(), "backup"))
	for _, h := range heads[1:] {
		if !regexp.MustCompile(`(?m)^` + h.Chain + ` +` + h.Account + ` +\d+ ` + h.Head + `$`).MatchString(stdout) {
			t.Errorf("backup does not say of which log %+v is:\n%s", h, stdout)
		}
	}
	if code != 0 {
		t.Errorf("backup: status %d, says %q and %q", code, stdout, stderr)
	}
	if code, _, stderr := run(t, data, nil, "check", "--deep", "--heads", kept); code != 0 {
		t.Errorf("check: %s", stderr)
	}
	rawsql.Exec(t, s.Target, "UPDATE audit_events SET hash = substr(hash, 2) || 'x' WHERE seq = 2")
	code, stdout, _ = run(t, data, nil, "check", "--heads", kept, "--json")
	if code != 1 || !strings.Contains(stdout, `"audit-kept-head"`) || !strings.Contains(stdout, `"ok":false`) {
		t.Errorf("check: status %d, says %q", code, stdout)
	}
	code, _, stderr = run(t, data, nil, "check", "--heads", s.Target)
	if code != 1 || !strings.Contains(stderr, "--heads") {
		t.Errorf("check: status %d, says %q", code, stderr)
	}
}

// TestInterruptedRestore: nothing begins in a place that is half restored, and the restore can be run again.
func TestInterruptedRestore(t *testing.T) {
	data, fresh := t.TempDir(), t.TempDir()
	create := []string{"staff", "create", "--email", "a@b.example", "--name", "A", "--role", "admin"}
	copied := filepath.Join(t.TempDir(), "backup")
	for _, args := range [][]string{create, {"backup", copied}} {
		if code, _, stderr := run(t, data, nil, args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	if code, _, stderr := run(t, data, nil, "restore", copied); code != 1 || !strings.Contains(stderr, "not empty") {
		t.Errorf("into a filled place: status %d, %s", code, stderr)
	}
	if code, _, stderr := run(t, data, nil, "check"); code != 0 {
		t.Errorf("the refused restore has left something: %s", stderr)
	}
	// As it is when the restore was killed while it read the backup, after the secrets, and at its end.
	var manifest struct {
		Sums string `json:"sums_sha256"`
	}
	content, err := os.ReadFile(filepath.Join(copied, "manifest.json"))
	must.NoError(t, err)
	must.NoError(t, json.Unmarshal(content, &manifest))
	key, err := os.ReadFile(filepath.Join(data, "secret.key"))
	must.NoError(t, err)
	marker := filepath.Join(fresh, "restore.unfinished")
	const note = "assay restore has not ended: run it again\n"
	began := note + manifest.Sums + "\nthe backup\n"
	database := sha256.Sum256([]byte(filepath.Join(fresh, "assay.db")))
	place := hex.EncodeToString(database[:]) + "\n"
	for _, killed := range []struct {
		name, marker string
		key, keep    bool
	}{
		{name: "Reading", marker: note},
		{name: "AfterSecrets", marker: began + place, key: true},
		{name: "AtTheEnd", marker: began + place, keep: true},
	} {
		t.Run(killed.name, func(t *testing.T) {
			if !killed.keep {
				must.NoError(t, os.RemoveAll(fresh))
				must.NoError(t, os.Mkdir(fresh, 0o700))
			}
			must.NoError(t, os.WriteFile(marker, []byte(killed.marker), 0o600))
			if killed.key {
				must.NoError(t, os.WriteFile(filepath.Join(fresh, "secret.key"), key, 0o600))
			}
			for _, args := range [][]string{create, {"serve"}, {"check"}} {
				if code, _, stderr := run(t, fresh, nil, args...); code != 1 || !strings.Contains(stderr, marker) ||
					!strings.Contains(stderr, "run assay restore again") {
					t.Errorf("%v: status %d, %s", args, code, stderr)
				}
			}
			if code, _, stderr := run(t, fresh, nil, "restore", copied); code != 0 {
				t.Errorf("again: %s", stderr)
			}
			if code, _, stderr := run(t, fresh, nil, "check"); code != 0 {
				t.Errorf("check: %s", stderr)
			}
		})
	}
	t.Run("AnotherDatabase", func(t *testing.T) { // which is filled, and not by the restore that was interrupted
		content := began + strings.Repeat("0", 64) + "\n"
		must.NoError(t, os.WriteFile(marker, []byte(content), 0o600))
		code, _, stderr := run(t, fresh, nil, "restore", copied)
		if code != 1 || !strings.Contains(stderr, "not empty") {
			t.Errorf("status %d, %s", code, stderr)
		}
		if left, err := os.ReadFile(marker); err != nil || string(left) != content {
			t.Errorf("the marker says %q, %v", left, err)
		}
	})
	t.Run("AnotherBackup", func(t *testing.T) {
		content := note + strings.Repeat("0", 64) + "\nthe backup of 2026-01-02T03:04:05Z in /srv/copy\n"
		for range 2 { // with the database, and before it
			must.NoError(t, os.WriteFile(marker, []byte(content), 0o600))
			before := listed(t, fresh)
			code, _, stderr := run(t, fresh, nil, "restore", copied)
			if code != 1 || !strings.Contains(stderr, "another backup, the backup of 2026-01-02T03:04:05Z in /srv/copy,") {
				t.Errorf("status %d, %s", code, stderr)
			}
			if left, err := os.ReadFile(marker); err != nil || string(left) != content {
				t.Errorf("the marker says %q, %v", left, err)
			}
			if after := listed(t, fresh); !slices.Equal(after, before) {
				t.Errorf("there is %q, there was %q", after, before)
			}
			must.NoError(t, os.RemoveAll(fresh))
			must.NoError(t, os.Mkdir(fresh, 0o700))
		}
	})
}

// TestRefusedRestore: a backup that cannot be restored leaves the place as it was.
func TestRefusedRestore(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	copied := filepath.Join(dir, "backup")
	for _, args := range [][]string{
		{"staff", "create", "--email", "a@b.example", "--name", "A", "--role", "admin"}, {"backup", copied},
	} {
		if code, _, stderr := run(t, data, nil, args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	damaged := filepath.Join(dir, "damaged")
	must.NoError(t, os.CopyFS(damaged, os.DirFS(copied)))
	must.NoError(t, os.WriteFile(filepath.Join(damaged, "secrets", "secret.key"), []byte("x"), 0o600))
	must.NoError(t, os.Mkdir(filepath.Join(dir, "none"), 0o700))
	for name, want := range map[string]string{
		"missing": "no such file", "none": "no complete backup", "damaged": "secret.key is damaged",
	} {
		for _, place := range []string{"empty", "new/folder", "killed"} {
			t.Run(name+"/"+place, func(t *testing.T) {
				home := t.TempDir()
				target := filepath.Join(home, place)
				switch place {
				case "empty":
					must.NoError(t, os.Mkdir(target, 0o700))
				case "killed": // while another restore read its backup
					must.NoError(t, os.Mkdir(target, 0o700))
					must.NoError(t, os.WriteFile(filepath.Join(target, "restore.unfinished"), nil, 0o600))
				}
				code, stdout, stderr := run(t, target, nil, "restore", filepath.Join(dir, name))
				if code != 1 || stdout != "" || !strings.Contains(stderr, want) {
					t.Errorf("status %d, says %q and %q", code, stdout, stderr)
				}
				want := map[string]string{"empty": "empty", "new/folder": "", "killed": "killed"}[place]
				if place == "killed" && name != "damaged" {
					want = "killed killed/restore.unfinished"
				}
				if got := strings.Join(listed(t, home), " "); got != want {
					t.Errorf("left behind: %s", got)
				}
			})
		}
	}
}

// TestRestore_NoVersion: a database that has lost its schema version is neither filled nor begun again, and stays as it
// is.
func TestRestore_NoVersion(t *testing.T) {
	data, copied := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	create := []string{"staff", "create", "--email", "a@b.example", "--name", "A", "--role", "admin"}
	for _, args := range [][]string{create, {"backup", copied}} {
		if code, _, stderr := run(t, data, nil, args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	target := filepath.Join(data, "assay.db")
	rawsql.Exec(t, target, "ALTER TABLE goose_db_version RENAME TO kept")
	files := func() []string { // without the lock, and what SQLite keeps beside a database that was looked at
		return slices.DeleteFunc(listed(t, data), func(name string) bool {
			return name == "server.lock" || strings.HasPrefix(name, "assay.db-")
		})
	}
	before := files()
	for _, args := range [][]string{{"restore", copied}, {"serve", "--listen", "127.0.0.1:0"}, create, {"check"}} {
		code, _, stderr := run(t, data, nil, args...)
		if code != 1 || !strings.Contains(stderr, "no schema version") {
			t.Errorf("%v: status %d, %s", args, code, stderr)
		}
		if after := files(); !slices.Equal(after, before) {
			t.Errorf("%v: there is %q, there was %q", args, after, before)
		}
	}
	rawsql.Exec(t, target, "ALTER TABLE kept RENAME TO goose_db_version")
	if code, _, stderr := run(t, data, nil, "check"); code != 0 {
		t.Errorf("put back: %s", stderr)
	}
}

// listed returns the paths of everything below a folder.
func listed(t *testing.T, dir string) (found []string) {
	t.Helper()
	must.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			found = append(found, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	}))
	return found
}

// TestCheckReadOnly checks a copy of an installation on a disk that cannot be written: a mounted snapshot, say.
func TestCheckReadOnly(t *testing.T) {
	t.Parallel()
	data, mounted := t.TempDir(), t.TempDir()
	if code, _, stderr := run(t, data, nil, "accounts", "create", "--name", "A", "--owner", "a@a.example"); code != 0 {
		t.Fatal(stderr)
	}
	must.NoError(t, os.RemoveAll(filepath.Join(data, "media"))) // which cannot be made there
	if err := unix.Mount(data, mounted, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("nothing can be mounted here: %v", err) // needs root
	}
	t.Cleanup(func() { _ = unix.Unmount(mounted, unix.MNT_DETACH) })
	must.NoError(t, unix.Mount("", mounted, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	code, stdout, stderr := run(t, mounted, nil, "check", "--deep")
	if code != 0 || !strings.Contains(stdout, "checked 1 account,") {
		t.Errorf("status %d, %s, %s", code, stdout, stderr)
	}
	if code, _, stderr := run(t, mounted, nil, "accounts", "create", "--name", "B", "--owner", "b@b.example"); code == 0 {
		t.Errorf("a change on a read-only disk passed: %s", stderr)
	}
	server, err := os.OpenFile(filepath.Join(data, "server.lock"), os.O_CREATE|os.O_RDWR, 0o600) // of one that runs
	must.NoError(t, err)
	defer func() { _ = server.Close() }()
	must.NoError(t, host.Lock(server, false))
	if code, _, stderr := run(t, mounted, nil, "check"); code != 1 || !strings.Contains(stderr, "a server is running") {
		t.Errorf("beside a server: status %d, %s", code, stderr)
	}
}
