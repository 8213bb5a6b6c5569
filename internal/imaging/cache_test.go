package imaging_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

func crc(kind string, content []byte) uint32 {
	return crc32.ChecksumIEEE(append([]byte(kind), content...))
}

func pngHeader(w, h uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d")
	ihdr := binary.BigEndian.AppendUint32(nil, w)
	ihdr = append(binary.BigEndian.AppendUint32(ihdr, h), 8, 2, 0, 0, 0)
	b = append(append(b, "IHDR"...), ihdr...)
	return binary.BigEndian.AppendUint32(b, crc("IHDR", ihdr))
}

// gallery is a media store with a cache over it.
type gallery struct {
	store   *media.Disk
	staging *media.Staging
	cache   *imaging.Cache
	dir     string
}

func open(t testing.TB) *gallery {
	t.Helper()
	g := &gallery{dir: filepath.Join(t.TempDir(), "media")}
	var err error
	if g.store, err = media.NewDisk(g.dir); err != nil {
		t.Fatal(err)
	}
	if g.staging, err = media.NewStaging(g.store.StagingDir()); err != nil {
		t.Fatal(err)
	}
	g.cache = imaging.NewCache(g.store, g.staging, nil)
	must.CloseLater(t, g.store)
	return g
}

func (g *gallery) put(t testing.TB, f photo.Format, content []byte) string {
	t.Helper()
	name := photo.NewName(f)
	g.place(t, name, content)
	return name
}

// place stores a file under a name, whatever there was before.
func (g *gallery) place(t testing.TB, name string, content []byte) {
	t.Helper()
	staged, err := g.staging.Stage(t.Context(), bytes.NewReader(content), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = staged.Close() }()
	if err := g.store.Put(t.Context(), name, staged); err != nil {
		t.Fatal(err)
	}
}

