package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/s3test"
)

// TestStore checks what every Store promises, on disk and on an S3 server.
func TestStore(t *testing.T) {
	t.Run("Disk", func(t *testing.T) {
		testStore(t, func(t *testing.T) *suite {
			disk, staging := openDisk(t)
			return &suite{Store: disk, staging: staging}
		})
	})
	t.Run("S3", func(t *testing.T) {
		server := s3test.Start(t)
		testStore(t, func(t *testing.T) *suite { return openS3(t, server.Bucket(t)) })
	})
}

func testStore(t *testing.T, open func(*testing.T) *suite) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *suite)
	}{
		{"PutOpen", testPutOpen},
		{"PutEmpty", testPutEmpty},
		{"PutAgain", testPutAgain},
		{"PutKeepsStagedReadable", testPutKeepsStagedReadable},
		{"PutSameNameConcurrently", testPutSameNameConcurrently},
		{"PutManyConcurrently", testPutManyConcurrently},
		{"Seek", testSeek},
		{"Missing", testMissing},
		{"Delete", testDelete},
		{"Derived", testDerived},
		{"Names", testNames},
		{"ForeignNames", testForeignNames},
		{"Canceled", testCanceled},
		{"Ping", testPing},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// suite is a store under test with its staging.
type suite struct {
	Store
	staging *Staging
}

func (s *suite) stage(t *testing.T, content []byte) *Staged {
	t.Helper()
	return stage(t, s.staging, string(content))
}

func (s *suite) put(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := s.Put(t.Context(), name, s.stage(t, content)); err != nil {
		t.Fatal(err)
	}
}

func (s *suite) read(t *testing.T, name string) []byte {
	t.Helper()
	f, err := s.Open(t.Context(), name)
	return must.ReadAll(t, f, err)
}

// content returns n bytes that are unique for the seed.
func content(seed string, n int) []byte {
	line := []byte(seed + "\n")
	return bytes.Repeat(line, n/len(line)+1)[:n]
}

func testPutOpen(t *testing.T, s *suite) {
	for _, format := range photo.Formats {
		for _, size := range []int{1, 1000, 3<<20 + 7} {
			name, want := photo.NewName(format), content(string(format), size)
			s.put(t, name, want)
			if got := s.read(t, name); !bytes.Equal(got, want) {
				t.Errorf("%s: other bytes than were put", name)
			}
			stat, err := s.Stat(t.Context(), name)
			if err != nil || stat.Size != int64(size) || stat.ModTime.IsZero() {
				t.Errorf("Stat = %+v, %v; want size %d", stat, err, size)
			}
			f, err := s.Open(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if f.Size() != stat.Size || f.ModTime().Sub(stat.ModTime).Abs() >= time.Second {
				t.Errorf("open file: %d bytes of %v; Stat: %+v", f.Size(), f.ModTime(), stat)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func testPutEmpty(t *testing.T, s *suite) {
	name := photo.NewName(photo.JPEG)
	s.put(t, name, nil)
	if got := s.read(t, name); len(got) != 0 {
		t.Errorf("%d bytes", len(got))
	}
}

// testPutAgain checks that the name of a photo never refers to other bytes, while derived images are replaced.
func testPutAgain(t *testing.T, s *suite) {
	name, first, second := photo.NewName(photo.PNG), content("first", 5000), content("second", 100)
	s.put(t, name, first)
	s.put(t, name, first)
	for _, other := range [][]byte{second, content("other", 5000)} {
		if err := s.Put(t.Context(), name, s.stage(t, other)); !errors.Is(err, ErrExists) {
			t.Errorf("other bytes: %v, want ErrExists", err)
		}
	}
	if got := s.read(t, name); !bytes.Equal(got, first) {
		t.Errorf("%d bytes, want the %d of the first put", len(got), len(first))
	}
	derived := DerivedName(name, "thumb")
	s.put(t, derived, first)
	s.put(t, derived, second)
	if got := s.read(t, derived); !bytes.Equal(got, second) {
		t.Errorf("%d bytes, want the %d of the second put", len(got), len(second))
	}
}

func testPutKeepsStagedReadable(t *testing.T, s *suite) {
	name, want := photo.NewName(photo.PNG), content("staged", 5000)
	staged := s.stage(t, want)
	if err := s.Put(t.Context(), name, staged); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(staged.Reader()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("after Put: %d bytes, %v", len(got), err)
	}
	if err := staged.Close(); err != nil {
		t.Error(err)
	}
	if got := s.read(t, name); !bytes.Equal(got, want) {
		t.Error("closing the staged file harmed the stored one")
	}
}

// testPutSameNameConcurrently also reads concurrently: no reader may see a partial file.
func testPutSameNameConcurrently(t *testing.T, s *suite) {
	name := DerivedName(photo.NewName(photo.WebP), "screen")
	whole := map[string]bool{}
	var staged []*Staged
	for i := range 8 {
		b := content(fmt.Sprintf("writer %d", i), 200_000+i)
		whole[string(b)] = true
		staged = append(staged, s.stage(t, b))
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	readers.Go(func() {
		for {
			f, err := s.Open(t.Context(), name)
			switch {
			case err == nil:
				b, err := io.ReadAll(f)
				if err := errors.Join(err, f.Close()); err != nil || !whole[string(b)] {
					t.Errorf("read %d bytes that nobody put, %v", len(b), err)
				}
			case !errors.Is(err, ErrNotFound):
				t.Error(err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for _, st := range staged {
		writers.Go(func() {
			if err := s.Put(t.Context(), name, st); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if !whole[string(s.read(t, name))] {
		t.Error("the file is none of those put")
	}
	name = photo.NewName(photo.WebP) // the same photo, as by an upload that is tried again
	for range 8 {
		st := s.stage(t, content("same", 200_000))
		writers.Go(func() {
			if err := s.Put(t.Context(), name, st); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
}

func testPutManyConcurrently(t *testing.T, s *suite) {
	files := map[string][]byte{}
	var writers sync.WaitGroup
	for i := range 40 {
		name, b := photo.NewName(photo.JPEG), content(fmt.Sprint("file ", i), 10_000)
		files[name] = b
		staged := s.stage(t, b)
		writers.Go(func() {
			if err := s.Put(t.Context(), name, staged); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	for name, want := range files {
		if got := s.read(t, name); !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes than were put", name)
		}
	}
}

func testSeek(t *testing.T, s *suite) {
	for _, size := range []int64{100_000, 1_000_000} {
		testSeekIn(t, s, content("0123456789", int(size)), size)
	}
}

func testSeekIn(t *testing.T, s *suite, whole []byte, size int64) {
	name := photo.NewName(photo.AVIF)
	s.put(t, name, whole)
	f, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, c := range []struct {
		offset int64
		whence int
		at     int64
	}{
		{0, io.SeekEnd, size},
		{0, io.SeekStart, 0},
		{size / 2, io.SeekStart, size / 2},
		{10, io.SeekCurrent, size/2 + 30}, // after the 20 bytes read there
		{size / 2, io.SeekStart, size / 2},
		{-20, io.SeekEnd, size - 20},
		{5, io.SeekStart, 5},
	} {
		at, err := f.Seek(c.offset, c.whence)
		if err != nil || at != c.at {
			t.Fatalf("Seek(%d, %d) = %d, %v; want %d", c.offset, c.whence, at, err, c.at)
		}
		want := whole[at:min(at+20, int64(len(whole)))]
		got := make([]byte, len(want))
		if _, err := io.ReadFull(f, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("at %d: %q, %v; want %q", at, got, err, want)
		}
	}
}

func testMissing(t *testing.T, s *suite) {
	name := photo.NewName(photo.HEIC)
	if _, err := s.Open(t.Context(), name); !errors.Is(err, ErrNotFound) {
		t.Errorf("Open: %v", err)
	}
	if _, err := s.Stat(t.Context(), name); !errors.Is(err, ErrNotFound) {
		t.Errorf("Stat: %v", err)
	}
	if err := s.Delete(t.Context(), name); err != nil {
		t.Errorf("Delete: %v", err)
	}
}

func testDelete(t *testing.T, s *suite) {
	name, other := photo.NewName(photo.HEIF), photo.NewName(photo.HEIF)
	s.put(t, name, content("a", 10))
	s.put(t, other, content("b", 10))
	for range 2 {
		if err := s.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Stat(t.Context(), name); !errors.Is(err, ErrNotFound) {
			t.Errorf("Stat: %v", err)
		}
	}
	if got := s.read(t, other); len(got) != 10 {
		t.Error("another file was harmed")
	}
}

// testDerived checks that derived images are stored as photos are, are never listed, and are deleted with their photo.
func testDerived(t *testing.T, s *suite) {
	name, other := photo.NewName(photo.HEIC), photo.NewName(photo.JPEG)
	s.put(t, name, content("photo", 100))
	s.put(t, other, content("other", 100))
	for _, derived := range derivedOf(name)[:2] {
		want := content(derived, 5000)
		s.put(t, derived, content("before", 10))
		s.put(t, derived, want)
		if got := s.read(t, derived); !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes than were put", derived)
		}
		if stat, err := s.Stat(t.Context(), derived); err != nil || stat.Size != 5000 {
			t.Errorf("Stat(%s) = %+v, %v", derived, stat, err)
		}
	}
	kept := DerivedName(other, "thumb")
	s.put(t, kept, content(kept, 10))
	if got := s.read(t, name); len(got) != 100 {
		t.Error("a derived image harmed its photo")
	}
	listed := 0
	for listedName, err := range s.Names(t.Context()) {
		if err != nil || listedName != name && listedName != other {
			t.Errorf("%q is listed, %v", listedName, err)
		}
		listed++
	}
	if listed != 2 {
		t.Errorf("%d names, want those of the 2 photos", listed)
	}
	if err := s.Delete(t.Context(), DerivedName(name, "thumb")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(t.Context(), name); err != nil {
		t.Errorf("deleting a derived image took its photo: %v", err)
	}
	if err := s.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	for _, gone := range append(derivedOf(name), name) {
		if _, err := s.Stat(t.Context(), gone); !errors.Is(err, ErrNotFound) {
			t.Errorf("Stat(%s) after Delete: %v", gone, err)
		}
	}
	if got := s.read(t, kept); len(got) != 10 {
		t.Error("an image of another photo was harmed")
	}
}

func testNames(t *testing.T, s *suite) {
	list := func() map[string]bool {
		found := map[string]bool{}
		for name, err := range s.Names(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if found[name] {
				t.Errorf("%s listed twice", name)
			}
			found[name] = true
		}
		return found
	}
	if got := list(); len(got) != 0 {
		t.Errorf("empty store lists %v", got)
	}
	want := map[string]bool{}
	for i := range 30 {
		name := photo.NewName(photo.Formats[i%len(photo.Formats)])
		s.put(t, name, content(name, 10))
		want[name] = true
	}
	s.stage(t, content("not stored", 10))
	for name := range want {
		if err := s.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		delete(want, name)
		break
	}
	got := list()
	for name := range want {
		if !got[name] {
			t.Errorf("%s is not listed", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d names, want %d", len(got), len(want))
	}
	count := 0
	for range s.Names(t.Context()) {
		if count++; count == 3 {
			break
		}
	}
	if count != 3 {
		t.Errorf("stopped after %d names", count)
	}
}

// testForeignNames tries names that the service never uses.
func testForeignNames(t *testing.T, s *suite) {
	good := photo.NewName(photo.JPEG)
	for _, name := range []string{
		"", ".", "..", "/", "x", "probe", "staging",
		"../" + good, "/" + good, good + "/", "./" + good, "a/b/" + good, "..\\" + good,
		"../../../../../../etc/passwd", "/etc/passwd",
		"../" + good[3:], good[:10] + "/../" + good[14:],
		good + ".", good + ".huge", good + ".thumb.thumb", "derived/" + good, "derived/" + good + ".thumb", "x.thumb",
		".thumb",
		strings.ToUpper(good), good + "\x00", good[:32] + ".txt", good[:32], " " + good,
	} {
		staged := s.stage(t, content("foreign", 10))
		if err := s.Put(t.Context(), name, staged); err == nil {
			t.Errorf("Put(%q) went through", name)
		}
		if err := s.Delete(t.Context(), name); err == nil {
			t.Errorf("Delete(%q) went through", name)
		}
		if _, err := s.Open(t.Context(), name); !errors.Is(err, ErrNotFound) {
			t.Errorf("Open(%q): %v", name, err)
		}
		if _, err := s.Stat(t.Context(), name); !errors.Is(err, ErrNotFound) {
			t.Errorf("Stat(%q): %v", name, err)
		}
	}
}

func testCanceled(t *testing.T, s *suite) {
	name := photo.NewName(photo.JPEG)
	s.put(t, name, content("a", 10))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, openErr := s.Open(ctx, name)
	_, statErr := s.Stat(ctx, name)
	_, discardErr := s.DiscardUnfinished(ctx, time.Now())
	var namesErr error
	for _, namesErr = range s.Names(ctx) {
		if namesErr != nil {
			break
		}
	}
	for what, err := range map[string]error{
		"Put":               s.Put(ctx, photo.NewName(photo.JPEG), s.stage(t, content("b", 10))),
		"Open":              openErr,
		"Stat":              statErr,
		"Delete":            s.Delete(ctx, name),
		"Names":             namesErr,
		"Ping":              s.Ping(ctx),
		"DiscardUnfinished": discardErr,
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", what, err, context.Canceled)
		}
	}
	if got := s.read(t, name); len(got) != 10 {
		t.Error("a canceled call changed the file")
	}
}

func testPing(t *testing.T, s *suite) {
	for range 2 {
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for name := range s.Names(t.Context()) {
		t.Errorf("Ping left %q", name)
	}
}
