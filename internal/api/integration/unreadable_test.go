package integration_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// TestUnreadableOrder checks what a customer gets who polls an order that cannot be read: an error that the log
// explains, and an end with its refund as soon as an administrator has canceled it.
func TestUnreadableOrder(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *integrationtest.World) {
		c := w.Live(t)
		before := c.Account.Balance(t, access.Live)
		id := c.CreateID(t)
		rawsql.Exec(t, w.Target, "UPDATE orders SET facts = 'xx' WHERE id = '"+id+"'")
		e := c.Get(t, "/orders/"+id).Refused(t, http.StatusInternalServerError, "internal-error")
		if log := w.Log(); !strings.Contains(log, "order "+id+" cannot be read") || !strings.Contains(log, e.RequestID) {
			t.Errorf("the log does not name order and request:\n%s", log)
		}
		w.Cancel(t, id)
		c.Get(t, "/orders/"+id).Want(t, http.StatusOK).Is(t, "status", "completed")
		if after := c.Account.Balance(t, access.Live); after != before {
			t.Errorf("the balance was %d, and is %d", before, after)
		}
	})
}
