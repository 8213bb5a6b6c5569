package httpx

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
)

// NoRoute is the refusal of an unknown path or method.
var NoRoute = fault.New(fault.NotFound, fault.CodeNotFound,
	"There is no such operation: check the method and the path.")

// Paths finds the row of a table of operations that a request is for.
type Paths struct {
	prefix string
	rows   []pathRow
}

type pathRow struct {
	method  string
	pattern []string
	route   string // for the access log and the metrics
}

// NewPaths returns an empty table of operations below a prefix.
func NewPaths(prefix string) *Paths { return &Paths{prefix: prefix + "/"} }

// Add adds the next row. The path begins with a slash; {id} stands for one segment.
func (p *Paths) Add(method, path string) {
	p.rows = append(p.rows, pathRow{method, strings.Split(path[1:], "/"), method + " " + p.prefix + path[1:]})
}

// Find returns the row of a request, counted from 0, and the unescaped id in its path; or NoRoute, and for a path that
// has other methods the header Allow. The row becomes the route of the request. HEAD is answered as GET: net/http
// leaves the body out.
func (p *Paths) Find(w http.ResponseWriter, r *http.Request) (row int, id string, err error) {
	path, ok := strings.CutPrefix(EscapedPath(r), p.prefix)
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := 0; ok && i < len(p.rows); i++ {
		if p.rows[i].method != method {
			continue
		}
		if id, ok := matchPath(p.rows[i].pattern, path); ok {
			SetRoute(r.Context(), p.rows[i].route)
			return i, id, nil
		}
	}
	if ok {
		p.allow(w, path)
	}
	return 0, "", NoRoute
}

// allow names the methods that a path has, if it has any.
func (p *Paths) allow(w http.ResponseWriter, path string) {
	var methods []string
	for _, row := range p.rows {
		if _, ok := matchPath(row.pattern, path); !ok {
			continue
		}
		methods = append(methods, row.method)
		if row.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	if methods != nil {
		slices.Sort(methods)
		w.Header().Set("Allow", strings.Join(methods, ", "))
	}
}

// matchPath compares an escaped path with the segments of a pattern, of which {id} stands for any one, and returns the
// unescaped id. Segments are compared in escaped form, so that an escaped slash stays inside its segment; nothing is
// cleaned or redirected.
func matchPath(pattern []string, path string) (id string, ok bool) {
	for i, want := range pattern {
		segment, rest, more := strings.Cut(path, "/")
		if more == (i == len(pattern)-1) {
			return "", false
		}
		switch {
		case want == "{id}":
			unescaped, err := url.PathUnescape(segment)
			if err != nil || unescaped == "" {
				return "", false
			}
			id = unescaped
		case want != segment:
			return "", false
		}
		path = rest
	}
	return id, true
}
