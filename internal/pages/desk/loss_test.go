package desk_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// TestLosses_NoActivity checks that a queue which brings itself up to date keeps no claim alive: not of an order that
// it shows, nor of one that it does not.
func TestLosses_NoActivity(t *testing.T) {
	w := newWorld(t)
	id := w.claimed(t, w.Mika)
	v := w.AsStaff(t, w.Mika)
	v.Get("/desk/orders/"+id).Want(t, http.StatusOK)
	claimed := w.Clock.Now()
	for range 3 {
		w.Clock.Advance(40 * time.Minute)
		for _, query := range []string{"", "?tab=photos", "?tab=done", "?brand=gucci"} {
			v.Get("/desk/rows"+query).Want(t, http.StatusOK).Lacks(t, "lost-order")
		}
	}
	n, err := w.Service.ExpireClaims(t.Context(), claimed, 10)
	must.NoError(t, err)
	if n != 1 {
		t.Fatalf("%d claims have expired", n)
	}
	v.Get("/desk/rows?tab=done").Want(t, http.StatusOK, "Your claim on this order expired")
	v.Get("/desk/orders/"+id+"?lang=ja").Want(t, http.StatusOK, "担当の期限切れ").Lacks(t, "claim expired")
}

// TestLosses_Unreadable checks that one order which cannot be read leaves its reviewer the queue, with what there is to
// tell of the others.
func TestLosses_Unreadable(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Mika)
	var ids []string
	for range 3 {
		ids = append(ids, w.claimed(t, w.Mika))
		v.Get("/desk/orders/"+ids[len(ids)-1]).Want(t, http.StatusOK)
	}
	rawsql.Exec(t, w.Target, "UPDATE orders SET facts = 'xx' WHERE id = '"+ids[0]+"'")
	rawsql.Exec(t, w.Target, "UPDATE orders SET creation = '{' WHERE id = '"+ids[1]+"'")
	w.AsStaff(t, w.Aoi).Submit("/desk/orders/"+ids[2]+"/release").Want(t, http.StatusOK)
	for _, tab := range []string{"queue", "mine", "photos", "done"} {
		v.Get("/desk?tab="+tab).Want(t, http.StatusOK, "Aoi Mori returned this order to the queue.")
	}
}

// TestLosses_PhotoRequest checks what a reviewer reads whose photo request nobody answered, and one whose order an
// administrator took over by a photo request.
func TestLosses_PhotoRequest(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Mika)
	unanswered, taken := w.claimed(t, w.Mika), w.claimed(t, w.Mika)
	v.Get("/desk").Want(t, http.StatusOK).Lacks(t, "lost-order")
	for id, who := range map[string]*access.Staff{unanswered: w.Mika, taken: w.Aoi} {
		w.AsStaff(t, who).Submit("/desk/orders/"+id+"/request", "want", "serial-number").Want(t, http.StatusOK)
	}
	const request, end = "Aoi Mori took over this order and requested photos.", "closed as unable to verify"
	for _, path := range []string{"/desk", "/desk/orders/" + taken} {
		v.Get(path).Want(t, http.StatusOK, request).Lacks(t, end)
	}
	w.AsStaff(t, w.Aoi).Get("/desk/orders/"+taken).Want(t, http.StatusOK).Lacks(t, "lost-order")

	w.Clock.Advance(time.Hour)
	n, err := w.Service.ExpirePhotoRequests(t.Context(), w.Clock.Now(), 10)
	must.NoError(t, err)
	if n != 2 {
		t.Fatalf("%d photo requests have expired", n)
	}
	for _, path := range []string{"/desk", "/desk/orders/" + unanswered} {
		v.Get(path).Want(t, http.StatusOK, end).Lacks(t, "Your claim on this order expired")
	}
	v.Get("/desk/orders/"+taken).Want(t, http.StatusOK, request).Lacks(t, end)
	v.Get("/desk").Want(t, http.StatusOK).Lacks(t, "lost-order") // they have seen both
}
