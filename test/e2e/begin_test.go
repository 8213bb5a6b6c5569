package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// TestFirstStartsAtOnce starts two servers in one empty folder: on SQLite one of them runs and the other says why it
// does not, on PostgreSQL both are nodes.
func TestFirstStartsAtOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		settings["data"] = filepath.Join(t.TempDir(), "data")
		installation := program.New(t, settings)
		var both [2]*program.Command
		for i := range both {
			both[i] = installation.Begin(t, "serve")
		}
		want := []string{"listening http=", "another server is running on the data folder"}
		if settings["database"] != "" {
			want[1] = want[0]
		}
		says := func(i int, what string) bool { return strings.Contains(both[i].Stderr(), what) }
		must.Eventually(t, time.Minute, "both have said how it ended", func() bool {
			return says(0, want[0]) && says(1, want[1]) || says(0, want[1]) && says(1, want[0])
		})
	})
}

// TestRestoreKilledWhileReading: from before the first file of a restore, nothing else begins in its place.
func TestRestoreKilledWhileReading(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		s := start(t, nil)
		s.open(t)
		dir := t.TempDir()
		whole, slow := filepath.Join(dir, "whole"), filepath.Join(dir, "slow")
		s.CLI(t, new(any), "backup", whole)
		if err := os.CopyFS(slow, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		// A file that is never read to its end: the restore stands still while it verifies the backup.
		database := filepath.Join(slow, "database.jsonl.gz")
		if err := os.Remove(database); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(database, 0o600); err != nil {
			t.Fatal(err)
		}
		settings["data"] = filepath.Join(dir, "data")
		if settings["database"] != "" {
			settings["secret-key"] = s.secretKey(t, program.Settings{})
		}
		place := program.New(t, settings)
		restoring := place.Begin(t, "restore", slow)
		marker := filepath.Join(settings["data"], "restore.unfinished")
		must.Eventually(t, time.Minute, "the restore has begun", func() bool {
			_, err := os.Stat(marker)
			return err == nil
		})
		for _, end := range []func(){func() {}, func() { restoring.Kill(t) }} {
			end()
			for _, command := range [][]string{
				{"serve"},
				{"serve", "--demo"},
				{"check"},
				{"accounts", "create", "--name", "A", "--owner", "a@a.example"},
				{"catalog", "import", catalogFile},
			} {
				got := place.Run(t, command...)
				if got.ExitCode == 0 || !strings.Contains(got.Stderr, marker) {
					t.Errorf("%v: %+v", command, got)
				}
			}
		}
		place.CLI(t, new(any), "restore", whole)
		place.CLI(t, new(any), "check")
	})
}

// TestLostKey: no start and no command makes a key again that the database has lost.
func TestLostKey(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		s := start(t, settings)
		s.open(t)
		s.Stop(t)
		target := settings["database"]
		if target == "" {
			target = filepath.Join(s.data, "assay.db")
		}
		rawsql.Exec(t, target, "DELETE FROM sealed_keys WHERE id = 'audit-chains'")
		for _, command := range [][]string{{"serve"}, {"check"}, {"accounts", "list"}, {"staff", "list"}} {
			got := s.Installation().Run(t, command...)
			if got.ExitCode == 0 || !strings.Contains(got.Stderr, "lost audit-chains") ||
				!strings.Contains(got.Stderr, "restore a backup") {
				t.Errorf("%v: %+v", command, got)
			}
		}
		if kept := rawsql.Rows(t, target, "SELECT COUNT(*) FROM sealed_keys")[0][0]; kept != "3" {
			t.Errorf("%s keys are kept", kept)
		}
	})
}

// TestKeyWithoutCertificate: a first start that was killed between the two files of its certificate is gone on with.
func TestKeyWithoutCertificate(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.Stop(t)
	if err := os.Remove(filepath.Join(s.data, "tls.crt")); err != nil {
		t.Fatal(err)
	}
	s.again(t).Stop(t)
	if err := os.Remove(filepath.Join(s.data, "tls.key")); err != nil {
		t.Fatal(err)
	}
	if got := s.Installation().Run(t, "serve"); got.ExitCode == 0 || !strings.Contains(got.Stderr, "tls.key is missing") {
		t.Errorf("without the key: %+v", got)
	}
}
