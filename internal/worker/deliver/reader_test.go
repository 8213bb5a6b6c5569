package deliver

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// logBuffer is a log that is read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) count(line string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), line)
}

// row is a row of which a column is damaged.
type row struct{ table, column, id string }

// damage makes a column of a row unreadable, and returns what mends it.
func damage(w *world, target string, r row) (mend func()) {
	if !w.Store.Shared() {
		change := func(value string) {
			rawsql.Exec(w, target, fmt.Sprintf("UPDATE %s SET %s = %s WHERE id = '%s'", r.table, r.column, value, r.id))
		}
		change("CAST('x' || " + r.column + " AS BLOB)")
		return func() { change("substr(CAST(" + r.column + " AS TEXT), 2)") }
	}
	columns := rawsql.Rows(w, target, `SELECT string_agg(CASE column_name WHEN $2 THEN format(
			'CASE WHEN id = %L THEN (1 / (0 * length(%I::text)))::text::%s ELSE %I END AS %I',
			$3::text, column_name, data_type, column_name, column_name) ELSE column_name::text END, ', ')
		FROM information_schema.columns WHERE table_name = $1`, r.table, r.column, r.id)[0][0]
	rawsql.Exec(w, target, fmt.Sprintf("ALTER TABLE %s RENAME TO sound_%[1]s", r.table))
	rawsql.Exec(w, target, fmt.Sprintf("CREATE VIEW %s AS SELECT %s FROM sound_%[1]s", r.table, columns))
	return func() {
		rawsql.Exec(w, target, "DROP VIEW "+r.table)
		rawsql.Exec(w, target, fmt.Sprintf("ALTER TABLE sound_%[1]s RENAME TO %[1]s", r.table))
	}
}

// TestUnreadableQueue has a delivery that cannot be read, and then an endpoint: others receive what is for them
// meanwhile, and the queue is read again later.
func TestUnreadableQueue(t *testing.T) {
	for name, damaged := range map[string]func(*webhook.Delivery) row{
		"Delivery": func(d *webhook.Delivery) row { return row{"deliveries", "body", d.ID} },
		"Endpoint": func(d *webhook.Delivery) row { return row{"webhook_endpoints", "created_at", d.EndpointID} },
	} {
		t.Run(name, func(t *testing.T) {
			storetest.EachTarget(t, func(t *testing.T, target string) {
				w := newWorld(t, storetest.Open(t, target))
				r := newReceiver(t, w.clock, nil)
				broken, others := w.endpoint(r.URL+"/broken"), make([]*webhook.Endpoint, 0, 2)
				for i := range 2 {
					others = append(others, w.endpoint(fmt.Sprintf("%s/other/%d", r.URL, i)))
				}
				first := w.queue(1, broken)[0]
				w.queue(40, others...)
				mend := damage(w, target, damaged(first))
				log := new(logBuffer)
				s := w.start(r, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) })
				must.Eventually(t, patient, "the deliveries to other endpoints", func() bool { return w.pending() == 1 })
				for tries := range 4 {
					must.Eventually(t, patient, "a try to read the queue", func() bool {
						return testutil.ToFloat64(s.metrics.unreadable) > float64(tries)
					})
					w.clock.Advance(time.Minute)
					s.Wake()
				}
				if n := log.count("level=ERROR"); n != 1 || log.count("endpoint_id="+broken.ID) != 1 {
					t.Errorf("%d errors are logged, want one of the endpoint:\n%s", n, log.text.String())
				}
				mend()
				w.clock.Advance(time.Minute)
				s.Wake()
				must.Eventually(t, patient, "the delivery that could not be read", func() bool { return w.pending() == 0 })
				if got := r.count(); got != 81 {
					t.Errorf("%d requests for 81 deliveries", got)
				}
			})
		})
	}
}

// TestFailures takes away the table that deliveries are read from, and then the one that results are recorded in: the
// sender tells of it until it gets on.
func TestFailures(t *testing.T) {
	for _, table := range []string{"delivery_queue", "delivery_attempts"} {
		t.Run(table, func(t *testing.T) {
			storetest.EachTarget(t, func(t *testing.T, target string) {
				w := newWorld(t, storetest.Open(t, target))
				r := newReceiver(t, w.clock, nil)
				w.queue(1, w.endpoint(r.URL))
				rawsql.Exec(t, target, "ALTER TABLE "+table+" RENAME TO gone")
				s := w.start(r, nil)
				must.Eventually(t, patient, "a failure", func() bool { return s.Failures().Err != nil })
				rawsql.Exec(t, target, "ALTER TABLE gone RENAME TO "+table)
				must.Eventually(t, patient, "success", func() bool { return s.Failures().Err == nil && w.pending() == 0 })
				if f := s.Failures(); f.Count == 0 || f.Last.IsZero() {
					t.Errorf("what has failed is forgotten: %+v", f)
				}
			})
		})
	}
}

// TestBacklogOfDeletedEndpoint deletes an endpoint, and revokes the key of another, in the middle of a backlog that is
// dropped in several batches: nothing more is sent to them, and nothing is left.
func TestBacklogOfDeletedEndpoint(t *testing.T) {
	for name, end := range map[string]func(tx *store.Tx, e *webhook.Endpoint) error{
		"Deleted": func(tx *store.Tx, e *webhook.Endpoint) error { return tx.DeleteEndpoint(e.APIKeyID, e.ID, noon) },
		"Revoked": func(tx *store.Tx, e *webhook.Endpoint) error {
			_, err := tx.RevokeKey(e.APIKeyID, noon)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) {
				var ended atomic.Bool
				var late atomic.Int64
				begun, release := make(chan struct{}, 2000), make(chan struct{})
				r := newReceiver(t, w.clock, func(http.ResponseWriter, *http.Request) {
					if ended.Load() {
						late.Add(1)
					}
					begun <- struct{}{}
					<-release
				})
				e := w.endpoint(r.URL)
				w.queue(2*dropBatch+100, e)
				s := w.start(r, nil)
				<-begun
				w.Update(func(tx *store.Tx) error { return end(tx, e) })
				s.ForgetEndpoints()
				ended.Store(true)
				close(release)
				must.Eventually(t, patient, "that nothing waits", func() bool { return w.pending() == 0 })
				if n := late.Load(); n > maxInFlightPerEndpoint {
					t.Errorf("%d attempts began after the end", n)
				}
				found, err := w.Store.Deliveries(t.Context(), webhook.DeliveryFilter{Status: webhook.Pending}, 10)
				if err != nil || len(found) != 0 {
					t.Errorf("%d pending deliveries are left, %v", len(found), err)
				}
			})
		})
	}
}
