package service_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/retention"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// undeleting is a media store that deletes nothing while it is on: what an interruption before the first file leaves.
type undeleting struct {
	media.Store
	on   bool
	only string // the file that it does not delete; empty: every one
}

// newUndeleting opens a shop that has traded and whose Live orders have ended.
func newUndeleting(t *testing.T, target string) (*shop.Shop, *undeleting) {
	t.Helper()
	s := shop.New(t, target)
	s.Trade(t)
	open := rawsql.Rows(t, target, "SELECT id FROM orders WHERE environment = 'live' AND ended_at IS NULL")[0][0]
	_, err := s.Service.CancelOrder(t.Context(), access.System, open, "withdrawn")
	must.NoError(t, err)
	u := &undeleting{Store: s.Media, on: true}
	s.Reconfigure(t, func(c *service.Config) { c.Media = u })
	return s, u
}

var errInterrupted = errors.New("interrupted")

func (u *undeleting) Delete(ctx context.Context, name string) error {
	if u.on && (u.only == "" || u.only == name) {
		return errInterrupted
	}
	return u.Store.Delete(ctx, name)
}

// photoOf returns the name of a photo of an environment's first order.
func photoOf(t *testing.T, s *shop.Shop, env access.Environment) string {
	t.Helper()
	const text = "SELECT id FROM orders WHERE environment = '%s' AND ended_at IS NOT NULL ORDER BY ended_at, id LIMIT 1"
	photos, err := s.Store.OrderPhotos(t.Context(), rawsql.Rows(t, s.Target, fmt.Sprintf(text, env))[0][0])
	must.NoError(t, err)
	return photos[0].Name
}

// TestEraseOldPhotos_Undeletable: a file that cannot be deleted keeps neither the retention of its environment nor that
// of the other one where it is. The sweep deletes it as soon as that can be done.
func TestEraseOldPhotos_Undeletable(t *testing.T) {
	for _, env := range access.Environments {
		t.Run(string(env), func(t *testing.T) {
			storetest.EachTarget(t, func(t *testing.T, target string) {
				ctx := t.Context()
				s, u := newUndeleting(t, target)
				s.Clock.Advance(2 * time.Hour)
				u.only = photoOf(t, s, env)
				erase := func() (int, error) {
					return s.Service.EraseOldPhotos(ctx, s.Clock.Now().Add(-time.Hour), 1)
				}
				_, err := erase()
				if skipped, ok := errors.AsType[*fault.Skipped](err); !ok || skipped.Rows != 1 ||
					!errors.Is(err, errInterrupted) || !strings.Contains(err.Error(), u.only) {
					t.Fatalf("the error does not name the file: %v", err)
				}
				for n := 1; n > 0; {
					n, err = erase()
					must.NoError(t, err)
				}
				if n := files(t, s); n != 2 { // that one, and of no order
					t.Errorf("%d files are left", n)
				}
				u.on = false
				swept, err := s.Service.SweepMedia(ctx, time.Unix(0, 0))
				must.NoError(t, err)
				if n := files(t, s); n != 1 || swept.Deleted != 1 {
					t.Errorf("%d files are swept, %d are left", swept.Deleted, n)
				}
				holds(t, s, "after the retention")
			})
		})
	}
}

