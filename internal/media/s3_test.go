package media

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/s3test"
)

// openS3 opens the store of a bucket.
func openS3(t *testing.T, address string) *suite {
	t.Helper()
	store, err := Open(address, t.TempDir())
	must.NoError(t, err)
	must.CloseLater(t, store)
	staging, err := NewStaging(store.StagingDir())
	must.NoError(t, err)
	return &suite{Store: store, staging: staging}
}

func TestParseS3(t *testing.T) {
	const good = "s3://photos?endpoint=https%3A%2F%2Fs3.example.com&region=eu-central-1"
	for _, c := range []struct{ address, problem string }{
		{good, ""},
		{good + "&path_style=true&serve=redirect", ""},
		{"s3://photos?endpoint=http://127.0.0.1:9000&region=x", ""},
		{"", "must be s3://"},
		{"/var/media", "must be s3://"},
		{"s3://", "must be s3://"},
		{"s3://key:secret@photos?endpoint=http://h&region=r", "must not contain credentials"},
		{"s3://photos/folder?endpoint=http://h&region=r", "without a path"},
		{"s3://P?endpoint=http://h&region=r", "no possible bucket"},
		{"s3://photos?region=r", "needs the parameter endpoint"},
		{"s3://photos?endpoint=h:9000&region=r", "takes as endpoint"},
		{"s3://photos?endpoint=http://h/path&region=r", "takes as endpoint"},
		{"s3://photos?endpoint=http://a:b@h&region=r", "takes as endpoint"},
		{"s3://photos?endpoint=http://h", "needs the parameter region"},
		{good + "&path_style=yes", "path_style=true"},
		{good + "&serve=cdn", "serve=proxy or serve=redirect"},
		{good + "&secure=true", `"secure"`},
		{good + "&region=other", `"region"`},
		{good + "&a=%zz", "cannot be read"},
	} {
		a, err := ParseS3(c.address)
		switch {
		case c.problem == "" && err != nil:
			t.Errorf("%s: %v", c.address, err)
		case c.problem == "" && a.Bucket != "photos":
			t.Errorf("%s: %+v", c.address, a)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%s: %v, want %q", c.address, err, c.problem)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error repeats a secret: %v", err)
		}
	}
}

// TestS3_Handler serves photos from a bucket as from a disk.
func TestS3_Handler(t *testing.T) {
	s := openS3(t, s3test.Start(t).Bucket(t))
	srv := serveMedia(t, s.Store, io.Discard)
	name, whole := photo.NewName(photo.WebP), content("0123456789", 700_000)
	s.put(t, name, whole)
	url := srv.URL + "/media/" + name
	for _, c := range []struct {
		method string
		header []string
		status int
		body   []byte
	}{
		{"GET", nil, 200, whole},
		{"HEAD", nil, 200, nil},
		{"GET", []string{"Range", "bytes=10-29"}, 206, whole[10:30]},
		{"GET", []string{"Range", "bytes=500000-600000"}, 206, whole[500000:600001]},
		{"GET", []string{"Range", "bytes=262140-262150"}, 206, whole[262140:262151]},
		{"GET", []string{"Range", "bytes=-5"}, 206, whole[699995:]},
		{"GET", []string{"Range", "bytes=700000-"}, 416, []byte("invalid range: failed to overlap\n")},
		{"GET", []string{"If-None-Match", `"` + name + `"`}, 304, nil},
	} {
		resp, body := fetch(t, c.method, url, c.header...)
		if resp.StatusCode != c.status || body != string(c.body) {
			t.Errorf("%s %v: %d, %d bytes", c.method, c.header, resp.StatusCode, len(body))
		}
		if c.status == 200 && (resp.ContentLength != 700_000 || resp.Header.Get("Content-Type") != "image/webp" ||
			resp.Header.Get("ETag") != `"`+name+`"` || resp.Header.Get("Last-Modified") == "") {
			t.Errorf("%s: %v", c.method, resp.Header)
		}
	}
	if resp, _ := fetch(t, http.MethodGet, srv.URL+"/media/"+photo.NewName(photo.JPEG)); resp.StatusCode != 404 {
		t.Errorf("a missing photo: %d", resp.StatusCode)
	}
}

