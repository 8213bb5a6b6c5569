package input

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/assayhq/assay/internal/domain/fault"
)

func post(t *testing.T, body io.Reader) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
}

func TestReadBodyContentType(t *testing.T) {
	tests := map[string]struct {
		values []string
		ok     bool
	}{
		"Absent":        {nil, true},
		"Empty":         {[]string{""}, true},
		"JSON":          {[]string{"application/json"}, true},
		"UpperCase":     {[]string{"Application/JSON"}, true},
		"UTF8":          {[]string{"application/json; charset=utf-8"}, true},
		"UTF8Quoted":    {[]string{`application/json;charset="UTF-8"`}, true},
		"OtherParam":    {[]string{"application/json; profile=x"}, true},
		"Latin1":        {[]string{"application/json; charset=iso-8859-1"}, false},
		"Suffix":        {[]string{"application/vnd.api+json"}, false},
		"Form":          {[]string{"application/x-www-form-urlencoded"}, false},
		"Text":          {[]string{"text/plain"}, false},
		"Broken":        {[]string{"application/json; charset"}, false},
		"NoMediaType":   {[]string{";;"}, false},
		"Twice":         {[]string{"application/json", "text/plain"}, false},
		"CommaSepTwice": {[]string{"application/json, text/plain"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := post(t, strings.NewReader("{}"))
			if tt.values != nil {
				r.Header["Content-Type"] = tt.values
			}
			body, err := ReadBody(r)
			if tt.ok && (err != nil || string(body) != "{}") {
				t.Errorf("got %q, %v", body, err)
			}
			if !tt.ok && fault.CodeOf(err) != fault.CodeBadRequest {
				t.Errorf("got %v, want bad-request", err)
			}
		})
	}
}

func TestReadBody(t *testing.T) {
	full := bytes.Repeat([]byte(" "), MaxBody)
	unknownLength := func(b []byte) *http.Request {
		r := post(t, io.MultiReader(bytes.NewReader(b)))
		r.ContentLength = -1
		return r
	}
	t.Run("AtTheLimit", func(t *testing.T) {
		for _, r := range []*http.Request{post(t, bytes.NewReader(full)), unknownLength(full)} {
			if body, err := ReadBody(r); err != nil || len(body) != MaxBody {
				t.Errorf("got %d bytes, %v", len(body), err)
			}
		}
	})
	t.Run("OverTheLimit", func(t *testing.T) {
		over := append(bytes.Clone(full), ' ')
		for _, r := range []*http.Request{post(t, bytes.NewReader(over)), unknownLength(over)} {
			_, err := ReadBody(r)
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Code != fault.CodeBadRequest || f.Details["max_bytes"] != MaxBody {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("NoBody", func(t *testing.T) {
		for _, contentType := range []string{"", "application/x-www-form-urlencoded"} {
			r := post(t, http.NoBody)
			r.Header.Set("Content-Type", contentType)
			if body, err := ReadBody(r); err != nil || len(body) != 0 {
				t.Errorf("got %q, %v", body, err)
			}
		}
	})
	t.Run("Encoded", func(t *testing.T) {
		for encoding, ok := range map[string]bool{
			"gzip": false, "br": false, "identity, gzip": false, "Identity": true, "": true,
		} {
			r := post(t, strings.NewReader("{}"))
			r.Header.Set("Content-Encoding", encoding)
			_, err := ReadBody(r)
			if ok != (err == nil) || !ok && !strings.Contains(err.Error(), "Content-Encoding") {
				t.Errorf("%q: %v", encoding, err)
			}
		}
	})
	t.Run("SmallReads", func(t *testing.T) {
		want := strings.Repeat(`{"a":1}`, 500)
		r := post(t, iotest.OneByteReader(strings.NewReader(want)))
		r.ContentLength = -1
		if body, err := ReadBody(r); err != nil || string(body) != want {
			t.Errorf("got %d bytes, %v", len(body), err)
		}
	})
	t.Run("BrokenConnection", func(t *testing.T) {
		for _, cause := range []error{io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, errors.New("malformed chunked encoding")} {
			_, err := ReadBody(post(t, iotest.ErrReader(cause)))
			if fault.CodeOf(err) != fault.CodeBadRequest || !errors.Is(err, cause) {
				t.Errorf("%v gives %v", cause, err)
			}
		}
	})
}