// TestSweepMedia_Undeletable: a file that cannot be deleted does not keep those behind it from being swept.
func TestSweepMedia_Undeletable(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s, u := newUndeleting(t, target)
		for _, row := range rawsql.Rows(t, target, "SELECT id FROM orders") {
			if _, err := s.Service.EraseOrder(ctx, access.Operator, row[0], false); !errors.Is(err, errInterrupted) {
				t.Fatalf("interrupted: %v", err)
			}
		}
		for name, err := range u.Names(ctx) { // the first one that the sweep comes to
			must.NoError(t, err)
			if p, err := s.Store.Photo(ctx, name); err == nil && p.Erased {
				u.only = name
				break
			}
		}
		swept, err := s.Service.SweepMedia(ctx, time.Unix(0, 0))
		if n := files(t, s); swept.Deleted != 8 || n != 2 {
			t.Errorf("%d files are swept, %d are left", swept.Deleted, n)
		}
		if skipped, ok := errors.AsType[*fault.Skipped](err); !ok || skipped.Rows != 1 ||
			!strings.Contains(err.Error(), u.only) {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}

// stray is a media store of files that no photo has.
type stray struct {
	media.Store
	files  int
	looks  int
	broken func(look int) bool // whether it fails to tell of a file
}

func (s *stray) Names(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for range s.files {
			if !yield(photo.NewName(photo.JPEG), nil) {
				return
			}
		}
	}
}

func (s *stray) Stat(context.Context, string) (media.Stat, error) {
	if s.looks++; s.broken(s.looks) {
		return media.Stat{}, errInterrupted
	}
	return media.Stat{ModTime: time.Now()}, nil
}

// TestSweepMedia_Unreadable: a sweep ends where the media store has failed for many files in a row, however many it
// has failed for between others, and whether there is anything to delete or not.
func TestSweepMedia_Unreadable(t *testing.T) {
	for name, test := range map[string]struct {
		broken         func(look int) bool
		looks, skipped int
		last           bool // it comes to the last file
	}{
		"NoAnswer":    {func(int) bool { return true }, 100, 99, false},
		"EverySecond": {func(look int) bool { return look%2 == 1 }, 500, 250, true},
		"NinetyNine":  {func(look int) bool { return look%100 != 0 }, 500, 495, true},
	} {
		t.Run(name, func(t *testing.T) {
			files := &stray{files: 500, broken: test.broken}
			s := shop.New(t, storetest.SQLite(t), func(c *service.Config) { files.Store, c.Media = c.Media, files })
			swept, err := s.Service.SweepMedia(t.Context(), time.Now().Add(time.Hour))
			expect.Equal(t, "looks", files.looks, test.looks)
			expect.Equal(t, "some files are judged", swept.Newer+swept.Older > 0, test.last)
			skipped, ok := errors.AsType[*fault.Skipped](err)
			if !ok {
				t.Fatalf("nothing is named: %v", err)
			}
			expect.Equal(t, "files that are passed over", skipped.Rows, test.skipped)
		})
	}
}

// unlisted is a media store that cannot be listed.
type unlisted struct{ media.Store }

func (unlisted) Names(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield("", errInterrupted) }
}

// TestSweepMedia_Unlisted: a store that cannot be listed fails the sweep.
func TestSweepMedia_Unlisted(t *testing.T) {
	s := shop.New(t, storetest.SQLite(t), func(c *service.Config) { c.Media = unlisted{c.Media} })
	if _, err := s.Service.SweepMedia(t.Context(), time.Now()); !errors.Is(err, errInterrupted) {
		t.Errorf("the sweep ended with %v", err)
	}
}

// TestSweepMedia_Erased: files of erased photos are swept however young, or however old, they are.
func TestSweepMedia_Erased(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s, u := newUndeleting(t, target)
		for _, row := range rawsql.Rows(t, target, "SELECT id FROM orders") {
			if _, err := s.Service.EraseOrder(ctx, access.Operator, row[0], false); !errors.Is(err, errInterrupted) {
				t.Fatalf("interrupted: %v", err)
			}
		}
		u.on = false
		swept, err := s.Service.SweepMedia(ctx, time.Unix(0, 0))
		must.NoError(t, err)
		if n := files(t, s); swept != (retention.Sweep{Deleted: 9}) || n != 1 {
			t.Errorf("swept %+v, %d files are left", swept, n)
		}
		holds(t, s, "after the sweep")
	})
}

