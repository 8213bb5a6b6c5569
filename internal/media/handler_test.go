package media

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/jsonlog"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
)

// serveMedia serves a disk store at /media, as the program does.
func serveMedia(t *testing.T, store Store, log io.Writer) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	logger := slog.New(slog.NewTextHandler(log, jsonlog.Options()))
	mux.Handle("/media/", http.StripPrefix("/media", Handler(store, logger)))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

// fetch sends a request with headers given as pairs.
func fetch(t *testing.T, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req := must.Request(t, method, url, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, b := must.Do(t, http.DefaultClient, req)
	return resp, string(b)
}

func TestHandler(t *testing.T) {
	d, s := openDisk(t)
	srv := serveMedia(t, d, io.Discard)
	content := strings.Repeat("<script>alert(1)</script>", 4000)
	for _, format := range photo.Formats {
		name := photo.NewName(format)
		if err := d.Put(t.Context(), name, stage(t, s, content)); err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			resp, body := fetch(t, method, srv.URL+"/media/"+name)
			if resp.StatusCode != http.StatusOK || resp.ContentLength != int64(len(content)) {
				t.Errorf("%s: status %d, length %d", method, resp.StatusCode, resp.ContentLength)
			}
			if method == http.MethodGet && body != content || method == http.MethodHead && body != "" {
				t.Errorf("%s: body of %d bytes", method, len(body))
			}
			expect.Results(t, resp.Header.Get, map[string]string{
				"Content-Type":                 format.ContentType(),
				"X-Content-Type-Options":       "nosniff",
				"Cache-Control":                "public, max-age=31536000, immutable",
				"Content-Security-Policy":      "default-src 'none'; sandbox",
				"Content-Disposition":          `inline; filename="` + name + `"`,
				"Cross-Origin-Resource-Policy": "cross-origin",
				"ETag":                         `"` + name + `"`,
				"Accept-Ranges":                "bytes",
			})
			if resp.Header.Get("Last-Modified") == "" {
				t.Errorf("%s: no Last-Modified", method)
			}
		}
	}
}

func TestHandler_RangesAndConditions(t *testing.T) {
	d, s := openDisk(t)
	srv := serveMedia(t, d, io.Discard)
	if err := d.Put(t.Context(), someName, stage(t, s, "0123456789")); err != nil {
		t.Fatal(err)
	}
	url, tag := srv.URL+"/media/"+someName, `"`+someName+`"`
	full, _ := fetch(t, http.MethodGet, url)
	modified := full.Header.Get("Last-Modified")
	for _, c := range []struct {
		name   string
		header []string
		status int
		body   string
		rng    string
	}{
		{"Start", []string{"Range", "bytes=0-3"}, 206, "0123", "bytes 0-3/10"},
		{"Middle", []string{"Range", "bytes=4-6"}, 206, "456", "bytes 4-6/10"},
		{"Open", []string{"Range", "bytes=7-"}, 206, "789", "bytes 7-9/10"},
		{"Suffix", []string{"Range", "bytes=-2"}, 206, "89", "bytes 8-9/10"},
		{"PastTheEnd", []string{"Range", "bytes=10-"}, 416, "invalid range: failed to overlap\n", "bytes */10"},
		{"IfRangeSame", []string{"Range", "bytes=0-0", "If-Range", tag}, 206, "0", "bytes 0-0/10"},
		{"IfRangeOther", []string{"Range", "bytes=0-0", "If-Range", `"other"`}, 200, "0123456789", ""},
		{"NoneMatchSame", []string{"If-None-Match", tag}, 304, "", ""},
		{"NoneMatchWeak", []string{"If-None-Match", "W/" + tag}, 304, "", ""},
		{"NoneMatchAny", []string{"If-None-Match", "*"}, 304, "", ""},
		{"NoneMatchOther", []string{"If-None-Match", `"other"`}, 200, "0123456789", ""},
		{"NotModified", []string{"If-Modified-Since", modified}, 304, "", ""},
		{"MatchOther", []string{"If-Match", `"other"`}, 412, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := fetch(t, http.MethodGet, url, c.header...)
			if resp.StatusCode != c.status || body != c.body || resp.Header.Get("Content-Range") != c.rng {
				t.Errorf("got %d %q %q", resp.StatusCode, body, resp.Header.Get("Content-Range"))
			}
			if c.status == http.StatusNotModified && (resp.Header.Get("ETag") != tag || resp.Header.Get("Cache-Control") == "") {
				t.Errorf("304 with %v", resp.Header)
			}
		})
	}
}

func TestHandler_Refused(t *testing.T) {
	d, s := openDisk(t)
	srv := serveMedia(t, d, io.Discard)
	derived := DerivedName(someName, "thumb")
	if err := errors.Join(d.Put(t.Context(), someName, stage(t, s, "bytes")),
		d.Put(t.Context(), derived, stage(t, s, "bytes"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, method, path string
		status             int
	}{
		{"Root", "GET", "/media/", 404},
		{"Missing", "GET", "/media/" + photo.NewName(photo.JPEG), 404},
		{"OtherExtension", "GET", "/media/" + strings.Replace(someName, "jpg", "png", 1), 404},
		{"Upper", "GET", "/media/" + strings.ToUpper(someName), 404},
		{"Escaped", "GET", "/media/%61" + someName[1:], 404},
		{"EscapedTraversal", "GET", "/media/..%2f..%2fetc%2fpasswd", 404},
		{"Below", "GET", "/media/a/b/" + someName, 404},
		{"TrailingSlash", "GET", "/media/" + someName + "/", 404},
		{"NUL", "GET", "/media/" + someName + "%00", 404},
		{"Probe", "GET", "/media/probe", 404},
		{"Derived", "GET", "/media/" + derived, 404},
		{"DerivedBelow", "GET", "/media/derived/" + derived[:1] + "/" + derived[1:2] + "/" + derived, 404},
		{"Post", "POST", "/media/" + someName, 405},
		{"Put", "PUT", "/media/" + someName, 405},
		{"Delete", "DELETE", "/media/" + someName, 405},
		{"Options", "OPTIONS", "/media/" + someName, 405},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := fetch(t, c.method, srv.URL+c.path)
			if resp.StatusCode != c.status || len(body) > 40 {
				t.Errorf("got %d %q", resp.StatusCode, body)
			}
			if got := resp.Header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control is %q", got)
			}
			if got := resp.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
				t.Errorf("Content-Type is %q", got)
			}
			if c.status == http.StatusMethodNotAllowed && resp.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("Allow is %q", resp.Header.Get("Allow"))
			}
		})
	}
}

// failing is a store that cannot open files.
type failing struct {
	Store
	err error
}

func (f failing) Open(context.Context, string) (File, error) { return nil, f.err }

func TestHandler_StoreFails(t *testing.T) {
	for name, err := range map[string]error{
		"Unavailable": fault.UnavailableError(errors.New("dial tcp 10.0.0.1: refused")),
		"Other":       errors.New("dial tcp 10.0.0.1: refused"),
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			srv := serveMedia(t, failing{err: err}, &log)
			resp, body := fetch(t, http.MethodGet, srv.URL+"/media/"+someName)
			if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "5" {
				t.Errorf("got %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
			}
			if strings.Contains(body, "10.0.0.1") || resp.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("got %q, %v", body, resp.Header)
			}
			srv.Close() // waits for the handler, and with it for the log
			if !strings.Contains(log.String(), "10.0.0.1: refused") || !strings.Contains(log.String(), someName) {
				t.Errorf("log has no cause: %s", log.String())
			}
		})
	}
}
