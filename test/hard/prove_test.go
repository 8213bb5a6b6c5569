package hard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"
)

// settle is the time for the last events: on PostgreSQL the leases of a killed server have to expire first.
const settle = 2 * time.Minute

// proof is what an installation was found to be.
type proof struct {
	orders, events int
	lost, twice    int // acknowledged effects that are gone, effects that were done more than once
	missing        int // events
}

func (p *proof) String() string {
	return fmt.Sprintf("lost %d, done twice %d, events missing %d", p.lost, p.twice, p.missing)
}

type listed struct {
	ID         string
	ExternalID string `json:"external_id"`
	Status     string
	Outcome    string
	key        string
}

// prove holds the installation against the books, through its public interface, and runs `assay check --deep`. A node
// has to run, and nobody may act.
func (s *site) prove(t *testing.T) *proof {
	t.Helper()
	p := new(proof)
	all := s.list(t)
	p.orders = len(all)
	s.proveOrders(t, p, all)
	s.proveEvents(t, p, all)
	s.provePhotos(t, p)
	s.proveCatalog(t)
	var check struct {
		OK       bool
		Problems []json.RawMessage
	}
	result := s.Run(t, "check", "--deep", "--json")
	if err := json.Unmarshal([]byte(result.Stdout), &check); err != nil || !check.OK {
		t.Errorf("assay check --deep: %v, %v\n%s\n%s", err, check.OK, result.Stdout, result.Stderr)
	}
	for _, what := range s.books.twice {
		t.Error(what)
		p.twice++
	}
	if len(s.books.orders) == 0 || p.events == 0 {
		t.Errorf("nothing was proven: %d orders acknowledged, %d events", len(s.books.orders), p.events)
	}
	s.answers.report(t)
	s.receiver.Report(t)
	return p
}

// read reads from the first node, and waits where it is not ready yet.
func (s *site) read(t *testing.T, token, path string, to any) {
	t.Helper()
	var a *answer
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		a = s.nodes[0].send(t.Context(), &request{method: http.MethodGet, path: path, token: token})
		if a.done() {
			a.decode(t, to)
			return
		}
	}
	t.Fatalf("GET %s: %s", path, a)
}

// list returns all orders by id.
func (s *site) list(t *testing.T) map[string]*listed {
	t.Helper()
	all := make(map[string]*listed)
	for _, key := range []string{s.live, s.test} {
		for page := 1; ; page++ {
			var list struct{ Data []*listed }
			s.read(t, key, fmt.Sprintf("%s/orders?limit=50&page=%d", apiPrefix, page), &list)
			for _, o := range list.Data {
				o.key = key
				all[o.ID] = o
			}
			if len(list.Data) < 50 {
				break
			}
		}
	}
	return all
}

// proveOrders checks creations, outcomes, submissions and money.
func (s *site) proveOrders(t *testing.T, p *proof, all map[string]*listed) {
	t.Helper()
	entries, external, _ := s.books.snapshot()
	byExternal := make(map[string]string)
	left := maps.Clone(s.credits)
	for id, o := range all {
		if other, there := byExternal[o.ExternalID]; there {
			t.Errorf("%s became two orders: %s, %s", o.ExternalID, other, id)
			p.twice++
		}
		byExternal[o.ExternalID] = id
		if told := external[o.ExternalID]; told != "" && told != id {
			t.Errorf("%s is order %s, acknowledged was %s", o.ExternalID, id, told)
			p.twice++
		}
		if o.Status != "error" && o.Outcome != canceled {
			left[o.key] -= orderPrice
		}
	}
	for _, id := range ids(entries) {
		e, o := entries[id], all[id]
		switch {
		case o == nil:
			t.Errorf("the acknowledged order %s is gone", id)
			p.lost++
			continue
		case e.outcome == "error" && o.Status != "error", e.outcome != "" && e.outcome != "error" && o.Outcome != e.outcome:
			t.Errorf("order %s was acknowledged to be %s, it is %s %s", id, e.outcome, o.Status, o.Outcome)
			p.lost++
		}
		if len(e.submitted) > 0 {
			s.proveSubmissions(t, p, id, e.submitted)
		}
	}
	for key, want := range left {
		if got := s.balance(t, key); got != want {
			t.Errorf("the balance is %d, the orders leave %d", got, want)
			p.twice++
		}
	}
}

