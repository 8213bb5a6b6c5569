package desk_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
)

func TestList(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		slow, quick := w.create(t, &w.Customer, 1440, ""), w.create(t, &w.Customer, 60, "")
		middle := w.create(t, &w.Customer, 720, "")
		waiting := w.waiting(t, w.Mika)
		mine := w.claimed(t, w.Mika)
		fake := w.claimed(t, w.Mika)
		w.post(t, w.Mika, "/orders/"+fake+"/complete", `{"outcome":"fake","reason_codes":["logo-misaligned"]}`).
			want(t, http.StatusOK, "")
		failed := w.claimed(t, w.Ren)
		w.post(t, w.Ren, "/orders/"+failed+"/fail", "").want(t, http.StatusOK, "")
		called := w.waiting(t, w.Ren)
		w.post(t, w.Admin, "/orders/"+called+"/cancel", "").want(t, http.StatusOK, "")
		test := w.create(t, &w.Customer, 60, order.MockAuthentic)
		testWaiting := w.create(t, &w.Customer, 60, order.MockUpdatePhotos)

		sameHour := []string{quick, mine, fake, failed} // due at the same time: by id, which is the order of creation
		tests := map[string]struct {
			query string
			want  []string
			total int
		}{
			"All":              {"", append(slices.Clone(sameHour), middle, slow, waiting, called), 8},
			"Queued":           {"?status=queued", []string{quick, middle, slow}, 3},
			"Processing":       {"?status=processing", []string{mine}, 1},
			"UpdatePhotos":     {"?status=update-photos", []string{waiting}, 1},
			"Completed":        {"?status=completed", []string{fake, called}, 2},
			"Error":            {"?status=error", []string{failed}, 1},
			"Mine":             {"?assignee=me", []string{mine, fake, waiting}, 3},
			"MyProcessing":     {"?assignee=me&status=processing", []string{mine}, 1},
			"MyQueued":         {"?assignee=me&status=queued", nil, 0},
			"LiveByName":       {"?environment=live&status=queued", []string{quick, middle, slow}, 3},
			"Test":             {"?environment=test", []string{test, testWaiting}, 2},
			"TestCompleted":    {"?environment=test&status=completed", []string{test}, 1},
			"TestUpdatePhotos": {"?environment=test&status=update-photos", []string{testWaiting}, 1},
			"TestMine":         {"?environment=test&assignee=me", nil, 0},
			"FirstPage":        {"?limit=3", []string{quick, mine, fake}, 8},
			"SecondPage":       {"?limit=3&page=2", []string{failed, middle, slow}, 8},
			"LastPage":         {"?limit=3&page=3", []string{waiting, called}, 8},
			"BeyondLastPage":   {"?limit=3&page=4", nil, 8},
			"FarBeyond":        {"?limit=100&page=1000000000", nil, 8},
			"QueuedSecondPage": {"?status=queued&limit=2&page=2", []string{slow}, 3},
		}
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				r := w.get(t, w.Mika, "/orders"+tt.query).want(t, http.StatusOK, "")
				if got := ids(r); !slices.Equal(got, tt.want) {
					t.Errorf("got %v, want %v", got, tt.want)
				}
				if got := r.at("total"); got != float64(tt.total) {
					t.Errorf("total %v, want %d", got, tt.total)
				}
			})
		}
		t.Run("Defaults", func(t *testing.T) {
			r := w.get(t, w.Ren, "/orders").want(t, http.StatusOK, "")
			if r.at("page") != 1.0 || r.at("limit") != 50.0 {
				t.Errorf("page %v, limit %v, want 1 and 50", r.at("page"), r.at("limit"))
			}
		})
		t.Run("Item", func(t *testing.T) {
			r := w.get(t, w.Ren, "/orders?status=processing").want(t, http.StatusOK, "")
			if r.text("data", 0, "assignee", "id") != w.Mika.Staff.ID || r.text("data", 0, "assignee", "name") != "Mika Sato" {
				t.Errorf("assignee %v", r.at("data", 0, "assignee"))
			}
			if r.text("data", 0, "due_date") != "2025-11-15T03:00:00.000Z" ||
				r.text("data", 0, "classification", "brand_code") != "chanel" {
				t.Errorf("item %v", r.at("data", 0))
			}
			w.Clock.Advance(2 * time.Hour)
			defer w.Clock.Advance(-2 * time.Hour)
			if r := w.get(t, w.Ren, "/orders?status=processing"); r.at("data", 0, "delayed") != true {
				t.Error("an order past its due date is not delayed")
			}
		})
		for name, query := range map[string]string{
			"UnknownStatus": "status=done", "EmptyStatus": "status=", "UnknownAssignee": "assignee=mika",
			"UnknownEnvironment": "environment=prod", "PageZero": "page=0", "PageText": "page=x", "LimitZero": "limit=0",
			"LimitTooHigh": "limit=101", "UnknownLocale": "locale=fr",
		} {
			t.Run("Invalid/"+name, func(t *testing.T) {
				field, _, _ := strings.Cut(query, "=")
				if got := w.get(t, w.Mika, "/orders?"+query).want(t, http.StatusBadRequest, "validation-error").
					fields(); !slices.Equal(got, []string{field}) {
					t.Errorf("fields %v, want %s", got, field)
				}
			})
		}
		t.Run("AllProblemsAtOnce", func(t *testing.T) {
			r := w.get(t, w.Mika, "/orders?status=x&page=0&limit=0&extra=1").want(t, http.StatusBadRequest, "validation-error")
			if got := r.fields(); len(got) != 3 {
				t.Errorf("fields %v, want three", got)
			}
		})
		t.Run("Counts", func(t *testing.T) {
			counts, err := w.Service.OrderCounts(t.Context(), w.Customer.Live.Environment)
			must.NoError(t, err)
			want := map[order.Status]int64{
				order.Queued: 3, order.Processing: 1, order.UpdatePhotos: 1, order.Completed: 2, order.Failed: 1,
			}
			for s, n := range want {
				if counts[s] != n {
					t.Errorf("%d orders in %s, want %d", counts[s], s, n)
				}
			}
		})
	})
}

