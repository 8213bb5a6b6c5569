package housekeeping_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/retention"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/s3test"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/worker/housekeeping"
)

// TestSweeper: what crashes leave in the media store goes, what belongs to a photo or to a running upload stays.
func TestSweeper(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Order(t, s.Test, order.MockFake)
		used := rawsql.Rows(t, target, "SELECT name FROM photos")[0][0]
		newest := time.Now().Add(-90 * time.Minute)
		rawsql.Exec(t, target, fmt.Sprintf("UPDATE photos SET created_at = %d", newest.UnixMicro()))
		place := func(name string) string { return filepath.Join(s.MediaDir, name[:1], name[1:2], name) }
		write := func(path string, age time.Duration) string {
			must.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
			must.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
			return path
		}
		must.NoError(t, os.Chtimes(place(used), time.Time{}, time.Now().Add(-48*time.Hour)))
		gone := []string{
			write(place(photo.NewName(photo.JPEG)), 2*time.Hour),
			write(filepath.Join(s.Media.StagingDir(), "staged-1"), 2*time.Hour),
		}
		kept := []string{
			place(used), write(place(photo.NewName(photo.JPEG)), time.Minute),
			write(filepath.Join(s.Media.StagingDir(), "staged-2"), time.Minute),
			write(place(photo.NewName(photo.JPEG)), 10*365*24*time.Hour), // of another database: this one is younger
			write(place(photo.NewName(photo.JPEG)), 80*time.Minute),      // of the database of which this one is a copy
		}
		sweeper := &housekeeping.Sweeper{Service: s.Service, Staging: s.Staging, Log: slog.New(slog.DiscardHandler)}
		must.NoError(t, sweeper.Sweep(t.Context()))
		for _, path := range gone {
			if _, err := os.Stat(path); err == nil {
				t.Errorf("%s is left", path)
			}
		}
		for _, path := range kept {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s is gone", path)
			}
		}
	})
}

// sweeps is the service of a sweeper, which fails while it has an error. It notes when it is asked to sweep.
type sweeps struct {
	err   error
	start time.Time
	begun []time.Duration
}

func (s *sweeps) SweepMedia(context.Context, time.Time) (retention.Sweep, error) {
	s.begun = append(s.begun, time.Since(s.start))
	time.Sleep(time.Minute)
	return retention.Sweep{}, s.err
}

// TestSweeper_Failure: a sweep that fails is tried again when the next one is due, not at once, and is told until one
// succeeds. One that cannot begin comes sooner, and ends nothing that failed before.
func TestSweeper_Failure(t *testing.T) {
	staging, err := media.NewStaging(t.TempDir())
	must.NoError(t, err)
	denied, away := errors.New("access denied"), errors.New("the database has no time")
	synctest.Test(t, func(t *testing.T) {
		const round = 6*time.Hour + time.Minute
		service := &sweeps{err: denied, start: time.Now()}
		var clock error
		var off, lasts time.Duration
		sweeper := &housekeeping.Sweeper{
			Service: service, Staging: staging, Log: slog.New(slog.DiscardHandler),
			Clock: &housekeeping.ClockGuard{
				Elapsed: func() time.Duration { return time.Since(service.start) },
				Newest:  func(context.Context) (time.Time, error) { return time.Time{}, nil },
				Database: func(context.Context) (time.Time, error) {
					time.Sleep(lasts)
					return time.Now().Add(off), clock
				},
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- sweeper.Run(ctx) }()
		after := func(d time.Duration, failures int, cause error, begun ...time.Duration) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if f := sweeper.Failures(); f.Count != failures || !errors.Is(f.Err, cause) {
				t.Errorf("after %s the failures are %+v, want %d: %v", time.Since(service.start), f, failures, cause)
			}
			if !slices.Equal(service.begun, begun) {
				t.Errorf("sweeps began after %v, want %v", service.begun, begun)
			}
		}
		after(round-time.Second, 1, denied, 0)
		off = 2 * time.Hour
		after(2*time.Second, 1, denied, 0) // the clock seems wrong
		off, clock, lasts = 0, away, time.Second
		after(time.Hour+lasts, 2, away, 0)
		service.err, clock, lasts = nil, nil, 0
		after(time.Hour, 2, away, 0, round+2*time.Hour+time.Second)
		after(time.Minute, 2, nil, 0, round+2*time.Hour+time.Second)
		stop()
		must.NoError(t, <-ended)
	})
}

