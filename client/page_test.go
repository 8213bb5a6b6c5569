package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

// pageOf answers with a page of entries, each of them an object whose property name has the entry as value.
func pageOf(name string, entries []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		start := min((page-1)*limit, len(entries))
		data := []map[string]string{}
		for _, entry := range entries[start:min(start+limit, len(entries))] {
			data = append(data, map[string]string{name: entry})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "page": page, "limit": limit, "total": len(entries)})
	}
}

func names(n int) []string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = fmt.Sprintf("e%d", n-i) // newest first
	}
	return entries
}

func TestAllBrands(t *testing.T) {
	for _, tt := range []struct {
		entries, requests int
	}{{0, 1}, {1, 1}, {99, 1}, {100, 1}, {101, 2}, {250, 3}} {
		t.Run(fmt.Sprint(tt.entries), func(t *testing.T) {
			entries := names(tt.entries)
			s := newService(t, slices.Repeat([]http.HandlerFunc{pageOf("code", entries)}, tt.requests)...)
			var got []string
			for brand, err := range s.client().AllBrands(t.Context(), client.BrandsQuery{Search: "x"}) {
				noError(t, err)
				got = append(got, brand.Code)
			}
			equal(t, "codes", got, append([]string(nil), entries...))
			for i, r := range s.requests() {
				equal(t, "URI", r.URI, fmt.Sprintf("/v1/integrations/catalog/brands?limit=100&page=%d&search=x", i+1))
			}
			equal(t, "requests", len(s.requests()), tt.requests)
		})
	}
}

func TestAllModels(t *testing.T) {
	entries := names(5)
	s := newService(t, pageOf("code", entries), pageOf("code", entries))
	var got []string
	for model, err := range s.client().AllModels(t.Context(), client.ModelsQuery{
		BrandCode: "b", CategoryCode: "c", Page: 2, Limit: 2,
	}) {
		noError(t, err)
		got = append(got, model.Code)
	}
	equal(t, "codes from page 2", got, []string{"e3", "e2", "e1"})
	equal(t, "URI", s.requests()[1].URI, "/v1/integrations/catalog/models?brand_code=b&category_code=c&limit=2&page=3")
}

func TestAllOrders(t *testing.T) {
	t.Run("LargestPages", func(t *testing.T) {
		s := newService(t, pageOf("id", nil))
		for range s.client().AllOrders(t.Context(), client.OrdersQuery{}) {
			t.Error("an entry of an empty list")
		}
		equal(t, "URI", s.only().URI, "/v1/integrations/orders?limit=50&page=1")
	})
	t.Run("StopsWhenTheCallerDoes", func(t *testing.T) {
		s := newService(t, pageOf("id", names(9)))
		for order, err := range s.client().AllOrders(t.Context(), client.OrdersQuery{Limit: 3}) {
			noError(t, err)
			if order.ID == "e8" {
				break
			}
		}
		equal(t, "requests", len(s.requests()), 1)
	})
	t.Run("ErrorEndsIt", func(t *testing.T) {
		s := newService(t, pageOf("id", names(9)), answer(403, `{"statusCode":403,"code":"forbidden"}`))
		var ids []string
		var failures int
		for order, err := range s.client().AllOrders(t.Context(), client.OrdersQuery{Limit: 3}) {
			if err != nil {
				failures++
				if !client.IsCode(err, client.CodeForbidden) {
					t.Errorf("got %v", err)
				}
				continue
			}
			ids = append(ids, order.ID)
		}
		equal(t, "ids", ids, []string{"e9", "e8", "e7"})
		equal(t, "failures", failures, 1)
	})
	t.Run("CanRunAgain", func(t *testing.T) {
		s := newService(t, slices.Repeat([]http.HandlerFunc{pageOf("id", names(3))}, 4)...)
		orders := s.client().AllOrders(t.Context(), client.OrdersQuery{Limit: 2})
		for range 2 {
			count := 0
			for range orders {
				count++
			}
			equal(t, "orders", count, 3)
		}
	})
	for _, added := range []int{1, 2, 3, 7} {
		t.Run(fmt.Sprintf("%dAddedMeanwhile", added), func(t *testing.T) {
			// Between the first page and the second, orders are created and push the others to later pages.
			pages := []http.HandlerFunc{pageOf("id", names(6))}
			for range 7 {
				pages = append(pages, pageOf("id", names(6+added)))
			}
			s := newService(t, pages...)
			var got []string
			for order, err := range s.client().AllOrders(t.Context(), client.OrdersQuery{Limit: 2}) {
				noError(t, err)
				got = append(got, order.ID)
			}
			equal(t, "ids", got, names(6))
		})
	}
}

