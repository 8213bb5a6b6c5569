package backup_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/progresstest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

var secretFiles = []string{"secret.key", "tls.crt", "never-made", "certificates"}

var secrets = map[string]string{
	"secret.key": "the key\n", "tls.crt": "a certificate", "certificates/example.org": "another",
	"certificates/acme/account": "and a key",
}

var now = time.Date(2026, time.April, 1, 12, 0, 0, 0, time.UTC)

// installation is a shop with a data directory.
type installation struct {
	*shop.Shop
	dataDir string
}

func newInstallation(t testing.TB, target string) *installation {
	t.Helper()
	i := &installation{Shop: shop.New(t, target), dataDir: t.TempDir()}
	i.Trade(t)
	for name, content := range secrets {
		write(t, filepath.Join(i.dataDir, name), content)
	}
	write(t, filepath.Join(i.dataDir, "assay.log"), "no secret")
	return i
}

func (i *installation) options(dir string) backup.Options {
	return backup.Options{
		Store: i.Store, Media: i.Media, DataDir: i.dataDir, SecretFiles: secretFiles, Dir: dir, Now: func() time.Time {
			return now
		},
	}
}

// backup creates a backup in a new directory and returns it.
func (i *installation) backup(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new", "backup")
	if _, err := backup.Create(t.Context(), i.options(dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// destination is an empty installation to restore to.
type destination struct {
	target, mediaDir, dataDir string
}

func newDestination(t testing.TB, target string) *destination {
	t.Helper()
	dir := t.TempDir()
	return &destination{target: target, mediaDir: filepath.Join(dir, "data", "media"), dataDir: filepath.Join(dir, "data")}
}

// openMedia opens the folder for photos, until the end of the test.
func (p *destination) openMedia(t testing.TB) (*media.Disk, *media.Staging) {
	t.Helper()
	disk, err := media.NewDisk(p.mediaDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.Close() })
	staging, err := media.NewStaging(disk.StagingDir())
	if err != nil {
		t.Fatal(err)
	}
	return disk, staging
}

func (p *destination) restore(t testing.TB, dir string) (*backup.Summary, error) {
	t.Helper()
	disk, staging := p.openMedia(t)
	told := &progresstest.Recorder{}
	restored, err := backup.Restore(told.Context(t.Context()), backup.RestoreOptions{
		Dir: dir, Database: p.target, Media: disk, Staging: staging, DataDir: p.dataDir,
	})
	if err == nil {
		told.WantDone(t, "verifying the backup", "looking at the place", "photos and secrets", "rows of the database")
	}
	return restored, err
}

func TestBackup(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		i := newInstallation(t, target)
		dir := filepath.Join(t.TempDir(), "backup")
		o := i.options(dir)
		told := &progresstest.Recorder{}
		made, err := backup.Create(told.Context(t.Context()), o)
		if err != nil {
			t.Fatal(err)
		}
		if made.Dir != dir || !made.CreatedAt.Equal(now) || made.SchemaVersion < 1 || made.Accounts != 1 ||
			made.Orders != 8 || made.Rows < 50 ||
			made.Photos != 10 || made.Secrets != 4 || made.Bytes < 1000 {
			t.Errorf("summary %+v", made)
		}
		told.WantDone(t, "rows of the database", "photos")
		t.Run("Private", func(t *testing.T) { wantPrivate(t, dir) })
		for name, fresh := range map[string]func(testing.TB) string{"sqlite": storetest.SQLite, "postgres": pgtest.Database} {
			t.Run("To-"+name, func(t *testing.T) {
				p := newDestination(t, fresh(t))
				restored, err := p.restore(t, dir)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(restored, made) {
					t.Errorf("restored %+v, want %+v", restored, made)
				}
				p.wantCopyOf(t, i)
				if _, err := p.restore(t, dir); err == nil || !strings.Contains(err.Error(), "not empty") {
					t.Errorf("a second restore: %v, want a refusal", err)
				}
			})
		}
	})
}

// wantCopyOf checks that the restored installation is complete and equal.
func (p *destination) wantCopyOf(t *testing.T, i *installation) {
	t.Helper()
	got := shop.Open(t, p.target, p.mediaDir)
	r, err := proof.Check(t.Context(), got.Proof())
	if err != nil || !r.OK {
		t.Errorf("the restored place does not hold: %+v, %v", r, err)
	}
	want, err := proof.Check(t.Context(), i.Proof())
	if err != nil || r.Orders > want.Orders || r.Orders < 8 {
		t.Errorf("%d orders were restored of %d, %v", r.Orders, want.Orders, err)
	}
	for _, row := range rawsql.Rows(t, p.target, "SELECT name FROM photos") {
		if a, b := content(t, got.Media, row[0]), content(t, i.Media, row[0]); !bytes.Equal(a, b) || len(a) == 0 {
			t.Errorf("photo %s has %d bytes, or others than the %d of the original", row[0], len(a), len(b))
		}
	}
	for name, content := range secrets {
		file := filepath.Join(p.dataDir, name)
		if b, err := os.ReadFile(file); err != nil || string(b) != content {
			t.Errorf("secret %s: %q, %v", name, b, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("secret %s: mode %v, %v", name, info.Mode(), err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.dataDir, "assay.log")); err == nil {
		t.Error("a file that is no secret was copied")
	}
	(&shop.Shop{Installation: got}).Order(t, i.Live, "") // the restored installation accepts orders
}

func content(t testing.TB, m media.Store, name string) []byte {
	t.Helper()
	f, err := m.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantPrivate checks that only the owner can read the backup, and that it has the expected files.
func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	top := make(map[string]bool)
	if err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v", p, info.Mode().Perm(), want)
		}
		if filepath.Dir(p) == dir {
			top[d.Name()] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"SHA256SUMS", "database.jsonl.gz", "manifest.json", "media", "secrets"}
	if got := slices.Sorted(maps.Keys(top)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBackupWhileWriting(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		i := newInstallation(t, target)
		parent := t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		type result struct {
			dirs []string
			err  error
		}
		done := make(chan result)
		go func() {
			var r result
			for ctx.Err() == nil && r.err == nil {
				dir := filepath.Join(parent, string(rune('a'+len(r.dirs))))
				if _, r.err = backup.Create(t.Context(), i.options(dir)); r.err == nil {
					r.dirs = append(r.dirs, dir)
				}
			}
			done <- r
		}()
		for n := range 25 {
			i.Order(t, i.Test, order.MockFake)
			i.Photo(t, i.Test)
			if n%5 == 0 { // housekeeping deletes photos during the backup
				i.Clock.Advance(time.Minute)
				if _, err := i.Service.DeleteUnusedPhotos(t.Context(), i.Clock.Now(), 100); err != nil {
					t.Fatal(err)
				}
			}
		}
		stop()
		r := <-done
		if r.err != nil || len(r.dirs) == 0 {
			t.Fatalf("%d backups, %v", len(r.dirs), r.err)
		}
		p := newDestination(t, storetest.SQLite(t))
		if _, err := p.restore(t, r.dirs[len(r.dirs)-1]); err != nil {
			t.Fatal(err)
		}
		got := shop.Open(t, p.target, p.mediaDir)
		if report, err := proof.Check(t.Context(), got.Proof()); err != nil || !report.OK || report.Orders < 8 {
			t.Errorf("the restored place does not hold: %+v, %v", report, err)
		}
	})
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