// TestTrimPortalLogs removes old entries of the log of the portal: what stays is proven as before.
func TestTrimPortalLogs(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		ctx := t.Context()
		actor := access.Actor{Kind: access.ByUser, Name: "owner", Role: access.Owner, Tenant: access.Tenant{
			AccountID: s.Account.ID,
		}}
		export := func() { must.NoError(t, s.Service.RecordExport(ctx, actor, "orders.csv")) }
		check := func(heads ...audit.Head) {
			t.Helper()
			o := s.Proof()
			o.Heads = heads
			r, err := proof.Check(ctx, o)
			must.NoError(t, err)
			if !r.OK {
				t.Errorf("the check says %+v", r.Problems)
			}
		}
		export()
		old, err := s.Service.AuditHeads(ctx)
		must.NoError(t, err)
		const keep = 48 * time.Hour
		trim := func() int {
			t.Helper()
			n, err := s.Service.TrimPortalLogs(ctx, s.Clock.Now().Add(-keep), 100)
			must.NoError(t, err)
			return n
		}
		s.Clock.Advance(keep)
		export()
		if n := trim(); n != 0 { // not a day over the time
			t.Errorf("%d logs are trimmed", n)
		}
		s.Clock.Advance(25 * time.Hour)
		if n := trim(); n != 1 {
			t.Errorf("%d logs are trimmed", n)
		}
		left := rawsql.Rows(t, target, "SELECT code FROM portal_events ORDER BY seq")
		if len(left) != 2 {
			t.Errorf("left is %q", left)
		}
		check(old...)
		if n := trim(); n != 0 {
			t.Errorf("again: %d logs are trimmed", n)
		}
		events, _, err := s.Service.AuditEvents(ctx, actor, audit.Filter{Log: audit.PortalLog}, 0, 10)
		must.NoError(t, err)
		if len(events) != 2 || events[0].Code != audit.LogTrimmed || events[0].Actor.Type != audit.BySystem {
			t.Errorf("the log is %+v", events)
		}
		s.Clock.Advance(30 * 24 * time.Hour) // everything is too old, what says so too
		if n := trim(); n != 1 {
			t.Errorf("%d logs are trimmed", n)
		}
		check()
		export()
		check()
	})
}

// TestTrimPortalLogs_Others: a log that begins with an entry of the future, or cannot be trimmed, does not keep the
// others from being trimmed.
func TestTrimPortalLogs_Others(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		ctx := t.Context()
		var accounts []string
		for _, name := range []string{"first", "second", "third"} {
			a, err := s.Service.CreateAccount(ctx, access.System, name, name+"@acme.example", text.English)
			must.NoError(t, err)
			accounts = append(accounts, a.Account.ID)
		}
		export := func(accounts ...string) {
			t.Helper()
			for _, id := range accounts {
				actor := access.Actor{Kind: access.ByUser, Name: "owner", Role: access.Owner, Tenant: access.Tenant{AccountID: id}}
				must.NoError(t, s.Service.RecordExport(ctx, actor, "orders.csv"))
			}
		}
		const keep = 48 * time.Hour
		start := s.Clock.Now()
		trim := func() (int, error) { return s.Service.TrimPortalLogs(ctx, start.Add(2*keep), 100) }
		s.Clock.Set(start.AddDate(1, 0, 0))
		export(accounts[0])
		s.Clock.Set(start)
		export(accounts...)
		s.Clock.Set(start.Add(3 * keep))
		export(accounts...)
		rawsql.Exec(t, target, "UPDATE accounts SET portal_count = 1 WHERE id = '"+accounts[1]+"'")

		n, err := trim() // also that of the shop
		skipped, ok := errors.AsType[*fault.Skipped](err)
		if n != 2 || !ok || skipped.Rows != 1 || !strings.Contains(err.Error(), accounts[1]) {
			t.Errorf("%d logs are trimmed: %v", n, err)
		}
		rawsql.Exec(t, target, "UPDATE accounts SET portal_count = 2 WHERE id = '"+accounts[1]+"'")
		if n, err := trim(); n != 1 || err != nil {
			t.Errorf("again: %d logs are trimmed: %v", n, err)
		}
		must.NoError(t, s.Store.Update(ctx, func(tx *store.Tx) error {
			n, err := tx.TrimPortalLog(accounts[0], start.Add(2*keep), s.Clock.Now(), 100)
			if n != 0 {
				t.Errorf("%d entries are removed behind one of the future", n)
			}
			return err
		}))
		left := rawsql.Rows(t, target, "SELECT COUNT(*) FROM portal_events WHERE account_id = '"+accounts[0]+"'")[0][0]
		if left != "3" {
			t.Errorf("%s entries are left", left)
		}
		holds(t, s, "after the retention")
	})
}

