package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store/dump"
)

// RestoreOptions configure Restore.
type RestoreOptions struct {
	Dir      string // of the backup
	Database string // as for store.Open: must be empty or not exist
	Media    media.Store
	Staging  *media.Staging // for Media
	DataDir  string         // receives the secrets

	CheckKeys CheckKeys // an error of it refuses the backup before anything is written

	// Begin is called before anything is written, when nothing speaks against it, with what names the backup in a few
	// lines; may be nil. Begun is what it was called with by a restore that was interrupted in this place, which takes no
	// other backup then: photos are of that backup, and so is a database that is filled, where BegunDatabase says that the
	// interrupted restore had the same one.
	Begin         func(backup string) error
	Begun         string
	BegunDatabase bool
}

// source is a backup to restore.
type source struct {
	*os.Root
	*manifest
	loaded bool // an interrupted restore has filled the database
}

// CanRestore returns an error when there is no backup, or the database must not be filled. It changes nothing. Media,
// Staging and DataDir need not be set.
func CanRestore(ctx context.Context, o RestoreOptions) error {
	from, err := openSource(ctx, &o)
	if err != nil {
		return err
	}
	return from.Close()
}

func openSource(ctx context.Context, o *RestoreOptions) (_ *source, err error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Close())
		}
	}()
	m, err := readManifest(root)
	if err != nil {
		return nil, err
	}
	m.Dir = dir
	from := &source{Root: root, manifest: m}
	if err := m.checkBegun(o.Begun); err != nil {
		return nil, err
	}
	err = dump.CanLoad(ctx, o.Database, m.SchemaVersion)
	if errors.Is(err, dump.ErrNotEmpty) && o.Begun != "" && o.BegunDatabase {
		from.loaded, err = true, nil
	}
	return from, err
}

// begun names the backup: by what it has, and for people.
func (m *manifest) begun() string {
	return fmt.Sprintf("%s\nthe backup of %s in %s", m.SumsSHA256, m.CreatedAt.UTC().Format(time.RFC3339), m.Dir)
}

// checkBegun refuses a place that an interrupted restore has begun to fill from another backup.
func (m *manifest) checkBegun(begun string) error {
	sums, words, _ := strings.Cut(begun, "\n")
	if begun == "" || sums == m.SumsSHA256 {
		return nil
	}
	if words == "" {
		words = "one whose " + sumsFile + " has the SHA-256 " + sums
	}
	return fmt.Errorf("this place was being filled from another backup, %s, and has files of it: restore that one again, "+
		"or empty the place (its data folder, database and photos) for this one", words)
}

// Restore restores a backup into an empty installation. Before it writes anything it verifies the hash of every file,
// the keys, and that the target is empty. The database is written last, in one transaction: an interrupted restore can
// be repeated, because identical photos and secrets are kept.
func Restore(ctx context.Context, o RestoreOptions) (_ *Summary, err error) {
	from, err := openSource(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	root, m := from.Root, from.manifest
	if err := verify(ctx, root, m); err != nil {
		return nil, err
	}
	if err := o.CheckKeys.of(root); err != nil {
		return nil, err
	}
	p, err := openTarget(&o, root, m.Photos+m.Secrets)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.data.Close()) }()
	if err := p.each(ctx, "looking at the place", p.check); err != nil {
		return nil, err
	}
	if err := p.checkOthers(ctx); err != nil {
		return nil, err
	}
	if o.Begin != nil {
		if err := o.Begin(m.begun()); err != nil {
			return nil, err
		}
	}
	if err := p.each(ctx, "photos and secrets", p.put); err != nil {
		return nil, err
	}
	if from.loaded {
		err = dump.FinishLoad(ctx, o.Database)
	} else {
		err = loadDump(ctx, root, databaseFile, o.Database)
	}
	if err != nil {
		return nil, err
	}
	return &m.Summary, nil
}

// loadDump fills an empty database with a dump.
func loadDump(ctx context.Context, root *os.Root, name, target string) error {
	return readDump(root, name, func(rows io.Reader) error {
		_, err := dump.Load(ctx, target, rows)
		return err
	})
}