// TestS3_Redirect sends clients to signed URLs, which serve the bytes with the right type.
func TestS3_Redirect(t *testing.T) {
	s := openS3(t, s3test.Start(t).Bucket(t, "serve=redirect"))
	srv := serveMedia(t, s.Store, io.Discard)
	name, whole := photo.NewName(photo.PNG), content("photo", 5000)
	s.put(t, name, whole)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		resp, body := fetch(t, method, srv.URL+"/media/"+name) // follows the redirect
		if resp.StatusCode != 200 || resp.ContentLength != 5000 || resp.Header.Get("Content-Type") != "image/png" ||
			method == http.MethodGet && body != string(whole) {
			t.Errorf("%s: %d, %v", method, resp.StatusCode, resp.Header)
		}
		first := resp.Request.Response
		if first == nil || first.StatusCode != http.StatusFound ||
			!strings.Contains(first.Header.Get("Location"), "X-Amz-Expires=300&") ||
			first.Header.Get("Cache-Control") != redirectCache {
			t.Errorf("%s: first answer %+v", method, first)
		}
	}
	if resp, _ := fetch(t, http.MethodGet, srv.URL+"/media/"+photo.NewName(photo.JPEG)); resp.StatusCode != 404 {
		t.Errorf("a missing photo: %d", resp.StatusCode)
	}
	resp, _ := fetch(t, http.MethodGet, srv.URL+"/media/"+name, "If-None-Match", `"`+name+`"`)
	if resp.StatusCode != http.StatusNotModified {
		t.Errorf("a photo that the client has: %d", resp.StatusCode)
	}
}