// replace writes other bytes under the name of a photo, which the store itself never does.
func (g *gallery) replace(t testing.TB, name string, content []byte) {
	t.Helper()
	path := filepath.Join(g.dir, name[:1], name[1:2], name)
	if err := errors.Join(os.Remove(path), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (g *gallery) read(t testing.TB, name string) []byte {
	t.Helper()
	f, err := g.store.Open(t.Context(), name)
	return must.ReadAll(t, f, err)
}

// counted counts how often a photo itself is opened.
type counted struct {
	media.Store
	opened atomic.Int64
}

func (c *counted) Open(ctx context.Context, name string) (media.File, error) {
	if !media.IsDerived(name) {
		c.opened.Add(1)
	}
	return c.Store.Open(ctx, name)
}

// look asks for an image and returns its size.
func look(t *testing.T, c *imaging.Cache, name string, size imaging.Size) image.Point {
	t.Helper()
	f, err := c.Open(t.Context(), name, size)
	if err != nil {
		t.Error(err)
		return image.Point{}
	}
	defer f.Close()
	config, err := jpeg.DecodeConfig(f)
	if err != nil {
		t.Error(err)
	}
	return image.Pt(config.Width, config.Height)
}

func TestCache(t *testing.T) {
	g := open(t)
	store := &counted{Store: g.store}
	cache := imaging.NewCache(store, g.staging, nil)
	name := g.put(t, photo.JPEG, jpegOf(t, scene(2000, 1000)))
	thumb := media.DerivedName(name, "thumb")

	t.Run("MadeOnce", func(t *testing.T) {
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				if got := look(t, cache, name, imaging.Thumb); got != image.Pt(320, 160) {
					t.Errorf("a thumbnail of %v", got)
				}
			})
		}
		group.Wait()
		if got := look(t, cache, name, imaging.Screen); got != image.Pt(1600, 800) {
			t.Errorf("a screen of %v", got)
		}
		if err := cache.Make(t.Context(), name); err != nil {
			t.Error(err)
		}
		if n := store.opened.Load(); n != 1 {
			t.Errorf("the photo was opened %d times", n)
		}
	})
	t.Run("AnotherNodeFindsIt", func(t *testing.T) {
		other := imaging.NewCache(store, g.staging, nil)
		look(t, other, name, imaging.Thumb)
		look(t, other, name, imaging.Screen)
		if n := store.opened.Load(); n != 1 {
			t.Errorf("the photo was opened %d times", n)
		}
	})
	t.Run("BrokenImagesAreMadeAgain", func(t *testing.T) {
		sizes := map[imaging.Size]image.Point{imaging.Thumb: image.Pt(320, 160), imaging.Screen: image.Pt(1600, 800)}
		for size, want := range sizes {
			file := media.DerivedName(name, string(size))
			whole := g.read(t, file)
			for _, broken := range [][]byte{
				nil, whole[:len(whole)/2], whole[1:], []byte("\xff"), make([]byte, len(whole)),
			} {
				g.place(t, file, broken)
				before := store.opened.Load()
				if got := look(t, cache, name, size); got != want || store.opened.Load() != before+1 {
					t.Errorf("%d bytes: a %s of %v", len(broken), size, got)
				}
				if !bytes.Equal(g.read(t, file), whole) {
					t.Errorf("%d bytes: %s is not the same again", len(broken), size)
				}
			}
		}
	})
	t.Run("Serve", func(t *testing.T) {
		w := httptest.NewRecorder()
		if err := cache.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), name, imaging.Screen); err != nil {
			t.Fatal(err)
		}
		h := w.Header()
		if w.Code != http.StatusOK || h.Get("Content-Type") != "image/jpeg" || h.Get("Last-Modified") == "" {
			t.Errorf("%d %v", w.Code, h)
		}
	})
	t.Run("FullSizeIsForOtherFormats", func(t *testing.T) {
		if _, err := cache.Open(t.Context(), name, imaging.Full); !errors.Is(err, media.ErrNotFound) {
			t.Errorf("%v", err)
		}
		heic := g.put(t, photo.HEIC, pictures.Sample(t, "github.com/gen2brain/heic", "exif.heic"))
		for range 2 {
			before := store.opened.Load()
			if got := look(t, cache, heic, imaging.Full); got != image.Pt(1346, 1346) {
				t.Errorf("in full size %v", got)
			}
			defer func() {
				if n := store.opened.Load() - before; n > 1 {
					t.Errorf("opened %d times", n)
				}
			}()
		}
	})
	t.Run("GoesWithThePhoto", func(t *testing.T) {
		if err := g.store.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		for _, size := range imaging.Sizes {
			if _, err := cache.Open(t.Context(), name, size); !errors.Is(err, media.ErrNotFound) {
				t.Errorf("Open = %v", err)
			}
		}
	})
	t.Run("NoSuchPhoto", func(t *testing.T) {
		for _, name := range []string{photo.NewName(photo.JPEG), "", "../../etc/passwd", "x.jpg", thumb} {
			if _, err := cache.Open(t.Context(), name, imaging.Thumb); !errors.Is(err, media.ErrNotFound) {
				t.Errorf("Open(%q) = %v", name, err)
			}
		}
		if _, err := cache.Open(t.Context(), name, "huge"); !errors.Is(err, media.ErrNotFound) {
			t.Errorf("an unknown size: %v", err)
		}
	})
	t.Run("BrokenPhotosAreTriedOnce", func(t *testing.T) {
		broken := g.put(t, photo.PNG, append(pngHeader(100, 100), "nothing"...))
		before := store.opened.Load()
		for range 3 {
			for _, size := range imaging.Sizes {
				if _, err := cache.Open(t.Context(), broken, size); !errors.Is(err, imaging.ErrUndecodable) {
					t.Errorf("Open = %v", err)
				}
			}
		}
		if n := store.opened.Load() - before; n != 1 {
			t.Errorf("the photo was opened %d times", n)
		}
	})
	t.Run("AndAgainADayLater", func(t *testing.T) {
		broken := g.put(t, photo.PNG, append(pngHeader(100, 100), "nothing"...))
		if _, err := cache.Open(t.Context(), broken, imaging.Thumb); !errors.Is(err, imaging.ErrUndecodable) {
			t.Fatal(err)
		}
		old := time.Now().Add(-25 * time.Hour)
		mark := filepath.Join(g.dir, media.DerivedPrefix, broken[:1], broken[1:2], media.DerivedName(broken, "thumb"))
		if err := os.Chtimes(mark, old, old); err != nil {
			t.Fatal(err)
		}
		g.replace(t, broken, jpegOf(t, scene(20, 10))) // what kept it from being decoded is gone
		if _, err := cache.Open(t.Context(), broken, imaging.Thumb); !errors.Is(err, imaging.ErrUndecodable) {
			t.Fatal(err)
		}
		g.replace(t, broken, pngOf(t, scene(20, 10)))
		if err := os.Chtimes(mark, old, old); err != nil {
			t.Fatal(err)
		}
		if got := look(t, cache, broken, imaging.Thumb); got != image.Pt(20, 10) {
			t.Errorf("%v", got)
		}
	})
	t.Run("StrangeHeader", func(t *testing.T) {
		name := g.put(t, photo.JPEG, []byte("not a photo at all"))
		if _, err := cache.Open(t.Context(), name, imaging.Thumb); !errors.Is(err, imaging.ErrUndecodable) {
			t.Errorf("Open = %v", err)
		}
	})
}

