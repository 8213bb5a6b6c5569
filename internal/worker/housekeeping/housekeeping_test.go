package housekeeping_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/worker/housekeeping"
	"github.com/assayhq/assay/internal/worker/liveness"
)

const (
	week  = 7 * 24 * time.Hour
	claim = 2 * time.Hour
)

type object = integrationtest.M

func keeper(w *integrationtest.World) *housekeeping.Keeper {
	return &housekeeping.Keeper{
		Service: w.Service, Now: w.Clock.Now, Log: slog.New(slog.DiscardHandler), PhotoRequestAge: week, UnusedPhotoAge: week,
		ClaimAge: claim, AttemptAge: week, DeliveryAge: week,
	}
}

func round(t *testing.T, k *housekeeping.Keeper) {
	t.Helper()
	if err := k.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestRound checks what expires, and when.
func TestRound(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *integrationtest.World) {
		c := w.NewAccount(t).Live(t)
		upload := func(t *testing.T) string {
			t.Helper()
			return c.Upload(t, integrationtest.Part{
				Filename: "x", Content: pictures.GrayPNG(2, 2),
			}).Want(t, 201).Text(t, "data.0.url")
		}
		order2 := func(t *testing.T, url string) *integrationtest.Response {
			t.Helper()
			return c.Post(t, "/orders", c.Bag(t, object{
				"photos": []any{object{"url": url, "index_code": "overall"}, object{"url": url, "index_code": "serial"}},
			}))
		}
		t.Run("UnusedPhotosAreDeleted", func(t *testing.T) {
			used, unused := upload(t), upload(t)
			order2(t, used).Want(t, 201)
			w.Clock.Advance(week)
			round(t, keeper(w))
			if files := w.StoredFiles(t); len(files) != 2 {
				t.Errorf("%d files are left after exactly a week", len(files))
			}
			w.Clock.Advance(time.Microsecond)
			round(t, keeper(w))
			if files := w.StoredFiles(t); len(files) != 1 {
				t.Errorf("%d files are left, not 1", len(files))
			}
			order2(t, unused).Refused(t, 400, "unsupported-photo-url")
			order2(t, used).Want(t, 201)
		})
		t.Run("AgeOfUnusedPhotosIsASetting", func(t *testing.T) {
			upload(t)
			before := len(w.StoredFiles(t))
			k := keeper(w)
			k.UnusedPhotoAge = time.Minute
			w.Clock.Advance(2 * time.Minute)
			round(t, k)
			if files := w.StoredFiles(t); len(files) != before-1 {
				t.Errorf("%d files are left of %d", len(files), before)
			}
		})
		t.Run("UnansweredRequestsEnd", func(t *testing.T) {
			unanswered, answered := c.CreateID(t), c.CreateID(t)
			w.RequestPhotos(t, unanswered)
			w.RequestPhotos(t, answered)
			w.Clock.Advance(week - time.Millisecond)
			round(t, keeper(w))
			c.Get(t, "/orders/"+unanswered).Is(t, "status", "update-photos")
			c.Post(t, "/orders/"+answered+"/update_photos", object{"photos": []any{
				object{"index_code": "overall", "is_unable_to_provide": true},
				object{"index_code": "serial", "is_unable_to_provide": true},
			}}).Want(t, 202)
			w.Clock.Advance(time.Millisecond)
			round(t, keeper(w))
			c.Get(t, "/orders/"+unanswered).Is(t, "status", "completed").Is(t, "outcome", "unable-to-verify")
			c.Get(t, "/orders/"+answered).Is(t, "outcome", nil)
		})
		t.Run("TestRequestsStay", func(t *testing.T) {
			test := c.Account.Test(t)
			id := test.CreateID(t, object{"mock_outcome": "update-photos"})
			w.Clock.Advance(2 * week)
			round(t, keeper(w))
			test.Get(t, "/orders/"+id).Is(t, "status", "update-photos")
		})
		t.Run("IdleClaimsReturnToTheQueue", func(t *testing.T) {
			id := c.CreateID(t)
			w.Claim(t, id)
			w.Clock.Advance(claim - time.Microsecond)
			round(t, keeper(w))
			if o := w.Order(t, id); o.Status != order.Processing {
				t.Errorf("the order is %s too early", o.Status)
			}
			w.Clock.Advance(time.Microsecond)
			round(t, keeper(w))
			if o := w.Order(t, id); o.Status != order.Queued || o.AssigneeID != "" {
				t.Errorf("the order is %s, held by %q", o.Status, o.AssigneeID)
			}
		})
		t.Run("MoreThanOneBatch", func(t *testing.T) {
			c.Photos(t, 250)
			w.Clock.Advance(2 * week)
			round(t, keeper(w))
			again, err := w.Service.DeleteUnusedPhotos(t.Context(), w.Clock.Now(), 1000)
			if err != nil || again != 0 {
				t.Errorf("%d photos were left (%v)", again, err)
			}
		})
		t.Run("UploadedCatalogsAreForgotten", func(t *testing.T) {
			made, err := w.Service.CreateStaff(t.Context(), access.Operator, "boss@assay.example", "Boss", access.Admin)
			must.NoError(t, err)
			boss := made.Staff.Actor(access.Origin{})
			plan, err := w.Service.UploadCatalog(t.Context(), boss, "c.yaml", demo.Catalog)
			must.NoError(t, err)
			w.Clock.Advance(25 * time.Hour)
			round(t, keeper(w))
			_, err = w.Service.CatalogPlan(t.Context(), boss, plan.Draft.ID)
			if fault.CodeOf(err) != fault.CodeNotFound {
				t.Errorf("an old draft is kept: %v", err)
			}
		})
		t.Run("IdempotencyKeysAreForgotten", func(t *testing.T) {
			c.Post(t, "/orders", c.Bag(t), "Idempotency-Key", "k").Want(t, 201)
			w.Clock.Advance(24 * time.Hour)
			round(t, keeper(w))
			if n, err := w.Service.DeleteOldIdempotencyKeys(t.Context(), 10); err != nil || n != 0 {
				t.Errorf("%d keys were left (%v)", n, err)
			}
		})
	})
}

