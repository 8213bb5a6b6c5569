package backup_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store/dump"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

func TestCreate(t *testing.T) {
	i := newInstallation(t, storetest.SQLite(t))
	unused := rawsql.Rows(t, i.Target, "SELECT name FROM photos WHERE used = 0")[0][0]
	used := rawsql.Rows(t, i.Target, "SELECT name FROM photos WHERE used = 1")[0][0]
	fails := func(t *testing.T, o backup.Options, message string) {
		t.Helper()
		if _, err := backup.Create(t.Context(), o); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("got %v, want an error with %q", err, message)
		}
	}
	t.Run("FolderNotEmpty", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "mine"), "")
		fails(t, i.options(dir), "is not empty")
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("the folder of somebody else was written to: %v, %v", entries, err)
		}
	})
	t.Run("EmptyFolderIsClosed", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Create(t.Context(), i.options(dir)); err != nil {
			t.Fatal(err)
		}
		wantPrivate(t, dir)
	})
	t.Run("NoDataFolder", func(t *testing.T) {
		o := i.options(filepath.Join(t.TempDir(), "b"))
		o.DataDir = filepath.Join(t.TempDir(), "nowhere")
		if s, err := backup.Create(t.Context(), o); err != nil || s.Secrets != 0 {
			t.Errorf("got %+v, %v, want a backup without secrets", s, err)
		}
	})
	t.Run("SecretOutsideTheDataFolder", func(t *testing.T) {
		o := i.options(filepath.Join(t.TempDir(), "b"))
		o.SecretFiles = []string{"../secret.key"}
		fails(t, o, "secrets")
	})
	t.Run("UnusedPhotoGone", func(t *testing.T) {
		if err := i.Media.Delete(t.Context(), unused); err != nil {
			t.Fatal(err)
		}
		s, err := backup.Create(t.Context(), i.options(filepath.Join(t.TempDir(), "b")))
		if err != nil || s.Photos != 9 {
			t.Errorf("got %+v, %v, want the nine photos that are left", s, err)
		}
	})
	t.Run("Canceled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o := i.options(filepath.Join(t.TempDir(), "b"))
		told := progress.With(ctx, func(what string, _ progress.Unit, _ int64) func(int64) {
			if what == "photos" { // after the database
				cancel()
			}
			return func(int64) {}
		})
		if _, err := backup.Create(told, o); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		wantIncomplete(t, o.Dir)
	})
	t.Run("PhotoChanged", func(t *testing.T) {
		file := filepath.Join(i.MediaDir, used[:1], used[1:2], used)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[0]++
		write(t, file, string(content))
		wantProblem(t, i, used, 9)
	})
	t.Run("PhotoOfAnOrderGone", func(t *testing.T) {
		if err := i.Media.Delete(t.Context(), used); err != nil {
			t.Fatal(err)
		}
		wantProblem(t, i, used, 8)
	})
}

// wantProblem checks that a backup names the photo that the installation has lost or damaged, and that everything else
// can be restored from it.
func wantProblem(t *testing.T, i *installation, name string, photos int64) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "b")
	s, err := backup.Create(t.Context(), i.options(dir))
	if err != nil || s.Photos != photos || s.ProblemCount != 1 || len(s.Problems) != 1 || s.Problems[0].Photo != name {
		t.Fatalf("got %+v, %v, want %d photos and a problem of %s", s, err, photos, name)
	}
	restored, err := newDestination(t, storetest.SQLite(t)).restore(t, dir)
	if err != nil || restored.Orders != s.Orders || len(restored.Problems) != 1 {
		t.Errorf("restored %+v, %v, want %d orders and the same problem", restored, err, s.Orders)
	}
}

// wantIncomplete checks that a failed backup is recognised as incomplete.
func wantIncomplete(t *testing.T, dir string) {
	t.Helper()
	if _, err := newDestination(t, storetest.SQLite(t)).restore(t, dir); !errors.Is(err, backup.ErrIncomplete) {
		t.Errorf("restoring a failed backup: %v, want ErrIncomplete", err)
	}
}

// damages are what can have happened to a backup; each returns the backup to what it was.
var damages = []struct {
	name    string
	damage  func(t *testing.T, dir string)
	message string
}{
	{
		"Database", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "database.jsonl.gz"), flipLast)
		}, "database.jsonl.gz is damaged",
	},
	{
		"Secret", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "secrets", "secret.key"), flipLast)
		}, "secret.key is damaged",
	},
	{"Photo", func(t *testing.T, dir string) { edit(t, photoFile(t, dir), flipLast) }, "is damaged"},
	{"PhotoGone", func(t *testing.T, dir string) { edit(t, photoFile(t, dir), nil) }, "no such file"},
	{
		"Sums", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "SHA256SUMS"), flipLast)
		}, "SHA256SUMS is damaged",
	},
	{
		"NoManifest", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "manifest.json"), nil)
		}, "no complete backup",
	},
	{"BrokenManifest", func(t *testing.T, dir string) {
		edit(t, filepath.Join(dir, "manifest.json"), func(b []byte) []byte { return b[:10] })
	}, "manifest.json is damaged"},
	{"NewerFormat", func(t *testing.T, dir string) { editManifest(t, dir, "format", 2) }, "newer version"},
	{
		"NewerSchema", func(t *testing.T, dir string) {
			editManifest(t, dir, "schema_version", 1e6)
		}, dump.ErrNewer.Error(),
	},
	{"ForeignPath", func(t *testing.T, dir string) {
		editSums(t, dir, func(lines string) string { return lines + strings.Repeat("0", 64) + "  secrets/../../stolen\n" })
	}, "does not belong into a backup"},
	{"NoDatabase", func(t *testing.T, dir string) {
		editSums(t, dir, func(lines string) string {
			return strings.Join(slices.DeleteFunc(strings.SplitAfter(lines, "\n"), func(line string) bool {
				return strings.Contains(line, "database.jsonl.gz")
			}), "")
		})
	}, "does not name the database"},
}

