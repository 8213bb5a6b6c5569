package imaging

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/media"
	"golang.org/x/sync/semaphore"
)

const (
	// budget is how much memory all decoders of this process may use together, as far as it can be estimated.
	budget = 160 << 20

	// freeAbove is how much an image takes before its memory is returned to the system at once, so that the next large
	// image does not come on top of it.
	freeAbove = 64 << 20

	// mostHere is how long this process decodes a photo, several times what the largest ones take. What takes longer is
	// given to a process that has limits. It holds for JPEG: the other decoders cannot be interrupted.
	mostHere = 10 * time.Second

	// undecodable is stored instead of an image where a photo cannot be decoded, so that it is not tried for every
	// request. It is tried again after retryAfter: the cause may have been the machine.
	undecodable = "undecodable\n"
	retryAfter  = 24 * time.Hour

	maxDerived = 64 << 20 // bytes of a derived image

	// As many photos may be in work or wait for it, in all and of one account: each holds an open file.
	maxRunning          = 1024
	maxRunningOfAccount = 256
)

// Cache makes derived images when they are first asked for and keeps them in the media store beside their photos, where
// every node finds them. They can be made again from the photos at any time.
type Cache struct {
	media   media.Store
	staging *media.Staging
	heavy   Deriver
	owner   Owner
	memory  *semaphore.Weighted
	cores   *fairSemaphore
	limit   time.Duration // mostHere, except in tests

	mu      sync.Mutex
	running map[string]*derivation // by the name of one of its images
	viewers int                    // who wait for images
	quiet   chan struct{}          // closed when viewers are none; nil: there were none yet
	closing context.Context        // done when Close is called
	close   context.CancelFunc
	work    sync.WaitGroup
}

// Deriver makes the images of a set of sizes, as Derive does.
type Deriver func(ctx context.Context, file io.ReadSeeker, f photo.Format, sizes []Size) (map[Size][]byte, error)

// Owner returns the account of a photo, or nothing when it is not known.
type Owner func(ctx context.Context, name string) string

// derivation is the work on one photo that its callers wait for.
type derivation struct {
	account string // as far as it is known
	done    chan struct{}
	err     error
}

// NewCache returns a cache over a media store. Photos that may take more memory than this process should use, or take
// longer than it should, are given to heavy; when that is nil the former are decoded in this process, each alone.
//
// Accounts take turns, and one alone has every core but not every place, so that no account's photos hold up another's.
// SetOwner tells the cache whose photos it has.
func NewCache(store media.Store, staging *media.Staging, heavy Deriver) *Cache {
	ahead, _ := warmers()
	places := ahead + 1 // one for who looks at a photo
	c := &Cache{
		media: store, staging: staging, heavy: heavy,
		memory:  semaphore.NewWeighted(budget),
		cores:   newFairSemaphore(places, places-1),
		limit:   mostHere,
		running: make(map[string]*derivation),
	}
	c.closing, c.close = context.WithCancel(context.Background())
	return c
}

// SetOwner sets who tells the account of a photo, where the context of a call does not. It is asked only before a photo
// is decoded, never for images that are there. It is set before the cache is used.
func (c *Cache) SetOwner(owner Owner) { c.owner = owner }

// Close starts no more work, stops what can be stopped and waits for the rest until ctx ends. What is not stored by
// then is lost, and made again when it is asked for. Images that are there can still be opened.
func (c *Cache) Close(ctx context.Context) {
	c.mu.Lock()
	c.close()
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		c.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Open returns the derived image of a photo, which it makes when there is none or a broken one. The error is
// media.ErrNotFound when there is no such photo, ErrUndecodable when it cannot be decoded, or a fault of the media
// store. The caller closes the file.
func (c *Cache) Open(ctx context.Context, name string, size Size) (media.File, error) {
	if f, ok := photo.ParseName(name); !ok || !size.Known() || size == Full && !HasFull(f) {
		return nil, media.ErrNotFound
	}
	f, err := c.open(ctx, name, size)
	if !errors.Is(err, media.ErrNotFound) {
		return f, err
	}
	defer c.view()()
	if err := c.derive(ctx, name, size); err != nil {
		return nil, err
	}
	return c.open(ctx, name, size)
}

// view counts a viewer who waits for an image until the returned function is called.
func (c *Cache) view() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.viewers == 0 {
		c.quiet = make(chan struct{})
	}
	c.viewers++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.viewers--; c.viewers == 0 {
			close(c.quiet)
		}
	}
}