func (s *site) proveSubmissions(t *testing.T, p *proof, id string, submitted []string) {
	t.Helper()
	var order struct {
		Photos []struct {
			URL   string
			Round int
		}
	}
	s.read(t, s.admin, deskPrefix+"/orders/"+id, &order)
	there := make(map[string]bool)
	for _, photo := range order.Photos {
		there[photo.URL] = photo.Round > 0
	}
	for _, url := range submitted {
		if !there[url] {
			t.Errorf("order %s has not the acknowledged photo %s", id, url)
			p.lost++
		}
	}
}

// proveEvents checks that every order has the events of its moves, each once in the feed, and that each has arrived.
func (s *site) proveEvents(t *testing.T, p *proof, all map[string]*listed) {
	t.Helper()
	type event struct {
		Cursor      string
		Event       string   `json:"webhook_event"`
		DeliveryIDs []string `json:"delivery_ids"`
		Body        struct{ ID string }
	}
	outcomes, requests := make(map[string]int), make(map[string]int)
	pending := make(map[string]bool)
	for _, key := range []string{s.live, s.test} {
		for after := ""; ; {
			var feed struct {
				Data []event
				Next string `json:"next_cursor"`
			}
			query := "?limit=100"
			if after != "" {
				query += "&after=" + url.QueryEscape(after)
			}
			s.read(t, key, apiPrefix+"/events"+query, &feed)
			for _, e := range feed.Data {
				p.events++
				if e.Event == "order-outcome" {
					outcomes[e.Body.ID]++
				} else {
					requests[e.Body.ID]++
				}
				if len(e.DeliveryIDs) != 1 {
					t.Errorf("the event %s of order %s has the deliveries %v", e.Event, e.Body.ID, e.DeliveryIDs)
					p.missing++
				}
				for _, id := range e.DeliveryIDs {
					pending[id] = true
				}
			}
			if after = feed.Next; len(feed.Data) == 0 {
				break
			}
		}
	}
	for id, o := range all {
		want := 0
		if o.Status == "completed" {
			want = 1
		}
		got := outcomes[id]
		p.missing += max(0, want-got)
		p.twice += max(0, got-want)
		if got != want {
			t.Errorf("order %s is %s %s and has %d outcome events", id, o.Status, o.Outcome, got)
		}
		if e := s.books.orders[id]; e != nil && o.key == s.live &&
			(requests[id] < e.requested || requests[id] > e.requested+e.unsure) {
			t.Errorf("order %s has %d photo request events, %d requests were acknowledged, %d had no answer", id,
				requests[id], e.requested, e.unsure)
			p.missing += max(0, e.requested-requests[id])
			p.twice += max(0, requests[id]-e.requested-e.unsure)
		}
	}
	for deadline := time.Now().Add(settle); len(pending) > 0; time.Sleep(20 * time.Millisecond) {
		for id := range pending {
			if s.receiver.Acknowledged(id) {
				delete(pending, id)
			}
		}
		if time.Now().After(deadline) {
			t.Errorf("%d of %d deliveries have not arrived, for example %s", len(pending), p.events, ids(pending)[0])
			p.missing += len(pending)
			return
		}
	}
	for id := range all {
		if n := len(s.receiver.Of(id, "order-outcome")); n > 1 {
			t.Errorf("the receiver got %d different outcome deliveries of order %s", n, id)
			p.twice++
		}
	}
}

// provePhotos reads acknowledged uploads back.
func (s *site) provePhotos(t *testing.T, p *proof) {
	t.Helper()
	_, _, photos := s.books.snapshot()
	for i, u := range ids(photos) {
		if i == 200 {
			break
		}
		a := s.nodes[0].send(t.Context(), &request{method: http.MethodGet, path: "/media/" + path.Base(u)})
		if !a.done() || !bytes.Equal(a.body, photos[u]) {
			t.Errorf("the photo %s is %d bytes with status %d, uploaded were %d", u, len(a.body), a.status, len(photos[u]))
			p.lost++
		}
	}
}

// proveCatalog checks that the last acknowledged import, or a later one, is what is served.
func (s *site) proveCatalog(t *testing.T) {
	t.Helper()
	var catalog struct{ Data []struct{ Code, Name string } }
	s.read(t, s.live, apiPrefix+"/catalog/categories", &catalog)
	for _, c := range catalog.Data {
		if c.Code != "bags" {
			continue
		}
		n := -1
		if _, err := fmt.Sscanf(strings.TrimPrefix(c.Name, "Bags "), "%d", &n); err != nil || n < s.books.imported ||
			n > s.books.tried {
			t.Errorf("the catalog is %q, imported were numbers up to %d of %d", c.Name, s.books.imported, s.books.tried)
		}
	}
}
