package shop

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/assayhq/assay/internal/service"
)

// Serve starts a server, whose address is the public one of the shop from now on. The caller then says with handle what
// answers there: pages need the address first.
func (s *Shop) Serve(t testing.TB) (server *httptest.Server, handle func(http.Handler)) {
	t.Helper()
	var handler http.Handler
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.Reconfigure(t, func(c *service.Config) { c.PublicURL = server.URL })
	return server, func(h http.Handler) { handler = h }
}
