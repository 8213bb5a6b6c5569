package integration_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestEvents reads what happened to the orders of a key.
func TestEvents(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		t.Run("None", func(t *testing.T) {
			c := account.Test(t)
			r := c.Get(t, "/events").Want(t, 200).Is(t, "data", []any{})
			next := r.Text(t, "next_cursor")
			c.Get(t, "/events?after="+next).Want(t, 200).Is(t, "", obj{"data": []any{}, "next_cursor": next})
		})
		t.Run("AsDelivered", func(t *testing.T) {
			c := account.Test(t)
			subscribe(t, c, "order-outcome")
			subscribe(t, c, "order-outcome", "update-photos")
			id := c.CreateID(t, obj{"mock_outcome": "fake", "external_id": "shop <1>"})
			sent := w.Deliveries(t, id)
			r := c.Get(t, "/events")
			r.Is(t, "data.0.webhook_event", "order-outcome").Is(t, "data.0.created_at", "2026-03-02T01:00:00.000Z").
				Is(t, "next_cursor", r.Text(t, "data.0.cursor")).Lacks(t, "data.1")
			ids := []string{sent[0].ID, sent[1].ID}
			slices.Sort(ids)
			if got := r.At(t, "data.0.delivery_ids"); fmt.Sprint(got) != fmt.Sprint(ids) {
				t.Errorf("the deliveries are %v, not %v", got, ids)
			}
			var body map[string]any
			decode(t, []byte(sent[0].Body), &body)
			delete(body, "delivery_id")
			r.Is(t, "data.0.body", body)
		})
		t.Run("WithoutEndpoints", func(t *testing.T) {
			c := account.Test(t)
			id := c.CreateID(t, obj{"mock_outcome": "update-photos"})
			c.Get(t, "/events").Is(t, "data.0.webhook_event", "update-photos").Is(t, "data.0.delivery_ids", []any{}).
				Is(t, "data.0.body.id", id).Is(t, "data.0.body.status", "update-photos").Lacks(t, "data.0.body.delivery_id")
		})
		t.Run("Live", func(t *testing.T) {
			c := account.Live(t)
			id := c.CreateID(t)
			c.Get(t, "/events").Is(t, "data", []any{})
			w.Claim(t, id)
			w.RequestPhotos(t, id)
			c.Get(t, "/events").Is(t, "data.0.body.id", id).Is(t, "data.0.webhook_event", "update-photos")
			canceled := c.CreateID(t)
			c.Post(t, "/orders/"+canceled+"/cancel", nil).Want(t, 200)
			failed := c.CreateID(t)
			w.Fail(t, failed) // sends nothing
			c.Get(t, "/events").Is(t, "data.1.body.id", canceled).Is(t, "data.1.body.outcome", "canceled").Lacks(t, "data.2")
		})
		t.Run("Pages", func(t *testing.T) {
			c := account.Test(t)
			var want []string
			for range 5 {
				want = append(want, c.CreateID(t))
			}
			var got []string
			after := ""
			for range 4 {
				r := c.Get(t, "/events?limit=2"+after).Want(t, 200)
				got = append(got, r.List(t, "data", "body.id")...)
				after = "&after=" + r.Text(t, "next_cursor")
			}
			if !slices.Equal(got, want) {
				t.Errorf("the events are of %q, not %q", got, want)
			}
		})
		t.Run("Parameters", func(t *testing.T) {
			c := account.Test(t)
			for _, after := range []string{"x", "-1", "01", "1.0", "99999999999999999999", "%20"} {
				c.Get(t, "/events?after="+after).Invalid(t, "after format")
			}
			c.Get(t, "/events?after=").Invalid(t, "after empty")
			c.Get(t, "/events?after=1&after=2&limit=0").Invalid(t, "after duplicate", "limit min")
			c.Get(t, "/events?limit=101").Invalid(t, "limit max")
			c.Get(t, "/events?limit=100").Want(t, 200)
		})
		t.Run("OfThisKeyOnly", func(t *testing.T) {
			c := account.Test(t)
			c.CreateID(t)
			for _, other := range []*client{account.Test(t), account.Live(t), w.Test(t)} {
				other.Get(t, "/events").Is(t, "data", []any{})
			}
		})
		t.Run("NeverHandedOut", func(t *testing.T) { // by a database that was restored since
			c := account.Test(t)
			c.CreateID(t)
			c.Get(t, "/events?after=999999").Refused(t, 410, "cursor-expired").Is(t, "details.oldest_cursor", "0").
				Is(t, "message", "This cursor was not given out by this database, which may have been restored since: "+
					"go on from oldest_cursor.")
		})
	})
}

