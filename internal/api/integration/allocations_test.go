package integration_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/jsonlog"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// discarded is an answer that nobody reads.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d *discarded) WriteHeader(status int)      { d.status = status }

// TestAllocations bounds what a request allocates between net/http and the database, access log included. The bounds
// leave room for what the driver of the database does in the background, no more: garbage is what most of the time of a
// small request goes to.
func TestAllocations(t *testing.T) { // not parallel: others would be counted
	w := integrationtest.New(t, storetest.SQLite(t), integrationtest.Options{})
	live := w.Live(t)
	id := live.CreateID(t)
	responder := &httpx.Responder{Log: jsonlog.New(io.Discard)}
	h := httpx.RequestID(responder.AccessLog(responder.Recover(w.API)))
	for name, tt := range map[string]struct {
		path string
		most float64
	}{
		"Catalog": {"/catalog/brands", 11},
		"Balance": {"/balance", 41},
		"Detail":  {"/orders/" + id, 36},
		"List":    {"/orders?page=1&limit=10", 80},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, integration.Prefix+tt.path, http.NoBody)
			r.Header.Set("Authorization", "Bearer "+live.Secret)
			answer := &discarded{header: http.Header{}}
			got := testing.AllocsPerRun(200, func() {
				clear(answer.header)
				h.ServeHTTP(answer, r)
			})
			if answer.status != http.StatusOK {
				t.Fatalf("answered %d", answer.status)
			}
			t.Logf("%v allocations", got)
			if got > tt.most {
				t.Errorf("a request makes %v allocations, at most %v are allowed", got, tt.most)
			}
		})
	}
}