// TestRoundContinuesAfterFailures checks that an order that cannot be read does not keep other orders from expiring,
// or later tasks from running.
func TestRoundContinuesAfterFailures(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *integrationtest.World) {
		c := w.NewAccount(t).Live(t)
		unanswered, claimed := []string{c.CreateID(t), c.CreateID(t)}, []string{c.CreateID(t), c.CreateID(t)}
		for i := range 2 {
			w.RequestPhotos(t, unanswered[i])
			w.Claim(t, claimed[i])
			w.Clock.Advance(time.Second) // the broken orders are the oldest
		}
		c.Upload(t, integrationtest.Part{Filename: "x", Content: pictures.GrayPNG(2, 2)}).Want(t, 201)
		files := len(w.StoredFiles(t))
		for _, id := range []string{unanswered[0], claimed[0]} {
			rawsql.Exec(t, w.Target, "UPDATE orders SET facts = '{' WHERE id = '"+id+"'")
		}
		w.Clock.Advance(2 * week)
		err := keeper(w).Round(t.Context())
		for _, words := range []string{"photo requests expired", unanswered[0], "claims returned", claimed[0]} {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("the error does not name %s: %v", words, err)
			}
		}
		c.Get(t, "/orders/"+unanswered[1]).Is(t, "outcome", "unable-to-verify")
		c.Get(t, "/orders/"+claimed[1]).Is(t, "status", "queued")
		if left := len(w.StoredFiles(t)); left != files-1 {
			t.Errorf("%d files are left of %d: the unused photo was not deleted", left, files)
		}
	})
}

// backlog makes spent challenges that take more than two batches, and returns how many are left of them.
func backlog(t *testing.T, w *integrationtest.World) (left func() string) {
	t.Helper()
	rawsql.Exec(t, w.Target, `INSERT INTO spent_challenges (challenge_hash, expires_at)
		WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 250)
		SELECT 'challenge ' || n, n FROM numbers`)
	return func() string { return rawsql.Rows(t, w.Target, "SELECT COUNT(*) FROM spent_challenges")[0][0] }
}

// TestRound_Turns checks that a task with much to do does not keep the others waiting, and is gone on with at once.
func TestRound_Turns(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *integrationtest.World) {
		left := backlog(t, w)
		k := keeper(w)
		k.Turn = time.Nanosecond
		if round(t, k); left() != "150" {
			t.Errorf("%s of 250 rows are left after a turn of one batch", left())
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Run(ctx) }()
		// Before the next round by the clock.
		must.Eventually(t, time.Minute, "no rows are left", func() bool { return left() == "0" })
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// batchLog is told of each batch.
type batchLog struct {
	slog.Handler
	batch func()
}

func (l batchLog) Enabled(context.Context, slog.Level) bool { return true }

func (l batchLog) Handle(context.Context, slog.Record) error {
	l.batch()
	return nil
}

// TestRound_Progress checks that a round that takes long counts as progress with each batch.
func TestRound_Progress(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *integrationtest.World) {
		backlog(t, w)
		k := keeper(w)
		k.Done = liveness.New()
		batches, last := 0, time.Now()
		k.Log = slog.New(batchLog{slog.DiscardHandler, func() {
			if age, _ := k.Progress(); age > time.Since(last) {
				t.Errorf("no progress for %s, since before the batch before", age)
			}
			batches, last = batches+1, time.Now()
		}})
		if round(t, k); batches < 3 {
			t.Errorf("%d batches", batches)
		}
	})
}

