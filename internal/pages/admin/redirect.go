package admin

import (
	"net/http"
	"net/url"
	"strings"
)

// to sends a visitor on to another page. Parts of its address in braces are taken from the address that was asked for.
func (a *Admin) to(pattern string) handler {
	return func(w http.ResponseWriter, r *http.Request, _ *visitor) error {
		segments := strings.Split(pattern, "/")
		for i, s := range segments {
			if name, ok := strings.CutPrefix(s, "{"); ok {
				segments[i] = url.PathEscape(r.PathValue(strings.TrimSuffix(name, "}")))
			}
		}
		target := strings.Join(segments, "/")
		if r.URL.RawQuery != "" { // the switch of language is in it
			target += "?" + r.URL.RawQuery
		}
		return a.Site.Redirect(w, r, target)
	}
}
