package backup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/dump"
)

// moves is the number of photos that are moved concurrently: enough to hide the latency of a media server.
const moves = 8

// MoveOptions configure Move.
type MoveOptions struct {
	Store *store.Store // of the installation that is moved; nothing may write to it meanwhile
	Media media.Store

	Database  string // of the new place, as for store.Open: must be empty or not exist, unless Loaded
	Loaded    bool   // an interrupted move has loaded it
	ToMedia   media.Store
	ToStaging *media.Staging // for ToMedia
	SameMedia bool           // both places have the same photos: none is copied
	Dir       string         // for the copy of the database on its way

	Now func() time.Time
}

// Moved describes what was moved.
type Moved struct {
	Accounts int64 `json:"accounts"`
	Orders   int64 `json:"orders"`
	Rows     int64 `json:"rows"`   // of all tables
	Photos   int64 `json:"photos"` // of the new place, without those that were erased
	Copied   int64 `json:"copied"` // of them now; an interrupted move has copied the others
	Bytes    int64 `json:"bytes"`  // of the photos copied now

	tables []dump.Table
}

// Move copies a whole installation into an empty place, directly. Photos go first and are not copied again when a move
// is repeated; the database follows in one transaction.
func Move(ctx context.Context, o MoveOptions) (m *Moved, err error) {
	dir, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	defer func() {
		if e := dir.Remove(moveFile); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}()
	header, err := o.dump(ctx, dir)
	if err != nil {
		return nil, err
	}
	m = &Moved{
		Accounts: header.Rows("accounts"), Orders: header.Rows("orders"), Rows: header.Total(), tables: header.Tables,
	}
	if err := m.photos(ctx, &o, dir); err != nil {
		return nil, err
	}
	if o.Loaded {
		return m, dump.FinishLoad(ctx, o.Database)
	}
	return m, loadDump(ctx, dir, moveFile, o.Database)
}

// Compare returns an error unless a database has as many rows in every table as were moved.
func (m *Moved) Compare(ctx context.Context, s *store.Store) error {
	tables, err := dump.Count(ctx, s)
	if err != nil {
		return err
	}
	var problems []error
	for i, t := range m.tables {
		if i >= len(tables) || tables[i].Name != t.Name || tables[i].Rows != t.Rows {
			problems = append(problems, fmt.Errorf("table %s: %d rows were moved, it has others", t.Name, t.Rows))
		}
	}
	return errors.Join(problems...)
}

// moveFile is the copy of the database on its way.
const moveFile = "move.jsonl.gz"

func (o *MoveOptions) dump(ctx context.Context, dir *os.Root) (_ *dump.Header, err error) {
	file, err := dir.OpenFile(moveFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return writeDump(ctx, o.Store, file, o.Now())
}

// photos copies the photos of the rows in the file.
func (m *Moved) photos(ctx context.Context, o *MoveOptions, dir *os.Root) error {
	var total int64
	if err := eachPhoto(ctx, dir, moveFile, 1, func(ctx context.Context, row map[string]any) error {
		if row["erased_at"] == nil {
			size, _ := row["bytes"].(int64)
			total += size
			m.Photos++
		}
		return ctx.Err()
	}); err != nil || o.SameMedia {
		return err
	}
	done := progress.Begin(ctx, "photos", progress.Bytes, total)
	var copied, bytes, missing atomic.Int64
	err := eachPhoto(ctx, dir, moveFile, moves, func(ctx context.Context, row map[string]any) error {
		name, _ := row["name"].(string)
		if row["erased_at"] != nil { // since an interrupted move has copied it
			return o.ToMedia.Delete(ctx, name)
		}
		size, _ := row["bytes"].(int64)
		moved, err := movePhoto(ctx, o, row)
		switch {
		case errors.Is(err, media.ErrNotFound) && row["used"] != int64(1): // housekeeping was about to
			missing.Add(1)
			return nil
		case errors.Is(err, media.ErrNotFound):
			return fmt.Errorf("photo %s of an order is not in the media store: see `assay check`", name)
		case err != nil:
			return fmt.Errorf("photo %s: %w", name, err)
		case moved:
			copied.Add(1)
			bytes.Add(size)
		}
		done(size)
		return nil
	})
	m.Copied, m.Bytes = copied.Load(), bytes.Load()
	m.Photos -= missing.Load()
	return err
}

// movePhoto copies a photo, unless it is there, and compares it with the hash of its row.
func movePhoto(ctx context.Context, o *MoveOptions, row map[string]any) (moved bool, err error) {
	name, _ := row["name"].(string)
	// A photo is put whole or not at all, and is never replaced: one of the right size is that photo.
	switch stat, err := o.ToMedia.Stat(ctx, name); {
	case err == nil && stat.Size == row["bytes"]:
		return false, nil
	case err != nil && !errors.Is(err, media.ErrNotFound):
		return false, err
	}
	file, err := o.Media.Open(ctx, name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	staged, err := o.ToStaging.Stage(ctx, file, math.MaxInt64)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, staged.Close()) }()
	if staged.SHA256() != row["sha256"] {
		return false, errors.New("its file is not what was uploaded: see `assay check --deep`")
	}
	return true, o.ToMedia.Put(ctx, name, staged)
}