// TestExpiry_ManyUnreadable checks that orders that cannot be expired do not hold up those behind them, however many
// they are.
func TestExpiry_ManyUnreadable(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *integrationtest.World) {
		c := w.NewAccount(t).Live(t)
		var ids []string
		for range 5 {
			id := c.CreateID(t)
			w.RequestPhotos(t, id)
			w.Clock.Advance(time.Second)
			ids = append(ids, id)
		}
		for _, id := range ids[:4] {
			rawsql.Exec(t, w.Target, "UPDATE orders SET facts = '{' WHERE id = '"+id+"'")
		}
		w.Clock.Advance(2 * week)
		n, err := w.Service.ExpirePhotoRequests(t.Context(), w.Clock.Now(), 2)
		if skipped, ok := errors.AsType[*fault.Skipped](err); n != 1 || !ok || skipped.Rows != 4 {
			t.Errorf("%d expired: %v", n, err)
		}
		c.Get(t, "/orders/"+ids[4]).Is(t, "outcome", "unable-to-verify")
	})
}

// TestRound_Skipped checks that a metric counts what was skipped.
func TestRound_Skipped(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *integrationtest.World) {
		c := w.NewAccount(t).Live(t)
		id := c.CreateID(t)
		w.RequestPhotos(t, id)
		rawsql.Exec(t, w.Target, "UPDATE orders SET facts = '{' WHERE id = '"+id+"'")
		w.Clock.Advance(2 * week)
		k := keeper(w)
		registry := prometheus.NewRegistry()
		k.Metrics = registry
		if err := errors.Join(k.Round(t.Context()), k.Round(t.Context())); err == nil {
			t.Error("nothing failed")
		}
		if got := metric(t, registry, "assay_housekeeping_skipped_total"); got != 2 {
			t.Errorf("%v rows were skipped, want 1 in each of two rounds", got)
		}
	})
}

// TestRun_Failure checks that a round with errors is not repeated at once: the next one waits for its time, however
// long the round took. A round that pauses because of the clock does not end what failed before.
func TestRun_Failure(t *testing.T) {
	s := shop.New(t, storetest.SQLite(t)).Service
	synctest.Test(t, func(t *testing.T) {
		const interval, took = time.Minute, 90 * time.Second
		var begun []time.Duration
		start := time.Now()
		away, off := errors.New("the database is away"), time.Duration(0)
		err, lasts := away, took
		k := &housekeeping.Keeper{
			Service: s, Now: time.Now, Log: slog.New(slog.DiscardHandler), PhotoRequestAge: week, UnusedPhotoAge: week,
			ClaimAge: claim, AttemptAge: week, DeliveryAge: week,
			Clock: &housekeeping.ClockGuard{ // what a round asks first; a database does not work in the bubble
				Elapsed: func() time.Duration { return time.Since(start) },
				Newest:  func(context.Context) (time.Time, error) { return time.Time{}, nil },
				Database: func(context.Context) (time.Time, error) {
					begun = append(begun, time.Since(start))
					time.Sleep(lasts)
					return time.Now().Add(off), err
				},
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Run(ctx) }()
		after := func(d time.Duration, rounds ...time.Duration) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if !slices.Equal(begun, rounds) {
				t.Errorf("rounds began after %v, want %v", begun, rounds)
			}
			if f := k.Failures(); f.Count != 2 || !errors.Is(f.Err, away) || f.Last.Sub(start) != 2*took+interval {
				t.Errorf("the failures are %+v", f)
			}
		}
		const second, third = took + interval, 2 * (took + interval)
		after(third-time.Second, 0, second)
		err, off, lasts = nil, 2*time.Hour, 0
		after(2*time.Second, 0, second, third)
		stop()
		must.NoError(t, <-ended)
	})
}

