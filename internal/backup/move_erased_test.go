package backup_test

import (
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// putFile puts a file of another content in the place of a photo.
func putFile(t *testing.T, disk *media.Disk, staging *media.Staging, name string) {
	t.Helper()
	staged, err := staging.Stage(t.Context(), strings.NewReader("left by an interruption"), 100)
	must.NoError(t, err)
	must.NoError(t, disk.Put(t.Context(), name, staged))
	must.NoError(t, staged.Close())
}

// TestMove_Erased moves an installation of which photos were erased to the other engine and back. A file that an
// interrupted erasure left is not copied, and one that an interrupted move copied before the erasure goes.
func TestMove_Erased(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		i := newInstallation(t, target)
		ended := rawsql.Rows(t, target, "SELECT id FROM orders WHERE environment = 'live' AND ended_at IS NOT NULL")[0][0]
		_, err := i.Service.EraseOrder(ctx, access.Operator, ended, false)
		must.NoError(t, err)
		i.Clock.Advance(2 * time.Hour)
		_, err = i.Service.EraseOldPhotos(ctx, i.Clock.Now().Add(-time.Hour), 100)
		must.NoError(t, err)
		names := rawsql.Rows(t, target, "SELECT name FROM photos WHERE erased_at IS NOT NULL ORDER BY name")
		left := rawsql.Rows(t, target, "SELECT COUNT(*) FROM photos WHERE erased_at IS NULL")[0][0]
		if len(names) != 8 || left != "2" {
			t.Fatalf("%d photos are erased, %s are left", len(names), left)
		}
		putFile(t, i.Media, i.Staging, names[0][0])

		from := i.Installation
		for range 2 {
			p := newDestination(t, otherEngine(from.Target)(t))
			disk, staging := p.openMedia(t)
			putFile(t, disk, staging, names[1][0])
			moved, err := backup.Move(ctx, backup.MoveOptions{
				Store: from.Store, Media: from.Media, Database: p.target, ToMedia: disk, ToStaging: staging, Dir: p.dataDir,
				Now: func() time.Time { return now },
			})
			must.NoError(t, err)
			if moved.Photos != 2 || moved.Copied != 2 || moved.Orders != 8 {
				t.Errorf("moved %+v", moved)
			}
			from = shop.Open(t, p.target, p.mediaDir)
			must.NoError(t, moved.Compare(ctx, from.Store))
			o := from.Proof()
			o.Deep = true
			if r, err := proof.Check(ctx, o); err != nil || !r.OK {
				t.Errorf("the new place does not hold: %+v, %v", r, err)
			}
		}
	})
}

// otherEngine makes databases of the engine that the target is not of.
func otherEngine(target string) func(testing.TB) string {
	if strings.HasPrefix(target, "postgres") {
		return storetest.SQLite
	}
	return pgtest.Database
}
