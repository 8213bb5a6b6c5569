package deliver

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/outbox"
)

// rotate gives an endpoint another secret.
func rotate(w *world, e *webhook.Endpoint, secret string, at time.Time, overlap time.Duration) {
	e.Rotate(w.Secrets.Seal(secret, e.ID), at, overlap)
	w.Update(func(tx *store.Tx) error { return tx.SaveRotation(e) })
}

// TestRotatedSecret checks that deliveries are signed with both secrets for a while after a rotation.
func TestRotatedSecret(t *testing.T) {
	const before = "the secret before"
	const name = "X-LG-Signature-Previous"
	eachWorld(t, func(t *testing.T, w *world) {
		r := newReceiver(t, w.clock, nil) // checks the signature of the current secret
		s := w.start(r, nil)
		e := w.endpoint(r.URL)
		deliver := func() received {
			t.Helper()
			w.queue(1, e)
			n := r.count()
			s.Wake()
			must.Eventually(t, patient, "the delivery", func() bool { return w.pending() == 0 && r.count() == n+1 })
			return r.all()[n]
		}
		if got := deliver().header.Get(name); got != "" {
			t.Errorf("before a rotation %s is %q", name, got)
		}
		w.clock.Advance(time.Hour)
		until := w.clock.Now().Add(24 * time.Hour)
		rotate(w, e, before, w.clock.Now(), 24*time.Hour)
		rotate(w, e, outbox.Secret, w.clock.Now(), 24*time.Hour)
		w.clock.Set(until.Add(-time.Second))
		got := deliver()
		timestamp, err := strconv.ParseInt(got.header.Get("X-LG-Timestamp"), 10, 64)
		if want := webhook.NewSigner(before).Sign(timestamp, []byte(got.body)); err != nil || got.header.Get(name) != want {
			t.Errorf("%s is %q, want %q (%v)", name, got.header.Get(name), want, err)
		}
		w.clock.Set(until)
		if got := deliver().header.Get(name); got != "" {
			t.Errorf("after the overlap %s is %q", name, got)
		}
	})
}

// TestPausedEndpoint checks that deliveries wait for a paused endpoint, others do not, and that all attempts are left
// when it goes on.
func TestPausedEndpoint(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var status atomic.Int64
		status.Store(http.StatusInternalServerError)
		r := newReceiver(t, w.clock, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/paused" {
				w.WriteHeader(int(status.Load()))
			}
		})
		s := w.start(r, nil)
		e, other := w.endpoint(r.URL+"/paused"), w.endpoint(r.URL+"/other")
		first := w.queue(1, e)[0]
		s.Wake()
		must.Eventually(t, patient, "the first attempt", func() bool { return w.Delivery(first.ID).Attempts == 1 })
		w.Update(func(tx *store.Tx) error { return changed(tx.PauseEndpoint(e.APIKeyID, e.ID, w.clock.Now())) })
		w.clock.Advance(time.Hour)
		more := w.queue(3, e)
		w.queue(1, other)
		s.Wake()
		must.Eventually(t, patient, "the delivery to the other endpoint", func() bool { return w.pending() == 4 })
		w.clock.Advance(time.Hour)
		w.queue(1, other)
		s.Wake()
		must.Eventually(t, patient, "another one", func() bool { return w.pending() == 4 })
		if got := r.count(); got != 3 {
			t.Errorf("%d requests were made, want 3: the first and two to the other endpoint", got)
		}
		if _, oldest, err := w.Store.QueueState(t.Context(), w.clock.Now()); err != nil || !oldest.IsZero() {
			t.Errorf("the oldest due delivery is of %v, %v: those of a paused endpoint are not due", oldest, err)
		}
		w.Update(func(tx *store.Tx) error { return changed(tx.ResumeEndpoint(e.APIKeyID, e.ID)) })
		for i := range 3 {
			w.clock.Advance(time.Hour)
			s.Wake()
			must.Eventually(t, patient, "the next attempts", func() bool { // all of them: the receiver looks at the clock
				waiting := slices.ContainsFunc(more, func(d *webhook.Delivery) bool { return w.Delivery(d.ID).Attempts != i+1 })
				return !waiting && w.Delivery(first.ID).Attempts == i+2
			})
		}
		if got := w.Delivery(first.ID); got.Status != webhook.Pending {
			t.Errorf("after three attempts of four: %+v", got)
		}
		status.Store(http.StatusOK)
		w.clock.Advance(time.Hour)
		s.Wake()
		must.Eventually(t, patient, "all deliveries", func() bool { return w.pending() == 0 })
	})
}

