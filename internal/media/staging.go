package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
)

const stagedPrefix = "staged-"

// Staging is a directory for complete, hashed uploads until they are stored or refused. Files on disk instead of
// buffers keep the memory of an upload independent of its size.
type Staging struct {
	dir           string
	stripLocation bool
}

// StripLocation removes from now on where photos were taken from those that are accepted. It is called before uploads
// are.
func (s *Staging) StripLocation() { s.stripLocation = true }

// NewStaging opens or creates the directory and removes leftovers of earlier runs. For a Disk store it is the
// store's StagingDir.
func NewStaging(dir string) (*Staging, error) {
	dir, err := makeDir(dir)
	if err != nil {
		return nil, err
	}
	s := &Staging{dir: dir}
	_, err = s.Sweep()
	return s, err
}

// Sweep removes uploads that were neither stored nor refused, because their process has ended, and returns how many.
func (s *Staging) Sweep() (swept int, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), stagedPrefix) || fresh(e) {
			continue // foreign, or still being written by another server on the same directory
		}
		if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return swept, err
		}
		swept++
	}
	return swept, nil
}

// leftover is the age from which a staged file cannot belong to a running upload.
const leftover = time.Hour

func fresh(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) < leftover
}

// Stage copies r into a new file. A file over maxBytes is refused with photo.FileTooLarge as soon as that is known;
// the caller drains the rest of r. Errors of r and of the context are returned unchanged, a disk failure is a
// fault.UnavailableError.
func (s *Staging) Stage(ctx context.Context, r io.Reader, maxBytes int64) (*Staged, error) {
	f, err := os.CreateTemp(s.dir, stagedPrefix) // readable by its owner only
	if err != nil {
		return nil, unavailable("stage a file", err)
	}
	staged := &Staged{file: f}
	if err := staged.fill(ctx, r, maxBytes); err != nil {
		_ = staged.Close() // Sweep removes leftovers
		return nil, err
	}
	return staged, nil
}

// Staged is a complete upload on local disk. It can be read as an io.ReaderAt until it is closed, even after it was
// stored.
type Staged struct {
	file   *os.File
	size   int64
	sum    [sha256.Size]byte
	placed bool // a store has moved the file away
}

// copyBuffer is for what is no io.WriterTo.
type copyBuffer [64 << 10]byte

var copyBuffers = sync.Pool{New: func() any { return new(copyBuffer) }}

// fill copies r into the file and hashes it.
func (s *Staged) fill(ctx context.Context, r io.Reader, maxBytes int64) error {
	buf, _ := copyBuffers.Get().(*copyBuffer) // the pool has no other type
	defer copyBuffers.Put(buf)
	w := &stagedWriter{Staged: s, ctx: ctx, hash: sha256.New(), max: maxBytes}
	if _, err := io.CopyBuffer(w, r, buf[:]); err != nil {
		return err
	}
	w.hash.Sum(s.sum[:0])
	beginFlush(s.file)
	return nil
}

// stagedWriter writes a file and hashes it.
type stagedWriter struct {
	*Staged
	ctx  context.Context
	hash hash.Hash
	max  int64 // bytes of the file
}

func (w *stagedWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	if w.size += int64(len(p)); w.size > w.max {
		return 0, photo.FileTooLarge(w.max)
	}
	w.hash.Write(p)
	n, err := w.file.Write(p)
	if err != nil {
		err = unavailable("stage a file", err)
	}
	return n, err
}

// stripLocation removes where the photo was taken. What is stored, and hashed, is what is left.
func (s *Staged) stripLocation(f photo.Format) error {
	edits, err := photo.StripLocation(s.file, s.size, f)
	if err != nil || len(edits) == 0 {
		return err
	}
	for _, e := range edits {
		if _, err := s.file.WriteAt(e.Bytes, e.At); err != nil {
			return unavailable("stage a file", err)
		}
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, s.Reader()); err != nil {
		return unavailable("stage a file", err)
	}
	hash.Sum(s.sum[:0])
	beginFlush(s.file)
	return nil
}

// ReadAt implements io.ReaderAt.
func (s *Staged) ReadAt(p []byte, off int64) (int, error) { return s.file.ReadAt(p, off) }

// Reader returns an independent reader of the complete file.
func (s *Staged) Reader() *io.SectionReader { return io.NewSectionReader(s.file, 0, s.size) }

// Size returns the number of bytes.
func (s *Staged) Size() int64 { return s.size }

// SHA256 returns the hash of the bytes in lower-case hex.
func (s *Staged) SHA256() string { return hex.EncodeToString(s.sum[:]) }

// Close discards the staged file, unless it was stored. Closing again does nothing.
func (s *Staged) Close() error {
	err := s.file.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	if s.placed {
		return err
	}
	if removeErr := os.Remove(s.file.Name()); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
		return errors.Join(err, removeErr)
	}
	return err
}

// Upload is an uploaded file that has passed the rules for photos.
type Upload struct {
	Staged       *Staged
	Info         photo.Info
	OriginalName string
}

// CloseUploads discards the staged files of uploads. What was stored stays stored.
func CloseUploads(uploads []Upload) {
	for _, u := range uploads {
		_ = u.Staged.Close() // what cannot be removed now is removed at the next start
	}
}

// check checks that a staged file is a photo, and removes where it was taken if that is asked for. All its errors are
// faults: a file that cannot be read back is as bad as one that cannot be written.
func (s *Staging) check(staged *Staged) (photo.Info, error) {
	info, err := photo.Inspect(staged, staged.Size())
	if err == nil {
		err = photo.CheckWhole(staged, staged.Size(), info)
	}
	if err == nil && s.stripLocation {
		err = staged.stripLocation(info.Format)
	}
	if err != nil && fault.CodeOf(err) == "" {
		err = unavailable("stage a file", err)
	}
	return info, err
}

// Accept stages an uploaded file and checks that it is a photo of at most maxBytes. refusal says which rule the file
// breaks; the rest of r is then read to its end, so that what follows it can be. err ends the whole upload: r cannot be
// read, or the disk cannot be written.
func (s *Staging) Accept(
	ctx context.Context, r io.Reader, name string, maxBytes int64,
) (u Upload, refusal *fault.Error, err error) {
	u.OriginalName = photo.OriginalName(name)
	if u.Staged, err = s.Stage(ctx, r, maxBytes); err == nil {
		if u.Info, err = s.check(u.Staged); err == nil {
			return u, nil, nil
		}
		_ = u.Staged.Close()
	}
	u.Staged = nil
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Unavailable {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return u, nil, err
		}
		return u, f, nil
	}
	return u, nil, err
}
