package deliver

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestHangingEndpoints checks that endpoints with a backlog that never respond do not delay the others, although
// they could fill every slot.
func TestHangingEndpoints(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var hanging, most atomic.Int64
		release := make(chan struct{})
		r := newReceiver(t, w.clock, func(_ http.ResponseWriter, req *http.Request) {
			if strings.HasPrefix(req.URL.Path, "/hang") {
				n := hanging.Add(1)
				for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
				}
				_, _ = io.Copy(io.Discard, req.Body)
				<-release
				hanging.Add(-1)
			}
		})
		defer close(release)
		var dead, healthy []*webhook.Endpoint
		for i := range 6 {
			dead = append(dead, w.endpoint(r.URL+"/hang/"+strconv.Itoa(i)))
			healthy = append(healthy, w.endpoint(r.URL+"/healthy/"+strconv.Itoa(i)))
		}
		w.queue(50, dead...)
		s := w.start(r, func(c *Config) { c.InFlight = 16 })
		must.Eventually(t, patient, "that the dead endpoints hold their share", func() bool {
			return hanging.Load() == int64(len(dead))
		})
		w.queue(50, healthy...)
		s.Wake()
		must.Eventually(t, patient, "all deliveries to the healthy endpoints", func() bool {
			return w.pending() == 50*len(dead)
		})
		if n := most.Load(); n > int64(len(dead)) {
			t.Errorf("%d deliveries were sent to %d endpoints that never answered", n, len(dead))
		}
	})
}