// TestForgetEndpoints checks that a change of an endpoint holds for the next delivery, however lately it was looked up.
func TestForgetEndpoints(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		r := newReceiver(t, w.clock, func(http.ResponseWriter, *http.Request) {})
		s := w.start(r, nil)
		rotated, paused, deleted := w.endpoint(r.URL+"/rotated"), w.endpoint(r.URL+"/paused"), w.endpoint(r.URL+"/deleted")
		w.queue(1, rotated, paused, deleted)
		s.Wake()
		must.Eventually(t, patient, "the first deliveries", func() bool { return w.pending() == 0 })
		const before = "the secret before"
		rotate(w, rotated, before, w.clock.Now(), time.Hour)
		rotate(w, rotated, outbox.Secret, w.clock.Now(), time.Hour) // which the receiver knows
		w.Update(func(tx *store.Tx) error {
			return errors.Join(
				changed(tx.PauseEndpoint(paused.APIKeyID, paused.ID, w.clock.Now())),
				tx.DeleteEndpoint(deleted.APIKeyID, deleted.ID, w.clock.Now()),
			)
		})
		s.ForgetEndpoints()
		w.queue(1, rotated, paused)
		n := r.count()
		s.Wake()
		must.Eventually(t, patient, "the delivery to the rotated endpoint", func() bool { return w.pending() == 1 })
		got := r.all()[n:]
		if len(got) != 1 || got[0].path != "/rotated" {
			t.Fatalf("received %+v", got)
		}
		timestamp, err := strconv.ParseInt(got[0].header.Get("X-LG-Timestamp"), 10, 64)
		want := webhook.NewSigner(before).Sign(timestamp, []byte(got[0].body))
		if signature := got[0].header.Get("X-LG-Signature-Previous"); err != nil || signature != want {
			t.Errorf("the signature with the previous secret is %q, want %q (%v)", signature, want, err)
		}
	})
}

// TestExpiredPrevious checks that a secret which is not used any more stops nothing, whoever can read it.
func TestExpiredPrevious(t *testing.T) {
	w := sqliteWorld(t)
	r := newReceiver(t, w.clock, nil)
	e := w.endpoint(r.URL)
	sealed := e.SealedSecret
	e.Rotate("of another key", w.clock.Now(), 0)
	e.Rotate(sealed, w.clock.Now(), 0)
	w.Update(func(tx *store.Tx) error { return tx.SaveRotation(e) })
	w.start(r, nil)
	w.queue(1, e)
	must.Eventually(t, patient, "the delivery", func() bool { return w.pending() == 0 && r.count() == 1 })
}

// TestResumedTwice checks that going on does not give more attempts to an endpoint that was not paused.
func TestResumedTwice(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		r := newReceiver(t, w.clock, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		})
		s := w.start(r, nil)
		e := w.endpoint(r.URL)
		d := w.queue(1, e)[0]
		for i := range 4 {
			s.Wake()
			must.Eventually(t, patient, "the next attempt", func() bool { return w.Delivery(d.ID).Attempts == i+1 })
			w.Update(func(tx *store.Tx) error {
				resumed, err := tx.ResumeEndpoint(e.APIKeyID, e.ID)
				if resumed {
					t.Error("an endpoint that was not paused has gone on")
				}
				return err
			})
			w.clock.Advance(time.Hour)
		}
		if got := w.Delivery(d.ID); got.Status != webhook.Failed {
			t.Errorf("after four attempts: %+v", got)
		}
	})
}

// changed returns an error where nothing has changed.
func changed(done bool, err error) error {
	if err == nil && !done {
		err = errors.New("nothing has changed")
	}
	return err
}
