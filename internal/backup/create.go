package backup

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/buildinfo"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/dump"
	"golang.org/x/sync/errgroup"
)

// Options configure Create.
type Options struct {
	Store *store.Store
	Media media.Store

	// DataDir is the directory of the generated secrets, SecretFiles the files and directories in it to copy. Missing
	// ones are skipped.
	DataDir     string
	SecretFiles []string

	CheckKeys CheckKeys // an error of it ends the backup

	Dir string // of the backup: empty or missing
	Now func() time.Time
}

// Create backs up a running installation: the rows of one snapshot and the files they refer to. A failed backup
// leaves a directory without a manifest, which Restore refuses. Photos that are lost or damaged already do not make it
// fail, because everything else would have no backup from then on: the summary tells of them.
func Create(ctx context.Context, o Options) (*Summary, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	f, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	m := &manifest{Format: format, ProgramVersion: buildinfo.Version}
	if m.AuditHeads, err = o.Store.LogHeads(ctx); err != nil {
		return nil, err
	}
	// The secret key may be replaced while photos are copied. So it is copied beside the database, and both are compared.
	if m.Secrets, err = f.secrets(ctx, o.DataDir, o.SecretFiles); err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	header, err := f.database(ctx, o.Store, o.Now())
	if err != nil {
		return nil, err
	}
	if err := o.CheckKeys.of(f.root); err != nil {
		return nil, err
	}
	m.CreatedAt, m.SchemaVersion, m.Rows = header.CreatedAt, header.Schema, header.Total()
	m.Accounts, m.Orders = header.Rows("accounts"), header.Rows("orders")
	f.erased = func(ctx context.Context, name string) bool {
		p, err := o.Store.Photo(ctx, name)
		return err == nil && p.Erased
	}
	if err := f.photos(ctx, o.Media, header.Rows("photos"), &m.Summary); err != nil {
		return nil, err
	}
	progress.Step(ctx, "making it durable")
	if err := f.complete(m); err != nil {
		return nil, err
	}
	m.Dir = dir
	return &m.Summary, nil
}

// database writes the dump, with fast compression because a snapshot of the database is open meanwhile.
func (f *folder) database(ctx context.Context, s *store.Store, now time.Time) (*dump.Header, error) {
	w, err := f.create(databaseFile)
	if err != nil {
		return nil, err
	}
	header, err := writeDump(ctx, s, w, now)
	if err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	_, err = w.list()
	return header, err
}

// writeDump writes the rows of one moment.
func writeDump(ctx context.Context, s *store.Store, w io.Writer, now time.Time) (*dump.Header, error) {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	header, err := dump.Write(ctx, s, z, now)
	if err != nil {
		return nil, err
	}
	return header, z.Close()
}

// readDump calls f with the rows of a dump.
func readDump(root *os.Root, name string, f func(io.Reader) error) (err error) {
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	z, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return f(z)
}

// eachPhoto calls f for the rows of photos in a dump, for a few at the same time.
func eachPhoto(
	ctx context.Context, root *os.Root, name string, few int, f func(ctx context.Context, row map[string]any) error,
) error {
	return concurrently(ctx, few, func(ctx context.Context, begin func(func() error)) error {
		return readDump(root, name, func(rows io.Reader) error {
			return dump.EachRow(rows, "photos", func(row map[string]any) error {
				begin(func() error { return f(ctx, row) })
				return ctx.Err()
			})
		})
	})
}

// concurrently runs what all begins, a few at the same time. The first error ends the context.
func concurrently(
	ctx context.Context, few int, all func(ctx context.Context, begin func(func() error)) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(few)
	err := all(ctx, group.Go)
	if failed := group.Wait(); failed != nil {
		return failed
	}
	return err
}

// photos copies the files of the rows in the dump, and adds to the summary. It reads the dump again, so that the
// snapshot need not stay open.
func (f *folder) photos(ctx context.Context, files media.Store, total int64, s *Summary) error {
	done := progress.Begin(ctx, "photos", progress.Items, total)
	var lock sync.Mutex
	return eachPhoto(ctx, f.root, databaseFile, copies, func(ctx context.Context, row map[string]any) error {
		copied, problem, err := f.photo(ctx, files, row)
		lock.Lock()
		defer lock.Unlock()
		if copied {
			s.Photos++
		}
		if problem != nil {
			if s.ProblemCount++; s.ProblemCount <= maxProblems {
				s.Problems = append(s.Problems, *problem)
			}
		}
		done(1)
		return err
	})
}

// photo copies a file, and reports whether there was one, and what is wrong with it. Since the snapshot an unused photo
// may have been deleted, and any photo erased.
func (f *folder) photo(
	ctx context.Context, files media.Store, row map[string]any,
) (copied bool, problem *Problem, err error) {
	name, _ := row["name"].(string)
	if row["erased_at"] != nil {
		return false, nil, nil
	}
	sha, err := f.copyPhoto(ctx, files, name)
	switch {
	case errors.Is(err, media.ErrNotFound) && (row["used"] != int64(1) || f.erased(ctx, name)):
		return false, nil, nil
	case errors.Is(err, media.ErrNotFound):
		return false, &Problem{name, "it is of an order, and not in the media store"}, nil
	case err != nil:
		return false, nil, fmt.Errorf("photo %s: %w", name, err)
	case sha != row["sha256"]:
		problem = &Problem{name, "its file is not what was uploaded"}
	}
	return true, problem, nil
}

func (f *folder) copyPhoto(ctx context.Context, files media.Store, name string) (sha string, err error) {
	file, err := files.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return f.copy(ctx, mediaPath(name), file)
}

// secrets copies existing files and directories of the data directory.
func (f *folder) secrets(ctx context.Context, dataDir string, names []string) (copied int64, err error) {
	data, err := os.OpenRoot(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	for _, name := range names {
		name = path.Clean(filepath.ToSlash(name))
		err := fs.WalkDir(data.FS(), name, func(p string, d fs.DirEntry, err error) error {
			if p == name && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			copied++
			return f.secret(ctx, data, p)
		})
		if err != nil {
			return copied, err
		}
	}
	return copied, nil
}

func (f *folder) secret(ctx context.Context, data *os.Root, name string) (err error) {
	file, err := data.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = f.copy(ctx, path.Join(secretsFolder, name), file)
	return err
}
