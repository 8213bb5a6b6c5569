package httpx

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestMatchPath(t *testing.T) {
	order := []string{"orders", "{id}"}
	update := []string{"orders", "{id}", "update_photos"}
	for _, tt := range []struct {
		name    string
		pattern []string
		path    string
		id      string // empty: no match
	}{
		{"Plain", order, "orders/abc", "abc"},
		{"EscapedSlashStaysInside", order, "orders/a%2Fb", "a/b"},
		{"EscapedDots", order, "orders/%2E%2E", ".."},
		{"Unicode", order, "orders/%E9%91%91%E5%AE%9A", "鑑定"},
		{"Inside", update, "orders/x/update_photos", "x"},
		{"EmptyID", order, "orders/", ""},
		{"TooLong", order, "orders/a/b", ""},
		{"TooShort", update, "orders/a", ""},
		{"TrailingSlash", order, "orders/a/", ""},
		{"DoubleSlash", order, "orders//a", ""},
		{"BrokenEscape", order, "orders/%zz", ""},
		{"OtherWord", order, "order/a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id, ok := matchPath(tt.pattern, tt.path)
			if ok != (tt.id != "") || ok && id != tt.id {
				t.Errorf("got %q, %v", id, ok)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	paths := NewPaths("/v1")
	paths.Add("GET", "/orders")
	paths.Add("POST", "/orders")
	paths.Add("POST", "/orders/{id}/claim")
	for _, tt := range []struct {
		method, path string
		row          int
		id           string
		err          error
		allow        string
	}{
		{"GET", "/v1/orders", 0, "", nil, ""},
		{"HEAD", "/v1/orders", 0, "", nil, ""},
		{"POST", "/v1/orders", 1, "", nil, ""},
		{"POST", "/v1/orders/a%2Fb/claim", 2, "a/b", nil, ""},
		{"GET", "/v1/orders/a/claim", 0, "", NoRoute, "POST"},
		{"HEAD", "/v1/orders/a/claim", 0, "", NoRoute, "POST"},
		{"PUT", "/v1/orders", 0, "", NoRoute, "GET, HEAD, POST"},
		{"GET", "/v2/orders", 0, "", NoRoute, ""},
		{"GET", "/v1", 0, "", NoRoute, ""},
	} {
		r := httptest.NewRequest(tt.method, tt.path, http.NoBody)
		w := httptest.NewRecorder()
		if row, id, err := paths.Find(w, r); row != tt.row || id != tt.id || !errors.Is(err, tt.err) {
			t.Errorf("%s %s is %d, %q, %v", tt.method, tt.path, row, id, err)
		}
		if got := w.Header().Get("Allow"); got != tt.allow {
			t.Errorf("%s %s allows %q", tt.method, tt.path, got)
		}
	}
}

// FuzzMatchPath checks that an escaped id is returned unescaped, and that nothing else matches.
func FuzzMatchPath(f *testing.F) {
	for _, id := range []string{"a", "a/b", "..", "%", "鑑定", "a b", "\x00", "%2F", "?#"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		got, ok := matchPath([]string{"orders", "{id}", "update_photos"}, "orders/"+url.PathEscape(id)+"/update_photos")
		if ok != (id != "") || ok && got != id {
			t.Errorf("%q became %q, %v", id, got, ok)
		}
		if _, ok := matchPath([]string{"orders", "{id}"}, "orders/"+id); ok && strings.Contains(id, "/") {
			t.Errorf("%q matched although it has a slash", id)
		}
	})
}
