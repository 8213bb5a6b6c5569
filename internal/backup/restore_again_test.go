package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestRestore_Interrupted: a place that was being filled takes no other backup, whatever it has of the first.
func TestRestore_Interrupted(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		i := newInstallation(t, storetest.SQLite(t))
		first := i.backup(t)
		for _, row := range rawsql.Rows(t, i.Target, "SELECT id FROM orders WHERE ended_at IS NOT NULL") {
			_, err := i.Service.EraseOrder(t.Context(), access.Operator, row[0], false)
			must.NoError(t, err)
		}
		second := i.backup(t)

		p := newDestination(t, target)
		disk, staging := p.openMedia(t)
		ctx, cancel := context.WithCancel(t.Context())
		slow := &interrupting{Store: disk, stop: cancel}
		slow.left.Store(5)
		o := backup.RestoreOptions{Dir: first, Database: target, Media: slow, Staging: staging, DataDir: p.dataDir}
		o.Begin = func(backup string) error { o.Begun, o.BegunDatabase = backup, true; return nil }
		if _, err := backup.Restore(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted: %v", err)
		}
		o.Media = disk
		refused := func(when, begun string) {
			t.Helper()
			o := o
			o.Dir = second
			for _, restore := range []func() error{
				func() error { return backup.CanRestore(t.Context(), o) },
				func() error { _, err := backup.Restore(t.Context(), o); return err },
			} {
				err := restore()
				if err == nil || !strings.Contains(err.Error(), "another backup") || !strings.Contains(err.Error(), begun) ||
					!strings.Contains(err.Error(), "2026-04-01T12:00:00Z") {
					t.Errorf("%s: %v, want a refusal that names %s", when, err, begun)
				}
			}
		}
		refused("with some photos", first)
		moved := filepath.Join(t.TempDir(), "elsewhere") // a backup is what it has, not where it is
		must.NoError(t, os.Rename(first, moved))
		o.Dir = moved
		_, err := backup.Restore(t.Context(), o)
		must.NoError(t, err)
		refused("with everything", moved)
		got := shop.Open(t, target, p.mediaDir)
		check := got.Proof()
		check.Deep = true
		if r, err := proof.Check(t.Context(), check); err != nil || !r.OK || r.Orders != 8 {
			t.Errorf("the place does not hold: %+v, %v", r, err)
		}
	})
}

// TestRestore_OtherPhotos: photos that the backup does not have are not mixed in, in a place that is otherwise empty.
func TestRestore_OtherPhotos(t *testing.T) {
	dir := newInstallation(t, storetest.SQLite(t)).backup(t)
	p := newDestination(t, storetest.SQLite(t))
	disk, staging := p.openMedia(t)
	name := photo.NewName(photo.JPEG)
	putFile(t, disk, staging, name)
	if _, err := p.restore(t, dir); err == nil || !strings.Contains(err.Error(), "not empty") ||
		!strings.Contains(err.Error(), name) {
		t.Errorf("got %v, want a refusal that names the photo", err)
	}
	if _, err := os.Stat(p.target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a database: %v", err)
	}
	must.NoError(t, disk.Delete(t.Context(), name))
	if _, err := p.restore(t, dir); err != nil {
		t.Error(err)
	}
}
