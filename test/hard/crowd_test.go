package hard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const canceled = "canceled"

var mockOutcomes = []string{"authentic", "fake", "unable-to-verify", "update-photos"}

// crowd are clients, reviewers, an administrator and an operator, who act at the same time until they are stopped.
type crowd struct {
	*site
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	seed    uint64
	names   atomic.Int64
}

func (s *site) newCrowd(t *testing.T, seed uint64) *crowd {
	t.Helper()
	c := &crowd{site: s, seed: seed}
	c.ctx, c.stop = context.WithCancel(context.Background())
	t.Cleanup(c.end)
	return c
}

// end stops all and waits for their last answers.
func (c *crowd) end() {
	c.stop()
	c.running.Wait()
}

// act runs an actor with random numbers of its own, until the crowd is stopped.
func (c *crowd) act(f func(random *rand.Rand)) {
	random := rand.New(rand.NewPCG(c.seed, uint64(c.names.Add(1))))
	c.running.Go(func() {
		for c.ctx.Err() == nil {
			f(random)
		}
	})
}

// mixed starts all kinds of actors, who use any node.
func (c *crowd) mixed() {
	for range 3 {
		c.creator(nil, 0, nil)
	}
	c.others()
}

// others starts all who act on orders.
func (c *crowd) others() {
	for _, token := range c.reviewers {
		c.act(func(random *rand.Rand) { c.review(token, random) })
	}
	c.act(c.submit)
	c.act(c.cancel)
}

// any returns a node that is not broken.
func (c *crowd) any(random *rand.Rand) *node {
	for {
		if n := c.nodes[random.IntN(len(c.nodes))]; len(c.nodes) == 1 || !n.broken.Load() {
			return n
		}
	}
}

// creator creates orders at a node, or at any, one after the other, or one in every pace where it is not 0.
func (c *crowd) creator(at *node, pace time.Duration, done func()) {
	name := fmt.Sprintf("c%d-%d", c.seed, c.names.Add(1))
	photos := make(map[string]string) // by API key
	n := 0
	next := time.Now()
	c.act(func(random *rand.Rand) {
		if pace > 0 {
			next = next.Add(pace)
			if late := time.Since(next); late > time.Second {
				next = time.Now()
			}
			select {
			case <-c.ctx.Done():
				return
			case <-time.After(time.Until(next)):
			}
		}
		where := at
		if where == nil {
			where = c.any(random)
		}
		n++
		key := c.live
		if n%4 == 0 {
			key = c.test
		}
		if photos[key] == "" || (pace == 0 && n%8 < 2) {
			photos[key] = c.upload(c.ctx, where, key)
		}
		if photos[key] != "" && c.create(where, key, photos[key], fmt.Sprintf("%s-%d", name, n), random) && done != nil {
			done()
		}
	})
}

// create creates an order. Where nobody knows what came of it, it is sent again with the same key.
func (c *crowd) create(at *node, key, photo, external string, random *rand.Rand) bool {
	draft := map[string]any{
		"category_code": "bags", "brand_code": "prada", "answer_time": 60, "external_id": external,
		"photos": []any{map[string]any{"url": photo, "index_code": "overall-picture"}},
	}
	if key == c.test {
		draft["mock_outcome"] = mockOutcomes[random.IntN(len(mockOutcomes))]
	}
	r := &request{
		method: http.MethodPost, path: apiPrefix + "/orders", token: key, body: jsonBody(draft), idempotencyKey: external,
	}
	c.books.creating(external)
	for c.ctx.Err() == nil {
		a := c.call(c.ctx, at, r)
		if a.done() {
			var order struct{ ID string }
			if err := json.Unmarshal(a.body, &order); err != nil {
				return false
			}
			c.books.created(external, order.ID, key == c.live, a.header.Get("Idempotency-Replayed") != "")
			return true
		}
		if !a.unknown() && a.status != http.StatusConflict { // a conflict: the first is still running
			return false
		}
		c.books.again()
		pause(c.ctx)
	}
	return false
}