// TestEraseOldPhotos_Unreadable: an order that cannot be read is named once and passed over, and so are those whose
// photos an open one may have.
func TestEraseOldPhotos_Unreadable(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Trade(t)
		s.Clock.Advance(2 * time.Hour)
		erase := func(skipped int, named ...string) {
			t.Helper()
			_, err := s.Service.EraseOldPhotos(t.Context(), s.Clock.Now().Add(-time.Hour), 100)
			got, ok := errors.AsType[*fault.Skipped](err)
			if ok != (skipped > 0) || !ok && err != nil || ok && got.Rows != skipped {
				t.Fatalf("%d orders should be skipped: %v", skipped, err)
			}
			for _, id := range named {
				if !strings.Contains(err.Error(), id) {
					t.Errorf("the error does not name %s: %v", id, err)
				}
			}
		}
		ids := func(where string) (all []string) {
			for _, row := range rawsql.Rows(t, target, "SELECT id FROM orders WHERE "+where+" ORDER BY id") {
				all = append(all, row[0])
			}
			return all
		}
		breakOrder := func(id string) {
			rawsql.Exec(t, target, "UPDATE orders SET creation = '{' WHERE id = '"+id+"'")
		}
		test, ended := ids("environment = 'test'"), ids("environment = 'live' AND ended_at IS NOT NULL")
		before := files(t, s)
		breakOrder(test[0])
		breakOrder(ended[0])
		erase(2, test[0], ended[0])
		if n := files(t, s); n != 4 { // of both, of the open Live order, and of no order
			t.Errorf("%d files of %d are left, want 4", n, before)
		}
		erase(0)

		open := ids("environment = 'live' AND ended_at IS NULL")[0]
		later := s.Order(t, s.Live, "")
		_, err := s.Service.CancelOrder(t.Context(), access.System, later, "withdrawn")
		must.NoError(t, err)
		s.Order(t, s.Test, order.MockFake)
		breakOrder(open)
		s.Clock.Advance(2 * time.Hour)
		erase(1, later, open)
		if n := files(t, s); n != 5 { // and of the later one, which the open one may have
			t.Errorf("%d files are left, want 5", n)
		}
		erase(0)
	})
}

func TestEraseOldPhotos(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target)
		s.Trade(t)
		erase := func() {
			t.Helper()
			_, err := s.Service.EraseOldPhotos(ctx, s.Clock.Now().Add(-time.Hour), 3)
			must.NoError(t, err)
		}
		before := files(t, s)
		erase()
		if n := files(t, s); n != before {
			t.Errorf("%d of %d files are left of young orders", n, before)
		}
		s.Clock.Advance(2 * time.Hour)
		young := s.Order(t, s.Test, order.MockFake)
		for range 10 {
			erase()
		}
		if n := files(t, s); n != 3 { // of the open Live order, of the young one, and of no order
			t.Errorf("%d files are left, want 3", n)
		}
		o, err := s.Store.OrderPhotos(ctx, young)
		must.NoError(t, err)
		if p, err := s.Store.Photo(ctx, o[0].Name); err != nil || p.Erased {
			t.Errorf("the photo of a young order: %+v, %v", p, err)
		}
		holds(t, s, "after the retention")
	})
}
