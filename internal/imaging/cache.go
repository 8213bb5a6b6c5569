package imaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/media"
	"golang.org/x/sync/semaphore"
)

const (
	// budget is how much memory all decoders together may use, as far as it can be told beforehand. A single image that
	// needs more waits until it is alone.
	budget = 160 << 20

	// tidyAbove is how much an image takes before its memory is handed back to the system at once: the collector would
	// take its time, and the next large image would come on top.
	tidyAbove = 24 << 20
)

// Cache keeps derived images in a folder of its own. They can be made again from the photos at any time: the folder needs
// no backup, and each node has one.
type Cache struct {
	source media.Store
	root   *os.Root
	memory *semaphore.Weighted
	cores  *semaphore.Weighted

	mu      sync.Mutex
	running map[string]*derivation
}

// derivation is one photo being worked on, for all who wait for it.
type derivation struct {
	done chan struct{}
	err  error
}

// NewCache opens the cache in a folder, which it makes if needed.
func NewCache(dir string, source media.Store) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Cache{
		source: source, root: root, memory: semaphore.NewWeighted(budget), cores: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
		running: make(map[string]*derivation),
	}, nil
}

// Close lets go of the folder.
func (c *Cache) Close() error { return c.root.Close() }

// Open returns the derived image of a photo, which it makes when nobody has asked for it before. The error is
// media.ErrNotFound when there is no such photo, ErrUndecodable when it cannot be shown, or a fault of the media store. The
// caller closes the file.
func (c *Cache) Open(ctx context.Context, name string, size Size) (*os.File, error) {
	if media.CheckName(name) != nil || (size != Thumb && size != Screen) {
		return nil, media.ErrNotFound
	}
	f, err := c.open(name, size)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := c.derive(ctx, name); err != nil {
		return nil, err
	}
	return c.open(name, size)
}

// open returns what is in the folder. An empty file is kept for a photo that cannot be decoded, so that it is tried once.
func (c *Cache) open(name string, size Size) (*os.File, error) {
	f, err := c.root.Open(pathOf(name, size))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() == 0 {
		err = ErrUndecodable
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// pathOf is the place of a derived image: its size, a folder of two characters, and the photo's name.
func pathOf(name string, size Size) string { return filepath.Join(string(size), name[:2], name) }

// derive makes all sizes of a photo; many who ask at once wait for the same work.
func (c *Cache) derive(ctx context.Context, name string) error {
	c.mu.Lock()
	d, ok := c.running[name]
	if !ok {
		d = &derivation{done: make(chan struct{})}
		c.running[name] = d
		go func() { // the work goes on when the one who asked first has gone: others may wait, and it is kept
			d.err = c.make(context.WithoutCancel(ctx), name)
			c.mu.Lock()
			delete(c.running, name)
			c.mu.Unlock()
			close(d.done)
		}()
	}
	c.mu.Unlock()
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Cache) make(ctx context.Context, name string) error {
	file, err := c.source.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	format, _ := photo.ParseName(name)
	need, err := memoryOf(file, format)
	if err != nil {
		return err
	}
	weight := min(need, budget)
	if err := c.memory.Acquire(ctx, weight); err != nil {
		return err
	}
	defer c.memory.Release(weight)
	if err := c.cores.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.cores.Release(1)
	derived, err := Derive(file, format)
	if need > tidyAbove {
		debug.FreeOSMemory()
	}
	if err != nil && !errors.Is(err, ErrUndecodable) {
		return fault.UnavailableError(err)
	}
	for _, size := range Sizes {
		if err := c.keep(pathOf(name, size), derived[size]); err != nil {
			return fault.UnavailableError(fmt.Errorf("keep a derived image: %w", err))
		}
	}
	return nil
}

// keep writes a file as a whole: nobody sees a part of it.
func (c *Cache) keep(path string, content []byte) error {
	if err := c.root.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := c.root.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return c.root.Rename(temporary, path)
}

// Delete forgets the derived images of a photo that was deleted.
func (c *Cache) Delete(name string) error {
	if err := media.CheckName(name); err != nil {
		return err
	}
	var failed error
	for _, size := range Sizes {
		if err := c.root.Remove(pathOf(name, size)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// Serve answers with a derived image, or returns why it cannot and has written nothing. Cache-Control is the caller's:
// the images of one page may be anyone's, those of another only of who is signed in.
func (c *Cache) Serve(w http.ResponseWriter, r *http.Request, name string, size Size) error {
	f, err := c.Open(r.Context(), name, size)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "image/jpeg")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}

// Bytes that decoders take for each pixel: the image itself, and what they keep beside it.
var bytesPerPixel = map[photo.Format]int64{photo.JPEG: 3, photo.PNG: 4, photo.WebP: 4, photo.HEIC: 10, photo.HEIF: 10, photo.AVIF: 10}

// memoryOf tells what decoding a photo will take.
func memoryOf(file media.File, f photo.Format) (int64, error) {
	info, err := photo.Inspect(readerAt{file}, file.Size())
	if err != nil {
		if fault.CodeOf(err) != "" { // it was taken once, so it can be read; the decoder will tell
			return budget, rewind(file)
		}
		return 0, err
	}
	pixels := int64(info.Width) * int64(info.Height)
	need := pixels * bytesPerPixel[f]
	switch f {
	case photo.JPEG:
		if progressive(file) {
			need += 12 * pixels // all coefficients are kept until the end
		}
	case photo.PNG:
		if deep(file) {
			need *= 2
		}
	case photo.WebP, photo.HEIC, photo.HEIF, photo.AVIF:
	}
	return need, rewind(file)
}

func rewind(file media.File) error {
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// readerAt reads a file that is used by nobody else at any place.
type readerAt struct{ media.File }

func (r readerAt) ReadAt(p []byte, at int64) (int, error) {
	if _, err := r.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r.File, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// progressive reports whether a JPEG begins with a frame of that kind: marker C2 before any scan.
func progressive(file media.File) bool {
	head := make([]byte, 4)
	at := int64(2)
	for range maxParts {
		if n, _ := (readerAt{file}).ReadAt(head, at); n < 4 || head[0] != 0xff {
			return false
		}
		switch head[1] {
		case 0xc2:
			return true
		case 0xc0, 0xc1, 0xda:
			return false
		}
		at += 2 + int64(head[2])<<8 + int64(head[3])
	}
	return false
}

// deep reports whether a PNG has 16 bits a channel.
func deep(file media.File) bool {
	head := make([]byte, 25)
	n, _ := (readerAt{file}).ReadAt(head, 0)
	return n == len(head) && bytes.Equal(head[12:16], []byte("IHDR")) && head[24] == 16
}