// TestEvents_Retention checks what happens with cursors when events are deleted.
func TestEvents_Retention(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		for range 3 {
			c.CreateID(t)
		}
		old := c.Get(t, "/events").List(t, "data", "cursor")
		w.Clock.Advance(time.Hour)
		kept := c.CreateID(t)
		forget := func(t *testing.T, limit int) {
			t.Helper()
			for {
				n, err := w.Service.DeleteOldEvents(t.Context(), w.Clock.Now(), limit)
				must.NoError(t, err)
				if n == 0 {
					return
				}
			}
		}
		forget(t, 2)
		t.Run("Expired", func(t *testing.T) {
			for _, after := range append([]string{"0"}, old[:2]...) {
				oldest := c.Get(t, "/events?after="+after).Refused(t, 410, "cursor-expired").Text(t, "details.oldest_cursor")
				c.Get(t, "/events?after="+oldest).Want(t, 200).Is(t, "data.0.body.id", kept)
			}
		})
		t.Run("OldestKept", func(t *testing.T) { c.Get(t, "/events").Is(t, "data.0.body.id", kept).Lacks(t, "data.1") })
		t.Run("NothingMissed", func(t *testing.T) { // the event of the cursor is gone, those after it are not
			c.Get(t, "/events?after="+old[2]).Want(t, 200).Is(t, "data.0.body.id", kept)
		})
		t.Run("QuietKeysDoNotExpire", func(t *testing.T) {
			last := c.Get(t, "/events").Text(t, "next_cursor")
			w.Clock.Advance(1000 * time.Hour)
			forget(t, 100)
			c.Get(t, "/events?after="+last).Want(t, 200).Is(t, "", obj{"data": []any{}, "next_cursor": last})
			c.Get(t, "/events").Is(t, "", obj{"data": []any{}, "next_cursor": last})
			c.CreateID(t)
			c.Get(t, "/events?after="+last).Want(t, 200).Lacks(t, "data.1").At(t, "data.0.cursor")
		})
	})
}

// TestEvents_Age checks that what is older than promised is gone, whether or not its rows are.
func TestEvents_Age(t *testing.T) {
	integrationtest.EachWith(t, integrationtest.Options{EventAge: time.Hour}, func(t *testing.T, w *world) {
		c := w.Test(t)
		for range 3 {
			c.CreateID(t)
		}
		old := c.Get(t, "/events").List(t, "data", "cursor")
		w.Clock.Advance(time.Hour + time.Second)
		c.Get(t, "/events").Is(t, "", obj{"data": []any{}, "next_cursor": old[2]})
		kept := c.CreateID(t)
		for _, after := range append([]string{"0"}, old[:2]...) {
			c.Get(t, "/events?after="+after).Refused(t, 410, "cursor-expired").Is(t, "details.oldest_cursor", old[2])
		}
		c.Get(t, "/events?after="+old[2]).Want(t, 200).Is(t, "data.0.body.id", kept).Lacks(t, "data.1")
		c.Get(t, "/events").Is(t, "data.0.body.id", kept).Lacks(t, "data.1")
	})
}

// TestEvents_Race reads along while orders of one account end at the same time, with several keys and by reviewers: no
// event appears behind a cursor that was handed out.
func TestEvents_Race(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		const writers, each = 6, 8
		reader := account.Live(t)
		ids := make([][]string, writers)
		for i := range ids {
			for range each {
				ids[i] = append(ids[i], reader.CreateID(t))
			}
		}
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				for _, id := range ids[i] {
					if i%2 == 0 {
						reader.Post(t, "/orders/"+id+"/cancel", nil).Want(t, 200)
						continue
					}
					w.Claim(t, id)
					w.Complete(t, id, order.Verdict{Outcome: order.UnableToVerify})
				}
			})
		}
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		seen := make(map[string]bool)
		after, last := "", 0
		for ended := false; ; {
			select {
			case <-done:
				ended = true
			default:
			}
			r := reader.Get(t, "/events?limit=3"+after).Want(t, 200)
			var page struct {
				Data []struct {
					Cursor string
					Body   struct{ ID string }
				}
			}
			if err := json.Unmarshal(r.Body, &page); err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Data {
				n, err := strconv.Atoi(e.Cursor)
				if err != nil || n <= last || seen[e.Body.ID] {
					t.Fatalf("cursor %s after %d, of order %s", e.Cursor, last, e.Body.ID)
				}
				last, seen[e.Body.ID] = n, true
			}
			after = "&after=" + r.Text(t, "next_cursor")
			if ended && len(page.Data) == 0 {
				break
			}
		}
		if len(seen) != writers*each {
			t.Errorf("%d of %d events were seen", len(seen), writers*each)
		}
	})
}