// review takes an order and does something with it.
func (c *crowd) review(token string, random *rand.Rand) {
	at := c.any(random)
	id := ""
	if random.IntN(3) == 0 { // what came back with photos, or was taken without an answer
		a := c.desk(c.ctx, at, token, http.MethodGet, "/orders?assignee=me&status=processing&limit=5", nil)
		var list struct{ Data []struct{ ID string } }
		if a.done() && json.Unmarshal(a.body, &list) == nil && len(list.Data) > 0 {
			id = list.Data[random.IntN(len(list.Data))].ID
		}
	}
	if id == "" {
		a := c.desk(c.ctx, at, token, http.MethodPost, "/orders/next", nil)
		var order struct{ ID string }
		if !a.done() || a.status == http.StatusNoContent || json.Unmarshal(a.body, &order) != nil {
			pause(c.ctx)
			return
		}
		id = order.ID
		c.books.claimed(id, token)
	}
	switch random.IntN(10) {
	case 0:
		c.books.letGo(id)
		c.desk(c.ctx, at, token, http.MethodPost, "/orders/"+id+"/release", nil)
	case 1:
		c.move(at, token, id, "fail", map[string]any{"note": "for the test"}, func() { c.books.ended(id, "error") })
	case 2, 3, 4:
		c.requestPhotos(at, token, id)
	default:
		c.judge(at, token, id, random)
	}
}

// move makes a move at the desk. Where nobody knows what came of it, it is made again; done is called when it was
// acknowledged. It returns whether it may have been made without an answer.
func (c *crowd) move(at *node, token, id, name string, body any, done func()) (unsure bool) {
	c.books.letGo(id)
	for c.ctx.Err() == nil {
		a := c.desk(c.ctx, at, token, http.MethodPost, "/orders/"+id+"/"+name, body)
		switch {
		case a.done():
			done()
			return false
		case !a.unknown():
			return unsure
		}
		unsure = true
		pause(c.ctx)
	}
	return true
}

func (c *crowd) judge(at *node, token, id string, random *rand.Rand) {
	verdict := map[string]any{"outcome": mockOutcomes[random.IntN(3)]}
	if verdict["outcome"] == "fake" {
		verdict["reason_codes"], verdict["index_codes"] = []string{"logo-misaligned"}, []string{"overall-picture"}
	}
	c.move(at, token, id, "complete", verdict, func() { c.books.ended(id, verdict["outcome"].(string)) })
}

func (c *crowd) requestPhotos(at *node, token, id string) {
	body := map[string]any{"photos": []any{map[string]any{
		"index_code": "logo", "condition": "missing", "requirements": []string{"sharp-focus"}, "max_photos": 1,
	}}}
	if c.move(at, token, id, "request_photos", body, func() { c.books.update(id, func(e *entry) { e.requested++ }) }) {
		c.books.update(id, func(e *entry) { e.unsure++ })
	}
	c.books.wait(id)
}

// submit answers a photo request.
func (c *crowd) submit(random *rand.Rand) {
	id := c.books.take(&c.books.waiting, random.IntN)
	if id == "" {
		pause(c.ctx)
		return
	}
	at := c.any(random)
	photo := c.upload(c.ctx, at, c.live)
	if photo == "" {
		return
	}
	for c.ctx.Err() == nil {
		a := c.api(c.ctx, at, http.MethodPost, "/orders/"+id+"/update_photos",
			map[string]any{"photos": []any{map[string]any{"index_code": "logo", "url": photo}}})
		if a.done() {
			c.books.update(id, func(e *entry) {
				e.submitted = append(e.submitted, photo)
				c.books.rounds++
			})
			return
		}
		if !a.unknown() {
			return
		}
		pause(c.ctx)
	}
}

// cancel cancels an order, as its account or as an administrator.
func (c *crowd) cancel(random *rand.Rand) {
	select {
	case <-c.ctx.Done():
		return
	case <-time.After(100 * time.Millisecond):
	}
	id := c.books.take(&c.books.queued, func(n int) int { return n - 1 - random.IntN(min(n, 20)) })
	if id == "" {
		return
	}
	at := c.any(random)
	if random.IntN(2) == 0 {
		c.move(at, c.admin, id, "cancel", map[string]any{"note": "for the test"}, func() { c.books.ended(id, canceled) })
		return
	}
	if c.api(c.ctx, at, http.MethodPost, "/orders/"+id+"/cancel", nil).done() {
		c.books.ended(id, canceled)
	}
}

// imports imports the catalog now and then.
func (c *crowd) imports(t *testing.T, every time.Duration) {
	c.act(func(*rand.Rand) {
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(every):
		}
		c.books.mu.Lock()
		c.books.tried++
		n := c.books.tried
		c.books.mu.Unlock()
		if c.importCatalog(t, n).ExitCode == 0 {
			c.books.mu.Lock()
			c.books.imported = max(c.books.imported, n)
			c.books.mu.Unlock()
		}
	})
}

// ids returns the sorted keys of a map.
func ids[V any](m map[string]V) []string {
	var all []string
	for id := range m {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}