// verify checks the hash of every file of the backup.
func verify(ctx context.Context, root *os.Root, m *manifest) error {
	done := progress.Begin(ctx, "verifying the backup", progress.Bytes, m.Bytes)
	sha, err := hashFile(ctx, root, sumsFile, done)
	if err != nil {
		return err
	}
	if sha != m.SumsSHA256 {
		return fmt.Errorf("%s is damaged: it is not the one of the manifest", sumsFile)
	}
	var databases atomic.Int64
	err = eachFile(ctx, root, func(ctx context.Context, s sum) error {
		_, isPhoto := photoName(s.path)
		_, isSecret := secretName(s.path)
		switch {
		case s.path == databaseFile:
			databases.Add(1)
		case !isPhoto && !isSecret:
			return fmt.Errorf("%s names %q, which does not belong into a backup", sumsFile, s.path)
		}
		sha, err := hashFile(ctx, root, s.path, done)
		if err == nil && sha != s.sha256 {
			err = fmt.Errorf("%s is damaged: its SHA-256 is not the one of the backup", s.path)
		}
		return err
	})
	if err == nil && databases.Load() != 1 {
		err = fmt.Errorf("%s does not name the database, or names it twice", sumsFile)
	}
	return err
}

// target is where a backup is restored to.
type target struct {
	backup  *os.Root
	data    *os.Root
	dataDir string
	media   media.Store
	staging *media.Staging
	files   int64 // that the backup has for it
}

func openTarget(o *RestoreOptions, backup *os.Root, files int64) (*target, error) {
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, err
	}
	data, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &target{backup: backup, data: data, dataDir: dir, media: o.Media, staging: o.Staging, files: files}, nil
}

// each calls f for every photo and secret of the backup, a few concurrently.
func (p *target) each(ctx context.Context, what string, f func(context.Context, sum) error) error {
	done := progress.Begin(ctx, what, progress.Items, p.files)
	return eachFile(ctx, p.backup, func(ctx context.Context, s sum) error {
		if s.path == databaseFile {
			return nil
		}
		err := f(ctx, s)
		done(1)
		return err
	})
}

// check refuses a target with another file in the place of one of the backup.
func (p *target) check(ctx context.Context, s sum) error {
	sha, err := p.present(ctx, s)
	if err == nil && sha != "" && sha != s.sha256 {
		err = fmt.Errorf("the place is not empty: it has another file in place of %s", s.path)
	}
	return err
}

// checkOthers refuses a target with photos that the backup does not have: nobody would know whose they are.
func (p *target) checkOthers(ctx context.Context) error {
	var known map[string]bool
	others, example := 0, ""
	for name, err := range p.media.Names(ctx) {
		if err == nil && known == nil { // most places have none to compare
			known, err = p.photos()
		}
		if err != nil {
			return err
		}
		if !known[name] {
			others++
			example = name
		}
	}
	if others > 0 {
		return fmt.Errorf("the place is not empty: its media store has %d photos that the backup does not have, %s "+
			"for example; restore into an empty one", others, example)
	}
	return nil
}

// photos returns the names of the photos of the backup.
func (p *target) photos() (map[string]bool, error) {
	names := make(map[string]bool, p.files)
	err := eachSum(p.backup, func(s sum) error {
		if name, ok := photoName(s.path); ok {
			names[name] = true
		}
		return nil
	})
	return names, err
}

// present returns the hash of the target's file, or "" if it does not exist.
func (p *target) present(ctx context.Context, s sum) (sha string, err error) {
	if name, ok := secretName(s.path); ok {
		sha, err = hashFile(ctx, p.data, name, func(int64) {})
		if errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		return sha, err
	}
	name, _ := photoName(s.path)
	file, err := p.media.Open(ctx, name)
	if errors.Is(err, media.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return hashOf(ctx, file)
}

// put copies a file to the target, unless it exists.
func (p *target) put(ctx context.Context, s sum) (err error) {
	if sha, err := p.present(ctx, s); err != nil || sha == s.sha256 {
		return err
	}
	file, err := p.backup.Open(s.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if name, ok := secretName(s.path); ok {
		err = p.putSecret(name, file)
	} else {
		err = p.putPhoto(ctx, s, file)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return nil
}

func (p *target) putPhoto(ctx context.Context, s sum, file io.Reader) (err error) {
	name, _ := photoName(s.path)
	staged, err := p.staging.Stage(ctx, file, math.MaxInt64)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, staged.Close()) }()
	if staged.SHA256() != s.sha256 {
		return errors.New("it has changed while it was restored")
	}
	return p.media.Put(ctx, name, staged)
}

// putSecret writes a secret atomically.
func (p *target) putSecret(name string, file io.Reader) error {
	folder := path.Dir(name)
	if err := p.data.MkdirAll(folder, folderMode); err != nil {
		return err
	}
	unfinished := name + ".restoring"
	if err := p.data.Remove(unfinished); err != nil && !errors.Is(err, os.ErrNotExist) { // of an interrupted restore
		return err
	}
	w, err := p.data.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	if err := errors.Join(err, w.Sync(), w.Close()); err != nil {
		return err
	}
	if err := p.data.Rename(unfinished, name); err != nil {
		return err
	}
	return host.SyncFolder(filepath.Join(p.dataDir, folder))
}