// Make makes the images that pages show first, unless they exist. Nobody waits for them yet, so it begins when nobody
// waits for others.
func (c *Cache) Make(ctx context.Context, name string) error {
	if _, ok := photo.ParseName(name); !ok {
		return media.ErrNotFound
	}
	c.mu.Lock()
	quiet := c.quiet
	c.mu.Unlock()
	if quiet != nil {
		select {
		case <-quiet:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f, err := c.open(ctx, name, Thumb)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, media.ErrNotFound) {
		return err
	}
	return c.derive(ctx, name, Thumb)
}

// open returns what is stored. A truncated file counts as missing.
func (c *Cache) open(ctx context.Context, name string, size Size) (media.File, error) {
	f, err := c.media.Open(ctx, media.DerivedName(name, string(size)))
	if err != nil {
		return nil, err
	}
	if err := checkStored(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// checkStored returns ErrUndecodable for the mark of a photo that cannot be decoded, and media.ErrNotFound for what is
// neither that nor an image.
func checkStored(f media.File) error {
	var head, tail [2]byte
	at := readerAt{f}
	if _, err := at.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := at.ReadAt(tail[:], max(0, f.Size()-2)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case head == [2]byte{0xff, 0xd8} && tail == [2]byte{0xff, 0xd9}:
		_, err := f.Seek(0, io.SeekStart)
		return err
	case f.Size() == int64(len(undecodable)) && string(head[:]) == undecodable[:2] &&
		time.Since(f.ModTime()) < retryAfter:
		return ErrUndecodable
	}
	return media.ErrNotFound
}

// derive makes the image of a size and those that are made with it. Concurrent callers wait for the same work.
func (c *Cache) derive(ctx context.Context, name string, size Size) error {
	sizes := size.together()
	key := media.DerivedName(name, string(sizes[0]))
	c.mu.Lock()
	d, ok := c.running[key]
	if !ok {
		if c.closing.Err() != nil {
			c.mu.Unlock()
			return fault.UnavailableError(errClosed)
		}
		account := accountOf(ctx)
		if c.full(account) {
			c.mu.Unlock()
			return fault.UnavailableError(errBusy)
		}
		d = &derivation{account: account, done: make(chan struct{})}
		c.running[key] = d
		c.work.Go(func() { // goes on when the first caller has gone: others may wait, and the result is stored
			ctx := c.closing
			if account == "" && c.owner != nil {
				account = c.owner(ctx, name)
				c.mu.Lock()
				d.account = account
				c.mu.Unlock()
			}
			d.err = c.make(OfAccount(ctx, account), name, sizes)
			c.mu.Lock()
			delete(c.running, key)
			c.mu.Unlock()
			close(d.done)
		})
	}
	c.mu.Unlock()
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// full reports whether no more photos of an account are taken. It must be called with c.mu held.
func (c *Cache) full(account string) bool {
	if len(c.running) < maxRunningOfAccount {
		return false
	}
	ofAccount := 0
	for _, d := range c.running {
		if d.account == account {
			ofAccount++
		}
	}
	return ofAccount >= maxRunningOfAccount || len(c.running) >= maxRunning
}

func (c *Cache) make(ctx context.Context, name string, sizes []Size) (err error) {
	defer undecodableOnPanic(&err)
	if c.has(ctx, name, sizes) { // made meanwhile, here or on another node
		return nil
	}
	file, err := c.media.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	format, _ := photo.ParseName(name)
	derived, err := c.decode(ctx, file, format, sizes)
	if err != nil && !errors.Is(err, ErrUndecodable) {
		return fault.UnavailableError(err)
	}
	ctx = context.WithoutCancel(ctx)              // what is made is stored, also when the server stops
	for _, size := range slices.Backward(sizes) { // the one that others look for comes last
		content := derived[size]
		if len(content) == 0 {
			content = []byte(undecodable)
		}
		if err := c.save(ctx, media.DerivedName(name, string(size)), content); err != nil {
			return err
		}
	}
	if _, err := c.media.Stat(ctx, name); errors.Is(err, media.ErrNotFound) { // deleted meanwhile
		return errors.Join(err, c.media.Delete(ctx, name))
	}
	return nil
}

// has reports whether there are complete images of all the sizes.
func (c *Cache) has(ctx context.Context, name string, sizes []Size) bool {
	for _, size := range sizes {
		f, err := c.open(ctx, name, size)
		if err != nil {
			return false
		}
		_ = f.Close() // opened for reading only
	}
	return true
}

// decode makes the images of a photo. An error is ErrUndecodable only where the whole photo could be read.
func (c *Cache) decode(
	ctx context.Context, file media.File, f photo.Format, sizes []Size,
) (map[Size][]byte, error) {
	r := &reading{File: file}
	derived, err := c.run(ctx, r, f, sizes)
	switch {
	case r.failure != nil:
		return nil, r.failure
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return derived, err
}

// run runs the decoder, in this process or another.
func (c *Cache) run(
	ctx context.Context, file media.File, f photo.Format, sizes []Size,
) (_ map[Size][]byte, err error) {
	defer undecodableOnPanic(&err)
	need, err := memoryFor(readerAt{file}, file.Size(), f, sizes)
	if err != nil {
		return nil, err
	}
	if err := rewind(file); err != nil {
		return nil, err
	}
	if need <= budget || c.heavy == nil {
		derived, err := c.runHere(ctx, file, need, f, sizes)
		if c.heavy == nil || !errors.Is(err, context.DeadlineExceeded) {
			return derived, err
		}
	}
	return c.heavy(ctx, file, f, sizes)
}

// runHere runs the decoder in this process, when there are a core and memory for it, as long as it may take here.
func (c *Cache) runHere(
	ctx context.Context, file media.File, need int64, f photo.Format, sizes []Size,
) (map[Size][]byte, error) {
	release, err := c.cores.acquire(ctx, accountOf(ctx))
	if err != nil {
		return nil, err
	}
	defer release()
	need = min(need, budget)
	if err := c.memory.Acquire(ctx, need); err != nil {
		return nil, err
	}
	defer c.memory.Release(need)
	if need > freeAbove {
		defer debug.FreeOSMemory()
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return Derive(ctx, file, f, sizes)
}

// save stores an image atomically.
func (c *Cache) save(ctx context.Context, name string, content []byte) error {
	staged, err := c.staging.Stage(ctx, bytes.NewReader(content), maxDerived)
	if err != nil {
		return err
	}
	defer func() { _ = staged.Close() }() // what is left is removed at the next start
	return c.media.Put(ctx, name, staged)
}

// Serve answers with a derived image, or returns an error and has written nothing. The caller sets Cache-Control: some
// images are public, others only for who is signed in.
func (c *Cache) Serve(w http.ResponseWriter, r *http.Request, name string, size Size) error {
	f, err := c.Open(r.Context(), name, size)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	h := w.Header()
	h.Set("Content-Type", "image/jpeg")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", f.ModTime(), f)
	return nil
}

func rewind(file io.Seeker) error {
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// readerAt is an io.ReaderAt over a file that nothing else reads meanwhile.
type readerAt struct{ io.ReadSeeker }

func (r readerAt) ReadAt(p []byte, at int64) (int, error) {
	if _, err := r.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r.ReadSeeker, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}