func TestNext(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.post(t, w.Mika, "/orders/next", "").want(t, http.StatusNoContent, "")
		w.create(t, &w.Customer, 60, order.MockAuthentic)
		w.waiting(t, w.Ren)
		slow, quick := w.create(t, &w.Customer, 1440, ""), w.create(t, &w.Customer, 60, "")
		r := w.post(t, w.Mika, "/orders/next?locale=ja", "").want(t, http.StatusOK, "")
		if r.text("id") != quick || r.text("status") != "processing" || r.text("assignee", "id") != w.Mika.Staff.ID {
			t.Errorf("got order %v in %v of %v, want %s", r.at("id"), r.at("status"), r.at("assignee"), quick)
		}
		if got := r.events(); !slices.Equal(got, []string{"created", "claimed"}) ||
			r.text("timeline", 1, "actor") != "Mika Sato" {
			t.Errorf("timeline %v", r.at("timeline"))
		}
		if r := w.post(t, w.Mika, "/orders/next", "").want(t, http.StatusOK, ""); r.text("id") != slow {
			t.Errorf("second order %v, want %s", r.at("id"), slow)
		}
		w.post(t, w.Ren, "/orders/next", "not even JSON").want(t, http.StatusNoContent, "")
	})
}

// TestNextRace lets 50 callers take from a queue of 50.
func TestNextRace(t *testing.T) {
	const n = 50
	each(t, func(t *testing.T, w *world) {
		for range n {
			w.queued(t)
		}
		taken := make(chan string, 2*n)
		var callers sync.WaitGroup
		for i := range n {
			who := []*service.NewStaff{w.Mika, w.Ren, w.Admin}[i%3]
			callers.Go(func() {
				o, err := w.Service.TakeNextOrder(t.Context(), who.Staff.Actor(access.Origin{}), order.QueueFilter{})
				if err != nil || o == nil {
					t.Errorf("next: %v, %v", o, err)
					return
				}
				if o.AssigneeID != who.Staff.ID {
					t.Errorf("the order is assigned to %s", o.AssigneeID)
				}
				taken <- o.ID
			})
		}
		callers.Wait()
		close(taken)
		seen := make(map[string]bool)
		for id := range taken {
			if seen[id] {
				t.Errorf("the order %s was given out twice", id)
			}
			seen[id] = true
		}
		if len(seen) != n {
			t.Errorf("%d different orders, want %d", len(seen), n)
		}
		w.post(t, w.Mika, "/orders/next", "").want(t, http.StatusNoContent, "")
		if r := w.get(t, w.Mika, "/orders?status=processing"); r.at("total") != float64(n) {
			t.Errorf("total %v, want %d", r.at("total"), n)
		}
	})
}

// TestClaimRace lets many reviewers claim one order.
func TestClaimRace(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.queued(t)
		const n = 12
		results := make(chan string, n)
		var callers sync.WaitGroup
		for i := range n {
			who := w.staff(t, fmt.Sprintf("r%d@example.com", i), "R", "reviewer")
			callers.Go(func() {
				r := w.post(t, who, "/orders/"+id+"/claim", "")
				results <- fmt.Sprint(r.status, r.text("code"))
			})
		}
		callers.Wait()
		close(results)
		counts := make(map[string]int)
		for r := range results {
			counts[r]++
		}
		if counts["200"] != 1 || counts["409order-claimed"] != n-1 {
			t.Errorf("got %v, want one 200 and %d order-claimed", counts, n-1)
		}
	})
}

func ids(r *reply) []string {
	var list []string
	for i := range r.list("data") {
		list = append(list, r.text("data", i, "id"))
	}
	return list
}
