package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/progresstest"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// interrupting ends the move after a number of photos.
type interrupting struct {
	media.Store
	left atomic.Int64
	stop context.CancelFunc
}

func (i *interrupting) Put(ctx context.Context, name string, staged *media.Staged) error {
	if i.left.Add(-1) < 0 {
		i.stop()
		return ctx.Err()
	}
	return i.Store.Put(ctx, name, staged)
}

// TestMove interrupts a move, which then goes on: what was copied is not copied again, and the copy holds.
func TestMove(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		i := newInstallation(t, target)
		for name, fresh := range map[string]func(testing.TB) string{"sqlite": storetest.SQLite, "postgres": pgtest.Database} {
			t.Run("To-"+name, func(t *testing.T) {
				p := newDestination(t, fresh(t))
				disk, staging := p.openMedia(t)
				told := &progresstest.Recorder{}
				ctx, cancel := context.WithCancel(t.Context())
				slow := &interrupting{Store: disk, stop: cancel}
				slow.left.Store(3)
				o := backup.MoveOptions{
					Store: i.Store, Media: i.Media, Database: p.target, ToMedia: slow, ToStaging: staging, Dir: p.dataDir,
					Now: func() time.Time { return now },
				}
				if _, err := backup.Move(ctx, o); !errors.Is(err, context.Canceled) {
					t.Fatalf("interrupted: %v", err)
				}
				if entries, err := filepath.Glob(filepath.Join(p.dataDir, "move*")); err != nil || len(entries) != 0 {
					t.Errorf("left behind: %v, %v", entries, err)
				}
				o.ToMedia = disk
				moved, err := backup.Move(told.Context(t.Context()), o)
				if err != nil {
					t.Fatal(err)
				}
				if moved.Photos != 10 || moved.Copied != 7 || moved.Orders != 8 || moved.Bytes == 0 {
					t.Errorf("moved %+v", moved)
				}
				told.WantDone(t, "rows of the database", "photos")
				got := shop.Open(t, p.target, p.mediaDir)
				if err := errors.Join(moved.Compare(t.Context(), i.Store), moved.Compare(t.Context(), got.Store)); err != nil {
					t.Error(err)
				}
				if r, err := proof.Check(t.Context(), got.Proof()); err != nil || !r.OK || r.Orders != 8 {
					t.Errorf("the new place does not hold: %+v, %v", r, err)
				}
				got.Service.CertificateKeys()
				(&shop.Shop{Installation: got}).Order(t, i.Live, "")
				if moved.Compare(t.Context(), got.Store) == nil {
					t.Error("a further order is not noticed")
				}
			})
		}
	})
}

// TestMove_Damaged refuses a photo that is not what was uploaded.
func TestMove_Damaged(t *testing.T) {
	i := newInstallation(t, storetest.SQLite(t))
	files, err := filepath.Glob(filepath.Join(i.MediaDir, "?", "?", "*.png"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-1] ^= 1
	write(t, files[0], string(content))
	p := newDestination(t, storetest.SQLite(t))
	disk, staging := p.openMedia(t)
	_, err = backup.Move(t.Context(), backup.MoveOptions{
		Store: i.Store, Media: i.Media, Database: p.target, ToMedia: disk, ToStaging: staging, Dir: p.dataDir,
		Now: func() time.Time { return now },
	})
	if err == nil {
		t.Error("a damaged photo was moved")
	}
	if _, err := os.Stat(p.target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a database: %v", err)
	}
}