func TestAllAuditEvents(t *testing.T) {
	s := newService(t, pageOf("id", names(2)))
	count := 0
	for _, err := range s.client().AllAuditEvents(t.Context(), client.AuditQuery{Source: client.SourceSystem}) {
		noError(t, err)
		count++
	}
	equal(t, "events", count, 2)
	equal(t, "URI", s.only().URI, "/v1/integrations/audit/events?limit=100&page=1&source=system")
}

func TestIterationOverAStrangeServiceEnds(t *testing.T) {
	// The server ignores the page and claims a limit of 0: the iteration must still end.
	strange := answer(200, `{"data":[{"id":"a"}],"page":1,"limit":0,"total":3}`)
	s := newService(t, strange, strange, strange)
	count := 0
	for _, err := range s.client().AllOrders(t.Context(), client.OrdersQuery{}) {
		noError(t, err)
		count++
	}
	equal(t, "entries", count, 3)
}

// TestAllOrders_ByUpdate reads a list whose orders change between two pages: those move to its end, all others to
// earlier pages.
func TestAllOrders_ByUpdate(t *testing.T) {
	type change struct {
		id string
		at int // second
	}
	initial := []change{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 3}, {"e", 3}, {"f", 4}, {"g", 5}}
	for _, tt := range []struct {
		name  string
		limit int
		moved []string // one after each page
		want  []string
	}{
		{"NothingChanges", 2, nil, []string{"a", "b", "c", "d", "e", "f", "g"}},
		{"Seen", 2, []string{"a", "b"}, []string{"a", "b", "c", "d", "e", "f", "g", "a", "b"}},
		{"NotSeen", 3, []string{"d"}, []string{"a", "b", "c", "e", "f", "g", "d"}},
		{"Again", 3, []string{"a", "", "", "a"}, []string{"a", "b", "c", "d", "e", "f", "g", "a"}},
		{"OnePage", 50, []string{"a"}, []string{"a", "b", "c", "d", "e", "f", "g"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, requests := slices.Clone(initial), 0
			s := newService(t, slices.Repeat([]http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
				query := r.URL.Query()
				equal(t, "sort", query.Get("sort"), "updated")
				since, _ := time.Parse(time.RFC3339Nano, query.Get("updated_since"))
				page, _ := strconv.Atoi(query.Get("page"))
				var found []map[string]any
				for _, c := range list {
					if at := time.Unix(int64(c.at), 0).UTC(); !at.Before(since) {
						found = append(found, map[string]any{"id": c.id, "updated_at": at})
					}
				}
				start := min((page-1)*tt.limit, len(found))
				_ = json.NewEncoder(w).Encode(map[string]any{
					"data": found[start:min(start+tt.limit, len(found))], "page": page, "limit": tt.limit, "total": len(found),
				})
				if requests < len(tt.moved) && tt.moved[requests] != "" {
					list = slices.DeleteFunc(list, func(c change) bool { return c.id == tt.moved[requests] })
					list = append(list, change{tt.moved[requests], 10 + requests})
				}
				requests++
			}}, 20)...)
			var got []string
			query := client.OrdersQuery{ByUpdate: true, Limit: tt.limit}
			for order, err := range s.client().AllOrders(t.Context(), query) {
				noError(t, err)
				got = append(got, order.ID)
			}
			equal(t, "orders", got, tt.want)
		})
	}
}