// TestRun_Recovery checks that a failure is told until a round succeeds.
func TestRun_Recovery(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *integrationtest.World) {
		id := w.NewAccount(t).Live(t).CreateID(t)
		w.RequestPhotos(t, id)
		facts := rawsql.Rows(t, w.Target, "SELECT facts FROM orders WHERE id = '"+id+"'")[0][0]
		set := func(facts string) {
			rawsql.Exec(t, w.Target, "UPDATE orders SET facts = '"+facts+"' WHERE id = '"+id+"'")
		}
		set("{")
		w.Clock.Advance(2 * week)
		k := keeper(w)
		k.ClaimAge = 10 * time.Second // a round each second
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Run(ctx) }()
		must.Eventually(t, time.Minute, "a round has failed", func() bool { return k.Failures().Err != nil })
		set(facts)
		must.Eventually(t, time.Minute, "a round succeeds", func() bool { return k.Failures().Err == nil })
		stop()
		must.NoError(t, <-ended)
		if f := k.Failures(); f.Count == 0 || f.Last.IsZero() {
			t.Errorf("what has failed is forgotten: %+v", f)
		}
	})
}

// metric returns the sum of a metric over its labels.
func metric(t *testing.T, g prometheus.Gatherer, name string) (sum float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// TestRound_WrongClock checks that nothing expires by a clock that is off, and that this is said.
func TestRound_WrongClock(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *integrationtest.World) {
		c := w.NewAccount(t).Live(t)
		id := c.CreateID(t)
		w.RequestPhotos(t, id)
		elapsed := time.Duration(0)
		registry := prometheus.NewRegistry()
		k := keeper(w)
		k.Metrics = registry
		k.Clock = &housekeeping.ClockGuard{
			Elapsed: func() time.Duration { return elapsed },
			Newest:  func(context.Context) (time.Time, error) { return w.Clock.Now(), nil },
		}
		pass := func(d time.Duration) {
			elapsed += d
			w.Clock.Advance(d)
			round(t, k)
		}
		state := func(t *testing.T, status string, paused float64) {
			t.Helper()
			if o := w.Order(t, id); string(o.Status) != status {
				t.Errorf("the order is %s, want %s", o.Status, status)
			}
			if got := metric(t, registry, "assay_housekeeping_paused"); got != paused {
				t.Errorf("paused is %v, want %v", got, paused)
			}
		}
		pass(0)
		pass(time.Minute)
		state(t, "update-photos", 0)
		w.Clock.Advance(2 * week) // the clock jumps
		pass(time.Minute)
		state(t, "update-photos", 1)
		pass(30 * time.Minute)
		state(t, "update-photos", 1)
		w.Clock.Advance(-2 * week) // it is set right
		pass(time.Minute)
		state(t, "update-photos", 1)
		pass(2 * time.Hour)
		state(t, "update-photos", 0)
		pass(2 * week) // two weeks really pass
		state(t, "completed", 0)
	})
}

// TestClockGuard checks the comparison with the newest row and with the clock of the database.
func TestClockGuard(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) func(context.Context) (time.Time, error) {
		return func(context.Context) (time.Time, error) { return now.Add(d), nil }
	}
	empty := func(context.Context) (time.Time, error) { return time.Time{}, nil }
	for name, test := range map[string]struct {
		newest, database func(context.Context) (time.Time, error)
		paused, later    bool
	}{
		"Right":          {newest: at(-15 * time.Minute)},
		"Empty":          {newest: empty},
		"NewestLater":    {newest: at(61 * time.Minute), paused: true},
		"NewestEarlier":  {newest: at(-61 * time.Minute), paused: true},
		"DatabaseLater":  {newest: empty, database: at(4 * time.Hour), paused: true, later: true},
		"DatabaseBehind": {newest: empty, database: at(-2 * time.Hour), paused: true, later: true},
		"DatabaseStands": {newest: empty, database: at(0), later: true},
	} {
		t.Run(name, func(t *testing.T) {
			elapsed := time.Duration(0)
			g := &housekeeping.ClockGuard{
				Elapsed: func() time.Duration { return elapsed }, Newest: test.newest, Database: test.database,
			}
			if why, err := g.Check(t.Context(), now); err != nil || (why != "") != test.paused {
				t.Errorf("%q, %v", why, err)
			}
			elapsed = 90 * time.Minute
			if why, err := g.Check(t.Context(), now.Add(elapsed)); err != nil || (why != "") != test.later {
				t.Errorf("an hour and a half later: %q, %v", why, err)
			}
		})
	}
}