// TestRetention: what has ended long ago is forgotten, what is still needed is not.
func TestRetention(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		count := func(rows string) string { return rawsql.Rows(t, target, "SELECT COUNT(*) FROM "+rows)[0][0] }
		now := s.Clock.Now().UnixMicro()
		hour := int64(time.Hour / time.Microsecond)
		ago := func(hours int64) int64 { return now - hours*hour }
		for _, d := range []struct {
			id      string
			created int64
			attempt int64
			queued  bool
		}{
			{"1-old", ago(3000), ago(2999), false},
			{"2-pending", ago(3000), ago(2999), true},
			{"3-redelivered", ago(3000), ago(10), false},
			{"4-old", ago(2500), ago(2400), false},
			{"5-young", ago(100), ago(99), false},
		} {
			insert(t, target, "deliveries (id, endpoint_id, account_id, environment, event, body, created_at)",
				d.id, "e", s.Account.ID, "live", "order-outcome", "{}", d.created)
			insert(t, target, "delivery_attempts (delivery_id, number, at, duration, http_status, failure, answer, ended, kept)",
				d.id, 1, d.attempt, 0, 200, "", "", "delivered", 0)
			if d.queued {
				insert(t, target, "delivery_queue (endpoint_id, due_at, delivery_id, failures, attempts)", "e", now, d.id, 0, 1)
			}
		}
		for version := 2; version <= 30; version++ {
			insert(t, target, "catalog_versions (version, document, created_at)", version, "{}", ago(24*100))
		}
		insert(t, target, "delivery_leases (endpoint_id, sender_id, lease_until)", "old", "s", ago(25))
		insert(t, target, "delivery_leases (endpoint_id, sender_id, lease_until)", "young", "s", ago(1))
		for id, expires := range map[string]int64{"old": ago(24 * 31), "young": ago(24 * 29)} {
			insert(t, target, "links (id, token_hash, kind, audience, email, name, role, created_by, created_at, expires_at)",
				id, id, "invitation", "desk", "a@b.example", "A", "admin", "x", ago(24*40), expires)
		}
		k := &housekeeping.Keeper{
			Service: s.Service, Now: s.Clock.Now, Log: slog.New(slog.DiscardHandler),
			PhotoRequestAge: week, UnusedPhotoAge: week,
			ClaimAge: claim, AttemptAge: 720 * time.Hour, EventAge: 720 * time.Hour, DeliveryAge: 2160 * time.Hour,
		}
		must.NoError(t, k.Round(t.Context()))
		expect.Results(t, count, map[string]string{
			"deliveries": "3",
			"deliveries WHERE id IN ('2-pending', '3-redelivered', '5-young')": "3",
			"delivery_attempts WHERE delivery_id IN ('1-old', '4-old')":        "0",
			"catalog_versions WHERE version > 10":                              "20",
			"catalog_versions WHERE version BETWEEN 2 AND 10":                  "0",
			"delivery_leases WHERE endpoint_id = 'old'":                        "0",
			"delivery_leases WHERE endpoint_id = 'young'":                      "1",
			"links WHERE id = 'old'":                                           "0",
			"links WHERE id = 'young'":                                         "1",
		})
	})
}

// insert adds a row; into is the table with its columns.
func insert(t *testing.T, target, into string, values ...any) {
	t.Helper()
	var text strings.Builder
	for i, v := range values {
		if i > 0 {
			text.WriteString(", ")
		}
		if s, ok := v.(string); ok {
			v = "'" + s + "'"
		}
		fmt.Fprint(&text, v)
	}
	rawsql.Exec(t, target, "INSERT INTO "+into+" VALUES ("+text.String()+")")
}

// TestSweeper_S3: the same in a bucket, whose files have the times of its server.
func TestSweeper_S3(t *testing.T) {
	address := s3test.Start(t).Bucket(t)
	bucket, err := media.Open(address, t.TempDir())
	must.NoError(t, err)
	s := shop.New(t, storetest.SQLite(t), func(c *service.Config) { c.Media = bucket })
	s.Order(t, s.Test, order.MockFake)
	rawsql.Exec(t, s.Target, fmt.Sprintf("UPDATE photos SET created_at = %d", time.Now().Add(time.Hour).UnixMicro()))
	orphan := photo.NewName(photo.JPEG)
	staged, err := s.Staging.Stage(t.Context(), strings.NewReader("x"), 1)
	must.NoError(t, err)
	must.NoError(t, bucket.Put(t.Context(), orphan, staged))
	must.NoError(t, staged.Close())
	for _, round := range []struct {
		before time.Time
		swept  int
	}{{time.Now().Add(-time.Hour), 0}, {time.Now().Add(time.Hour), 1}, {time.Now().Add(time.Hour), 0}} {
		swept, err := s.Service.SweepMedia(t.Context(), round.before)
		must.NoError(t, err)
		if swept.Deleted != round.swept {
			t.Errorf("%d files swept, want %d", swept.Deleted, round.swept)
		}
	}
	left := 0
	for name, err := range bucket.Names(t.Context()) {
		must.NoError(t, err)
		if name == orphan {
			t.Error("the file without a row is left")
		}
		left++
	}
	if left != 1 {
		t.Errorf("%d files are left, want the photo of the order", left)
	}
}