// panicking is a media store whose photos cannot be read without a panic, as a parser's fault would cause.
type panicking struct{ media.Store }

type panickingFile struct{ media.File }

func (panickingFile) Read([]byte) (int, error) { panic("a fault of a parser") }

func (p panicking) Open(ctx context.Context, name string) (media.File, error) {
	f, err := p.Store.Open(ctx, name)
	if err != nil || media.IsDerived(name) {
		return f, err
	}
	return panickingFile{f}, nil
}

// TestCache_Panic checks that a panic in the goroutine that makes images is an error for those who wait for them.
func TestCache_Panic(t *testing.T) {
	g := open(t)
	cache := imaging.NewCache(panicking{g.store}, g.staging, nil)
	for _, f := range []photo.Format{photo.JPEG, photo.PNG, photo.WebP, photo.HEIC, photo.AVIF} {
		name := g.put(t, f, jpegOf(t, scene(20, 10)))
		for range 2 {
			if _, err := cache.Open(t.Context(), name, imaging.Thumb); !errors.Is(err, imaging.ErrUndecodable) {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
}

// failing is a media store whose photos cannot be read beyond their first bytes. With wait set, reading lasts until the
// context of Open ends.
type failing struct {
	media.Store
	after int64
	wait  chan struct{} // is told that a file is being read
}

type failingFile struct {
	media.File
	ctx  context.Context // as files of S3 have it
	from *failing
	at   int64
}

func (s *failing) Open(ctx context.Context, name string) (media.File, error) {
	f, err := s.Store.Open(ctx, name)
	if err != nil || media.IsDerived(name) {
		return f, err
	}
	return &failingFile{File: f, ctx: ctx, from: s}, nil
}

func (f *failingFile) Seek(offset int64, whence int) (at int64, err error) {
	f.at, err = f.File.Seek(offset, whence)
	return f.at, err
}

func (f *failingFile) Read(p []byte) (int, error) {
	if left := f.from.after - f.at; left > 0 {
		n, err := f.File.Read(p[:min(int64(len(p)), left)])
		f.at += int64(n)
		return n, err
	}
	if f.from.wait != nil {
		f.from.wait <- struct{}{}
		<-f.ctx.Done()
		return 0, f.ctx.Err()
	}
	return 0, fault.UnavailableError(io.EOF) // as of a connection that breaks off
}

// TestCache_ReadFails checks that a photo which the media store fails to return is not taken for a broken one.
func TestCache_ReadFails(t *testing.T) {
	whole := map[photo.Format][]byte{
		photo.JPEG: jpegOf(t, scene(200, 100)),
		photo.PNG:  pngOf(t, scene(200, 100)),
		photo.WebP: pictures.Sample(t, "github.com/gen2brain/webp", "test.webp"),
		photo.AVIF: pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif"),
		photo.HEIC: pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic"),
	}
	g := open(t)
	for f, content := range whole {
		for _, after := range []int64{0, 30, int64(len(content)) / 2} {
			name := g.put(t, f, content)
			broken := imaging.NewCache(&failing{Store: g.store, after: after}, g.staging, nil)
			_, err := broken.Open(t.Context(), name, imaging.Thumb)
			if fault.CodeOf(err) != fault.CodeUnavailable || errors.Is(err, imaging.ErrUndecodable) {
				t.Errorf("%s of which %d bytes are read: %v", f, after, err)
			}
			if _, err := g.store.Stat(t.Context(), media.DerivedName(name, "thumb")); !errors.Is(err, media.ErrNotFound) {
				t.Errorf("%s of which %d bytes are read: a mark is left, %v", f, after, err)
			}
		}
	}
}

// TestCache_CloseWhileReading checks that a photo is not taken for a broken one because the server stops as it is read.
func TestCache_CloseWhileReading(t *testing.T) {
	g := open(t)
	store := &failing{Store: g.store, after: 300, wait: make(chan struct{})}
	cache := imaging.NewCache(store, g.staging, nil)
	name := g.put(t, photo.PNG, pngOf(t, scene(200, 100)))
	asked := make(chan error)
	go func() { asked <- cache.Make(t.Context(), name) }()
	<-store.wait
	cache.Close(t.Context())
	if err := <-asked; fault.CodeOf(err) != fault.CodeUnavailable {
		t.Errorf("Make = %v", err)
	}
	if got := look(t, g.cache, name, imaging.Thumb); got != image.Pt(200, 100) {
		t.Errorf("after the next start an image of %v", got)
	}
}

// slow is a media store in which opening a photo takes until it is told to go on.
type slow struct {
	media.Store
	opening, goOn chan struct{}
}

func (s *slow) Open(ctx context.Context, name string) (media.File, error) {
	if !media.IsDerived(name) {
		s.opening <- struct{}{}
		<-s.goOn
	}
	return s.Store.Open(ctx, name)
}

// TestCache_Close checks that Close waits for images that are being made, also when nobody else does, but not for ever,
// and that none are begun after it.
func TestCache_Close(t *testing.T) {
	g := open(t)
	store := &slow{g.store, make(chan struct{}), make(chan struct{})}
	cache := imaging.NewCache(store, g.staging, nil)
	name := g.put(t, photo.JPEG, jpegOf(t, scene(20, 10)))
	ctx, leave := context.WithCancel(t.Context())
	asked := make(chan error)
	go func() { asked <- cache.Make(ctx, name) }()
	<-store.opening
	leave()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("Make = %v", err)
	}
	closed := make(chan struct{})
	go func() { cache.Close(t.Context()); close(closed) }()
	select {
	case <-closed:
		t.Error("Close does not wait")
	case <-time.After(50 * time.Millisecond):
	}
	late, giveUp := context.WithCancel(t.Context())
	giveUp()
	cache.Close(late) // returns, although the work goes on
	close(store.goOn)
	<-closed
	other := g.put(t, photo.JPEG, jpegOf(t, scene(20, 10)))
	if _, err := cache.Open(t.Context(), other, imaging.Thumb); fault.CodeOf(err) != fault.CodeUnavailable {
		t.Errorf("after Close: %v", err)
	}
}

// TestCache_Busy checks that an account whose photos pile up gets no more of them begun, also when nobody waits for
// them any more, and that others do.
func TestCache_Busy(t *testing.T) {
	g := open(t)
	store := &slow{g.store, make(chan struct{}), make(chan struct{})}
	cache := imaging.NewCache(store, g.staging, nil)
	file := pngOf(t, scene(20, 10))
	// begun reports whether a photo is begun; who has asked for it leaves then.
	begun := func(account string) bool {
		ctx, leave := context.WithCancel(imaging.OfAccount(t.Context(), account))
		defer leave()
		refused := make(chan error, 1)
		go func() { refused <- cache.Make(ctx, g.put(t, photo.PNG, file)) }()
		select {
		case <-store.opening:
			return true
		case err := <-refused:
			if fault.CodeOf(err) != fault.CodeUnavailable {
				t.Errorf("%v", err)
			}
			return false
		}
	}
	for i := range imaging.MaxRunningOfAccount {
		if !begun("a") {
			t.Fatalf("photo %d is not begun", i)
		}
	}
	if begun("a") {
		t.Error("one more is begun than may wait")
	}
	if !begun("b") {
		t.Error("a photo of another account is not begun")
	}
	close(store.goOn)
	cache.Close(t.Context())
}

// TestCache_Fair checks that an account whose viewers wait for more photos than are decoded at a time, which take for
// ever, leaves a place to others.
func TestCache_Fair(t *testing.T) {
	g := open(t)
	places := runtime.GOMAXPROCS(0) + 2
	store := &failing{Store: g.store, after: 512 << 10, wait: make(chan struct{}, places)}
	cache := imaging.NewCache(store, g.staging, nil)
	small := pngOf(t, scene(20, 10))
	large := pictures.PadPNG(small, 1<<20, "") // its header can be read
	heavy, leave := context.WithCancel(imaging.OfAccount(t.Context(), "heavy"))
	var viewers sync.WaitGroup
	for range places {
		viewers.Go(func() { _, _ = cache.Open(heavy, g.put(t, photo.PNG, large), imaging.Thumb) })
	}
	must.Eventually(t, time.Minute, "its photos have all places they get", func() bool {
		return cache.Decoding("heavy") == places
	})
	light, giveUp := context.WithTimeout(imaging.OfAccount(t.Context(), "light"), time.Minute)
	defer giveUp()
	f, err := cache.Open(light, g.put(t, photo.PNG, small), imaging.Thumb)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Errorf("a photo of another account: %v", err)
	}
	leave()
	viewers.Wait()
	cache.Close(t.Context())
}

// TestCache_ViewersFirst checks that images which nobody has asked for are not begun while somebody waits for others.
func TestCache_ViewersFirst(t *testing.T) {
	g := open(t)
	store := &slow{g.store, make(chan struct{}), make(chan struct{})}
	cache := imaging.NewCache(store, g.staging, nil)
	seen, unseen := g.put(t, photo.JPEG, jpegOf(t, scene(20, 10))), g.put(t, photo.JPEG, jpegOf(t, scene(20, 10)))
	viewed, made := make(chan image.Point), make(chan error)
	go func() { viewed <- look(t, cache, seen, imaging.Thumb) }()
	<-store.opening
	go func() { made <- cache.Make(t.Context(), unseen) }()
	select {
	case <-store.opening:
		t.Error("a photo that nobody has asked for is opened")
	case <-time.After(50 * time.Millisecond):
	}
	ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
	defer leave()
	if err := cache.Make(ctx, unseen); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Make = %v", err)
	}
	store.goOn <- struct{}{}
	if size := <-viewed; size != image.Pt(20, 10) {
		t.Errorf("an image of %v", size)
	}
	<-store.opening
	store.goOn <- struct{}{}
	if err := <-made; err != nil {
		t.Error(err)
	}
}