// TestS3_Parts sends a large file in parts, and discards parts that were never completed.
func TestS3_Parts(t *testing.T) {
	server := s3test.Start(t)
	address := server.Bucket(t)
	s, bucket := openS3(t, address), s3test.BucketName(t, address)
	name, whole := photo.NewName(photo.JPEG), content("large", partsFrom+partSize/2)
	s.put(t, name, whole)
	if got := s.read(t, name); !bytes.Equal(got, whole) {
		t.Errorf("%d bytes, or others than were put", len(got))
	}
	s.put(t, name, whole) // the condition holds for parts too
	whole[partSize]++
	if err := s.Put(t.Context(), name, s.stage(t, whole)); !errors.Is(err, ErrExists) {
		t.Errorf("other bytes: %v, want ErrExists", err)
	}
	core := minio.Core{Client: server.Client(t)}
	unfinished := func() (n int) {
		for range core.ListIncompleteUploads(t.Context(), bucket, "", true) {
			n++
		}
		return n
	}
	if n := unfinished(); n != 0 {
		t.Errorf("%d uploads are left unfinished", n)
	}
	if _, err := core.NewMultipartUpload(t.Context(), bucket, "photos/"+name, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.DiscardUnfinished(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil || unfinished() != 1 {
		t.Errorf("a young upload: %d discarded, %v", n, err)
	}
	if n, err := s.DiscardUnfinished(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil || unfinished() != 0 {
		t.Errorf("an old upload: %d discarded, %v", n, err)
	}
}

// TestS3_Damaged changes the staged bytes after they were hashed: the server refuses them.
func TestS3_Damaged(t *testing.T) {
	s := openS3(t, s3test.Start(t).Bucket(t))
	name, staged := photo.NewName(photo.JPEG), s.stage(t, content("a", 100_000))
	if _, err := staged.file.WriteAt([]byte("x"), 50_000); err != nil {
		t.Fatal(err)
	}
	wantNotPut(t, s.Store, name, staged)
}

// openLarge stores a large file and opens it.
func (s *suite) openLarge(t *testing.T) (name string, whole []byte, f File) {
	t.Helper()
	name, whole = photo.NewName(photo.JPEG), content("large", 2_000_000)
	s.put(t, name, whole)
	f, err := s.Open(t.Context(), name)
	must.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return name, whole, f
}

// TestS3_Away kills the server, and starts it again: calls fail as unavailable meanwhile, and what was stored is there.
func TestS3_Away(t *testing.T) {
	server := s3test.Start(t)
	s := openS3(t, server.Bucket(t))
	name, whole, open := s.openLarge(t)
	server.Kill(t)
	srv := serveMedia(t, s.Store, io.Discard)
	staged := s.stage(t, content("b", 10))
	var calls sync.WaitGroup
	for what, call := range map[string]func() error{
		"Put":    func() error { return s.Put(t.Context(), photo.NewName(photo.JPEG), staged) },
		"Open":   func() error { _, err := s.Open(t.Context(), name); return err },
		"Stat":   func() error { _, err := s.Stat(t.Context(), name); return err },
		"Delete": func() error { return s.Delete(t.Context(), name) },
		"Ping":   func() error { return s.Ping(t.Context()) },
		"Names": func() error {
			for _, err := range s.Names(t.Context()) {
				return err
			}
			return nil
		},
		"DiscardUnfinished": func() error { _, err := s.DiscardUnfinished(t.Context(), time.Now()); return err },
	} {
		calls.Go(func() {
			if err := call(); fault.CodeOf(err) != fault.CodeUnavailable {
				t.Errorf("%s: %v, want unavailable", what, err)
			}
		})
	}
	calls.Wait()
	resp, _ := fetch(t, http.MethodGet, srv.URL+"/media/"+name)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("GET: %d, %v", resp.StatusCode, resp.Header)
	}
	server.Restart(t)
	if got, err := io.ReadAll(open); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("a file that was open: %d bytes, %v", len(got), err)
	}
	if got := s.read(t, name); !bytes.Equal(got, whole) {
		t.Error("the file changed")
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestS3_Restarted restarts the server between two attempts of one call.
func TestS3_Restarted(t *testing.T) {
	server := s3test.Start(t)
	_, whole, f := openS3(t, server.Bucket(t)).openLarge(t)
	var got bytes.Buffer
	if _, err := io.CopyN(&got, f, 500_000); err != nil { // in the middle of the body
		t.Fatal(err)
	}
	server.Kill(t)
	server.Restart(t)
	if _, err := io.Copy(&got, f); err != nil || !bytes.Equal(got.Bytes(), whole) {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
}

// TestS3_Silent stops the server without closing its connections: calls end when their context does.
func TestS3_Silent(t *testing.T) {
	server := s3test.Start(t)
	s := openS3(t, server.Bucket(t))
	server.Signal(t, syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ping: %v", err)
	}
	server.Signal(t, syscall.SIGCONT)
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestS3_NoBucket(t *testing.T) {
	server := s3test.Start(t)
	address := server.Bucket(t)
	s := openS3(t, strings.Replace(address, s3test.BucketName(t, address), "missing", 1))
	if _, err := s.Open(t.Context(), photo.NewName(photo.JPEG)); fault.CodeOf(err) != fault.CodeUnavailable {
		t.Errorf("Open: %v", err)
	}
	err := s.Ping(t.Context())
	if fault.CodeOf(err) != fault.CodeUnavailable {
		t.Fatalf("Ping: %v", err)
	}
	if cause := errors.Unwrap(err); cause == nil || !strings.Contains(cause.Error(), "bucket") {
		t.Errorf("the cause does not name the bucket: %v", cause)
	}
}

func TestS3_StagingDir(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	dir := t.TempDir()
	s, err := Open("s3://photos?endpoint=http://127.0.0.1:1&region=r", dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.StagingDir() != filepath.Join(dir, "staging") {
		t.Errorf("%s", s.StagingDir())
	}
}
