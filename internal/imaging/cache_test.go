package imaging_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
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
	g := &gallery{dir: filepath.Join(t.TempDir(), "derived")}
	var err error
	if g.store, err = media.NewDisk(filepath.Join(t.TempDir(), "media")); err != nil {
		t.Fatal(err)
	}
	if g.staging, err = media.NewStaging(g.store.StagingDir()); err != nil {
		t.Fatal(err)
	}
	if g.cache, err = imaging.NewCache(g.dir, g.store); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(g.cache.Close(), g.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return g
}

func (g *gallery) put(t testing.TB, f photo.Format, content []byte) string {
	t.Helper()
	staged, err := g.staging.Stage(t.Context(), bytes.NewReader(content), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = staged.Close() }()
	name := photo.NewName(f)
	if err := g.store.Put(t.Context(), name, staged); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCache(t *testing.T) {
	g := open(t)
	name := g.put(t, photo.JPEG, jpegOf(t, scene(2000, 1000)))

	t.Run("MadeOnce", func(t *testing.T) {
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				f, err := g.cache.Open(t.Context(), name, imaging.Thumb)
				if err != nil {
					t.Error(err)
					return
				}
				defer f.Close()
				if c, err := jpeg.DecodeConfig(f); err != nil || c.Width != 320 {
					t.Errorf("%+v, %v", c, err)
				}
			})
		}
		group.Wait()
		if err := g.store.Delete(t.Context(), name); err != nil { // from here on only the cache has it
			t.Fatal(err)
		}
		for _, size := range imaging.Sizes {
			f, err := g.cache.Open(t.Context(), name, size)
			if err != nil {
				t.Fatal(err)
			}
			_ = f.Close()
		}
	})
	t.Run("Serve", func(t *testing.T) {
		w := httptest.NewRecorder()
		if err := g.cache.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), name, imaging.Screen); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/jpeg" || w.Header().Get("Last-Modified") == "" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	})
	t.Run("Delete", func(t *testing.T) {
		if err := errors.Join(g.cache.Delete(name), g.cache.Delete(name)); err != nil {
			t.Fatal(err)
		}
		if _, err := g.cache.Open(t.Context(), name, imaging.Thumb); !errors.Is(err, media.ErrNotFound) {
			t.Errorf("Open = %v", err)
		}
	})
	t.Run("NoSuchPhoto", func(t *testing.T) {
		for _, name := range []string{photo.NewName(photo.JPEG), "", "../../etc/passwd", "x.jpg"} {
			if _, err := g.cache.Open(t.Context(), name, imaging.Thumb); !errors.Is(err, media.ErrNotFound) {
				t.Errorf("Open(%q) = %v", name, err)
			}
		}
		if _, err := g.cache.Open(t.Context(), name, "full"); !errors.Is(err, media.ErrNotFound) {
			t.Errorf("an unknown size: %v", err)
		}
	})
	t.Run("BrokenIsTriedOnce", func(t *testing.T) {
		broken := g.put(t, photo.PNG, append(pngHeader(100, 100), "nothing"...))
		for range 2 {
			if _, err := g.cache.Open(t.Context(), broken, imaging.Thumb); !errors.Is(err, imaging.ErrUndecodable) {
				t.Errorf("Open = %v", err)
			}
			if err := g.store.Delete(t.Context(), broken); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("StrangeHeader", func(t *testing.T) {
		if _, err := g.cache.Open(t.Context(), g.put(t, photo.JPEG, []byte("not a photo at all")), imaging.Thumb); !errors.Is(err, imaging.ErrUndecodable) {
			t.Errorf("Open = %v", err)
		}
	})
}

const memoryVariable = "ASSAY_TEST_IMAGING_MEMORY"

// TestMemory makes thumbnails of the largest photos at once, more than there are cores, in a process of its own, and holds its peak to 300 MB.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	if n := os.Getenv(memoryVariable); n != "" {
		deriveMany(t, n)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemory$", "-test.v")
	cmd.Env = append(os.Environ(), memoryVariable+"=4")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, peak, _ := strings.Cut(string(out), "peak=")
	peak, _, _ = strings.Cut(peak, " ")
	kilobytes, err := strconv.Atoi(peak)
	if err != nil {
		t.Fatalf("no figure: %s", out)
	}
	t.Logf("peak %d MB", kilobytes>>10)
	if kilobytes > 300<<10 {
		t.Errorf("peak of %d MB, more than 300", kilobytes>>10)
	}
}

func deriveMany(t *testing.T, count string) {
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Fatal(err)
	}
	g := open(t)
	file := largePhoto(t)
	names := make([]string, n)
	for i := range names {
		names[i] = g.put(t, photo.JPEG, file)
	}
	file = nil
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil { // forget what making the photo took
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, name := range names {
		group.Go(func() {
			f, err := g.cache.Open(t.Context(), name, imaging.Thumb)
			if err != nil {
				t.Error(err)
				return
			}
			_ = f.Close()
		})
	}
	group.Wait()
	status, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer status.Close()
	b, err := io.ReadAll(status)
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(b), "VmHWM:")
	t.Logf("file of %d KB, peak=%s kB", len(file)>>10, strings.Fields(peak)[0])
}

// largePhoto is 50 megapixels of texture.
func largePhoto(t *testing.T) []byte {
	img := image.NewYCbCr(image.Rect(0, 0, 8000, 6250), image.YCbCrSubsampleRatio420)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range img.Y {
		img.Y[i] = byte(i>>5) ^ byte(random.Uint32()&0x1f)
	}
	return jpegOf(t, img)
}