func TestRestore_Damaged(t *testing.T) {
	i := newInstallation(t, storetest.SQLite(t))
	dir := i.backup(t)
	for _, c := range damages {
		t.Run(c.name, func(t *testing.T) {
			c.damage(t, dir)
			p := newDestination(t, storetest.SQLite(t))
			if _, err := p.restore(t, dir); err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("got %v, want an error with %q", err, c.message)
			}
			p.wantEmpty(t)
		})
	}
	p := newDestination(t, storetest.SQLite(t))
	if _, err := p.restore(t, dir); err != nil {
		t.Errorf("the backup itself: %v", err)
	}
}

// wantEmpty checks that a refused restore has written nothing.
func (p *destination) wantEmpty(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(p.target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a database: %v", err)
	}
	disk, err := media.NewDisk(p.mediaDir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = disk.Close() }()
	for name := range disk.Names(t.Context()) {
		t.Errorf("there is a photo: %s", name)
	}
	if _, err := os.Stat(filepath.Join(p.dataDir, "secret.key")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a secret: %v", err)
	}
}

func TestRestore_NotEmpty(t *testing.T) {
	i := newInstallation(t, storetest.SQLite(t))
	dir := i.backup(t)
	t.Run("Database", func(t *testing.T) {
		storetest.EachTarget(t, func(t *testing.T, target string) {
			newInstallation(t, target)
			p := newDestination(t, target)
			if _, err := p.restore(t, dir); !errors.Is(err, dump.ErrNotEmpty) {
				t.Errorf("got %v, want ErrNotEmpty", err)
			}
		})
	})
	t.Run("DatabaseOpenedButUnused", func(t *testing.T) {
		storetest.EachTarget(t, func(t *testing.T, target string) {
			storetest.Open(t, target)
			p := newDestination(t, target)
			if _, err := p.restore(t, dir); err != nil {
				t.Error(err)
			}
			p.wantCopyOf(t, i)
		})
	})
	t.Run("OtherSecret", func(t *testing.T) {
		p := newDestination(t, storetest.SQLite(t))
		write(t, filepath.Join(p.dataDir, "tls.crt"), "somebody else's")
		if _, err := p.restore(t, dir); err == nil || !strings.Contains(err.Error(), "tls.crt") {
			t.Errorf("got %v, want a refusal that names the file", err)
		}
		p.wantEmpty(t)
	})
	t.Run("OtherPhoto", func(t *testing.T) {
		p := newDestination(t, storetest.SQLite(t))
		name := filepath.Base(photoFile(t, dir))
		write(t, filepath.Join(p.mediaDir, name[:1], name[1:2], name), "another picture")
		if _, err := p.restore(t, dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want a refusal that names the photo", err)
		}
	})
	t.Run("InterruptedRestore", func(t *testing.T) {
		p := newDestination(t, storetest.SQLite(t))
		name := filepath.Base(photoFile(t, dir))
		write(t, filepath.Join(p.mediaDir, name[:1], name[1:2], name), string(content(t, i.Media, name)))
		write(t, filepath.Join(p.dataDir, "secret.key.restoring"), "half")
		if _, err := p.restore(t, dir); err != nil {
			t.Fatal(err)
		}
		p.wantCopyOf(t, i)
	})
}

func flipLast(b []byte) []byte {
	b[len(b)-1] ^= 1
	return b
}

// edit changes a file, or removes it, until the test ends.
func edit(t *testing.T, file string, change func([]byte) []byte) {
	t.Helper()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { write(t, file, string(before)) })
	if change == nil {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		return
	}
	write(t, file, string(change([]byte(string(before)))))
}

func editManifest(t *testing.T, dir, field string, value any) {
	t.Helper()
	edit(t, filepath.Join(dir, "manifest.json"), func(b []byte) []byte {
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		m[field] = value
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	})
}

// editSums changes SHA256SUMS and makes the manifest agree.
func editSums(t *testing.T, dir string, change func(lines string) string) {
	t.Helper()
	edit(t, filepath.Join(dir, "SHA256SUMS"), func(b []byte) []byte {
		b = []byte(change(string(b)))
		sum := sha256.Sum256(b)
		editManifest(t, dir, "sums_sha256", hex.EncodeToString(sum[:]))
		return b
	})
}

// photoFile returns a photo of a backup.
func photoFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "media", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no photos in the backup: %v", err)
	}
	return files[0]
}
