package httpx

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

// TestRedact checks that a secret in a path is neither logged nor told, wherever the request id was given, and whatever
// prefix of the path was stripped.
func TestRedact(t *testing.T) {
	p, log := testResponder()
	redact := func(path string) string { return strings.ReplaceAll(path, "a%2Fsecret", "-") }
	refuse := p.Handle(func(http.ResponseWriter, *http.Request) error { return fault.UnavailableError(nil) })
	inside := Redact(redact, p.AccessLog(http.StripPrefix("/x", refuse)))
	for name, h := range map[string]http.Handler{"Inside": RequestID(inside), "Outermost": inside} {
		t.Run(name, func(t *testing.T) {
			log.Reset()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, get(t, "/x/a%2Fsecret/b%20c?d"))
			const told = `"path":"/x/-/b%20c"`
			if !strings.Contains(w.Body.String(), told) || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("told %s", w.Body)
			}
			if strings.Count(log.String(), told) != 2 || strings.Contains(log.String(), "secret") {
				t.Errorf("logged %s", log)
			}
		})
	}
	if got := LoggedPath(get(t, "/x/a%2Fsecret?d")); got != "/x/a%2Fsecret" {
		t.Errorf("outside of a server the path is %s", got)
	}
}
