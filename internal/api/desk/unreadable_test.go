package desk_test

import (
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
