package e2e_test

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/program"
)

// TestTLS runs a server without a plain HTTP listener.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := start(t, program.Settings{"listen": ""})
	if s.HTTP != "" {
		t.Fatalf("plain HTTP listens on %s, it is off", s.HTTP)
	}
	certificate := readPrivate(t, filepath.Join(s.data, "tls.crt"))
	readPrivate(t, filepath.Join(s.data, "tls.key"))

	t.Run("HTTP2", func(t *testing.T) {
		if got := s.overTLS(t, s.transport(t), "/balance"); got.ProtoMajor != 2 {
			t.Errorf("protocol %s, want HTTP/2", got.Proto)
		}
	})
	t.Run("HTTP1", func(t *testing.T) {
		transport := s.transport(t)
		transport.ForceAttemptHTTP2 = false
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP1(true)
		if got := s.overTLS(t, transport, "/balance"); got.ProtoMajor != 1 {
			t.Errorf("protocol %s, want HTTP/1.1", got.Proto)
		}
	})
	t.Run("OldVersionRefused", func(t *testing.T) {
		config := s.transport(t).TLSClientConfig
		config.MinVersion, config.MaxVersion, config.ServerName = tls.VersionTLS10, tls.VersionTLS11, "localhost"
		if connection, err := tls.Dial("tcp", s.TLS, config); err == nil {
			_ = connection.Close()
			t.Error("TLS 1.1 is accepted")
		}
	})
	t.Run("PlainRequestRefused", func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.TLS+prefix+"/balance",
			http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		send(t, http.DefaultClient, request).wantStatus(t, http.StatusBadRequest)
	})
	t.Run("CertificateKept", func(t *testing.T) {
		if code := s.Stop(t); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		second := s.again(t)
		if !bytes.Equal(readPrivate(t, filepath.Join(s.data, "tls.crt")), certificate) {
			t.Error("the second start has made another certificate")
		}
		second.overTLS(t, second.transport(t), "/balance")
	})
}

// overTLS requests a path of the API without a key; the refusal shows that the API is served.
func (s *site) overTLS(t *testing.T, transport *http.Transport, path string) *answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, baseURL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	got := send(t, &http.Client{Transport: transport}, request)
	got.wantFailure(t, http.StatusUnauthorized, "unauthorized")
	if got.Header.Get("Www-Authenticate") != "Bearer" {
		t.Errorf("WWW-Authenticate is %q", got.Header.Get("Www-Authenticate"))
	}
	return got
}

// readPrivate reads a file that only its owner may read.
func readPrivate(t *testing.T, path string) []byte {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %s", filepath.Base(path), info.Mode())
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestMedia reads an uploaded photo back over TLS, at the URL that the upload returned.
func TestMedia(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	a := s.open(t)
	url := upload(t, s.client(t, a.Test), 1)[0]
	if !strings.HasPrefix(url, "https://"+publicHost+"/media/") {
		t.Fatalf("the managed URL is %s", url)
	}
	through := &http.Client{Transport: s.transport(t)}
	read := func(method, url string, header http.Header) *answer {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range header {
			request.Header[name] = values
		}
		return send(t, through, request)
	}

	got := read(http.MethodGet, url, nil)
	got.wantStatus(t, http.StatusOK)
	if !bytes.Equal(got.body, newPhoto(0)) {
		t.Error("the photo is not served as it was uploaded")
	}
	for name, want := range map[string]string{
		"Content-Type":            "image/png",
		"X-Content-Type-Options":  "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox",
		"Cache-Control":           "public, max-age=31536000, immutable",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Header.Get(name), want)
		}
	}
	if got.Header.Get("X-Request-Id") == "" || got.Header.Get("Etag") == "" {
		t.Errorf("headers are %v", got.Header)
	}
	read(http.MethodGet, url, http.Header{"If-None-Match": {got.Header.Get("Etag")}}).wantStatus(t, http.StatusNotModified)
	part := read(http.MethodGet, url, http.Header{"Range": {"bytes=1-3"}})
	part.wantStatus(t, http.StatusPartialContent)
	if string(part.body) != "PNG" {
		t.Errorf("the range is %q", part.body)
	}
	read(http.MethodHead, url, nil).wantStatus(t, http.StatusOK)
	read(http.MethodPost, url, nil).wantStatus(t, http.StatusMethodNotAllowed)
	read(http.MethodGet, url[:len(url)-5]+".png", nil).wantStatus(t, http.StatusNotFound)
	read(http.MethodGet, "https://"+publicHost+"/media/", nil).wantStatus(t, http.StatusNotFound)
}
