// Package latebody makes requests whose bodies come in only when the server waits for them.
package latebody

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// body calls meanwhile before its first byte.
type body struct {
	io.Reader
	meanwhile func()
}

func (b *body) Read(p []byte) (int, error) {
	if b.meanwhile != nil {
		b.meanwhile()
		b.meanwhile = nil
	}
	return b.Reader.Read(p)
}

// Post sends a request without its body to a handler, which gets the body when it reads it: by then, meanwhile has
// happened. The test fails when the handler does not read it.
func Post(
	t testing.TB, h http.Handler, address, content string, header http.Header, meanwhile func(),
) *http.Response {
	t.Helper()
	late := &body{strings.NewReader(content), meanwhile}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, address, io.NopCloser(late))
	r.Header, r.ContentLength = header, int64(len(content))
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	if late.meanwhile != nil {
		t.Errorf("POST %s: the body was not read", address)
	}
	return answer.Result()
}
