package httpx

import (
	"net/url"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
)

// NoRoute is the refusal of an unknown path or method.
var NoRoute = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such operation: check the method and the path.")

// MatchPath compares an escaped path with the segments of a pattern, of which {id} stands for any one, and returns the
// unescaped id. Segments are compared in escaped form, so that an escaped slash stays inside its segment; nothing is
// cleaned or redirected.
func MatchPath(pattern []string, path string) (id string, ok bool) {
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