// TestCache_Heavy checks which photos are given to another process: those that may take more than the budget.
func TestCache_Heavy(t *testing.T) {
	g := open(t)
	type images = map[imaging.Size][]byte
	heavy := 0
	decode := func(context.Context, io.ReadSeeker, photo.Format, []imaging.Size) (images, error) {
		heavy++
		return images{imaging.Thumb: []byte("\xff\xd8\xff\xd9")}, nil
	}
	cache := imaging.NewCache(g.store, g.staging, decode)
	png := func(w, h uint32, depth, color, interlaced byte) []byte {
		b := pngHeader(w, h)
		b[24], b[25], b[28] = depth, color, interlaced
		return b
	}
	const gray, rgb, palette, rgba = 0, 2, 3, 6
	for _, c := range []struct {
		name string
		f    photo.Format
		file []byte
		want bool
	}{
		{"largest", photo.PNG, png(8000, 6250, 16, rgba, 0), true},
		{"largest of 8 bits", photo.PNG, png(8000, 6250, 8, rgb, 0), true},
		{"largest gray, which may become RGBA", photo.PNG, png(8000, 6250, 8, gray, 0), true},
		{"largest with a palette", photo.PNG, png(8000, 6250, 8, palette, 0), false},
		{"12 megapixels", photo.PNG, png(4000, 3000, 8, rgb, 0), false},
		{"12 megapixels of 16 bits", photo.PNG, png(4000, 3000, 16, rgb, 0), false},
		{"12 megapixels of 16 bits, interlaced", photo.PNG, png(4000, 3000, 16, rgb, 1), true},
		{"AVIF", photo.AVIF, pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif"), true},
		{"HEIC", photo.HEIC, pictures.Sample(t, "github.com/gen2brain/heic", "test8.heic"), true},
	} {
		heavy = 0
		f, err := cache.Open(t.Context(), g.put(t, c.f, c.file), imaging.Thumb)
		if c.want != (heavy == 1) || c.want == errors.Is(err, imaging.ErrUndecodable) {
			t.Errorf("%s: given to the other process %d times, %v", c.name, heavy, err)
		}
		if err == nil {
			_ = f.Close()
		}
	}
}

// TestCache_TooLong checks that a photo that is not decoded in time is given to the other process, and is undecodable
// where there is none. A file without a picture is not given to it.
func TestCache_TooLong(t *testing.T) {
	g := open(t)
	type images = map[imaging.Size][]byte
	heavy := 0
	decode := func(context.Context, io.ReadSeeker, photo.Format, []imaging.Size) (images, error) {
		heavy++
		return images{imaging.Thumb: []byte("\xff\xd8\xff\xd9")}, nil
	}
	file := jpegOf(t, scene(200, 100))
	cache, alone := imaging.NewCache(g.store, g.staging, decode), imaging.NewCache(g.store, g.staging, nil)
	if got := look(t, cache, g.put(t, photo.JPEG, file), imaging.Thumb); got != image.Pt(200, 100) || heavy != 0 {
		t.Fatalf("an image of %v, given to the other process %d times", got, heavy)
	}
	for _, c := range []*imaging.Cache{cache, alone} {
		c.Limit(time.Nanosecond)
	}
	f, err := cache.Open(t.Context(), g.put(t, photo.JPEG, file), imaging.Thumb)
	if must.ReadAll(t, f, err); heavy != 1 {
		t.Errorf("given to the other process %d times", heavy)
	}
	_, err = cache.Open(t.Context(), g.put(t, photo.JPEG, file[:100]), imaging.Thumb)
	if !errors.Is(err, imaging.ErrUndecodable) || heavy != 1 {
		t.Errorf("a broken file is given to the other process %d times: %v", heavy, err)
	}
	_, err = alone.Open(t.Context(), g.put(t, photo.JPEG, file), imaging.Thumb)
	if !errors.Is(err, imaging.ErrUndecodable) {
		t.Errorf("%v", err)
	}
}
