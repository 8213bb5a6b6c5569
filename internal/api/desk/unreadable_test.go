package desk_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestUnreadable checks that orders which cannot be read stop neither the queue nor its list, and that their own answer
// is always that of an error in the service.
func TestUnreadable(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		w := newWorld(t, storetest.Open(t, target))
		var created []string
		for range 3 {
			created = append(created, w.create(t, &w.Customer, 60, ""))
		}
		rawsql.Exec(t, target, "UPDATE orders SET facts = 'xx' WHERE id = '"+created[0]+"'")
		rawsql.Exec(t, target, "UPDATE orders SET creation = '{' WHERE id = '"+created[1]+"'")

		queued := w.get(t, w.Mika, "/orders?status=queued").want(t, http.StatusOK, "")
		if got := ids(queued); !slices.Equal(got, created) {
			t.Errorf("the list has %v, want %v", got, created)
		}
		for range 20 {
			for _, id := range created[:2] {
				w.get(t, w.Mika, "/orders/"+id).want(t, http.StatusInternalServerError, "internal-error")
			}
		}
		next := w.post(t, w.Mika, "/orders/next", "").want(t, http.StatusOK, "")
		if got := next.at("id"); got != created[2] {
			t.Errorf("the next order is %v, want %s", got, created[2])
		}
		w.post(t, w.Ren, "/orders/next", "").want(t, http.StatusNoContent, "")
	})
}

// TestUnreadableEnded checks that an administrator can end orders of which any part cannot be read, with their refund,
// that everybody can read them afterwards, and that what was there stays in the timeline.
func TestUnreadableEnded(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		w := newWorld(t, storetest.Open(t, target))
		const row = "UPDATE orders SET %s = '%s' WHERE id = '%s'"
		const events = "UPDATE order_events SET %s = '%s' WHERE order_id = '%s'"
		for _, c := range []struct{ statement, column, text string }{
			{row, "facts", "xx"},
			{row, "facts", "[]"},
			{row, "creation", "xx"},
			{row, "creation", "{}"},
			{events, "details", "xx"},
			{events, "details", "[]"},
		} {
			for move, outcome := range map[string]any{"cancel": "canceled", "fail": nil} {
				t.Run(c.column+"/"+c.text+"/"+move, func(t *testing.T) {
					before := w.balance(t, &w.Customer)
					id := w.claimed(t, w.Mika)
					rawsql.Exec(t, target, fmt.Sprintf(c.statement, c.column, c.text, id))
					w.get(t, w.Admin, "/orders/"+id).want(t, http.StatusInternalServerError, "internal-error")
					w.post(t, w.Mika, "/orders/"+id+"/fail", "{}").want(t, http.StatusInternalServerError, "internal-error")

					ended := w.post(t, w.Admin, "/orders/"+id+"/"+move, `{"note":"broken"}`).want(t, http.StatusOK, "")
					for _, r := range []*reply{ended, w.get(t, w.Mika, "/orders/"+id).want(t, http.StatusOK, "")} {
						last := len(r.list("timeline")) - 1
						lost, _ := r.at("timeline", last, "details", "unreadable").(map[string]any)
						if r.at("outcome", "code") != outcome && r.at("outcome") != outcome || len(lost) != 1 ||
							r.at("timeline", last, "details", "note") != "broken" ||
							r.at("classification", "brand_code") != "chanel" {
							t.Errorf("got %v", r.body)
						}
						for _, was := range lost {
							if was != c.text {
								t.Errorf("the timeline keeps %v", lost)
							}
						}
					}
					if after := w.balance(t, &w.Customer); after != before {
						t.Errorf("the balance was %d, and is %d", before, after)
					}

					rawsql.Exec(t, target, fmt.Sprintf(row, "creation", "xx", id)) // what is refused changes nothing
					w.post(t, w.Admin, "/orders/"+id+"/"+move, "{}").want(t, http.StatusConflict, "invalid-transition")
					w.get(t, w.Admin, "/orders/"+id).want(t, http.StatusInternalServerError, "internal-error")
				})
			}
		}
	})
}
