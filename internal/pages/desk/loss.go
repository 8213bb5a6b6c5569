package desk

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	heldCookie = "assay_held"
	heldLife   = 7 * 24 * time.Hour
	maxHeld    = 50 // whose ids fit into a cookie
)

// loss is an order that somebody else took from the visitor.
type loss struct {
	ID, Number, Text string
}

// held returns the orders that the visitor has seen as their own, in this browser.
func (d *Desk) held(r *http.Request, who *visitor) []string {
	kept, _ := d.Site.Signed(r, heldCookie)
	if ids := strings.Fields(kept); len(ids) > 0 && ids[0] == who.User.ID { // not those of whoever used it before
		return ids[1:]
	}
	return nil
}

// hold keeps which orders the visitor has seen as their own, so that the queue can tell them when one is gone.
func (d *Desk) hold(w http.ResponseWriter, r *http.Request, who *visitor, ids []string) {
	if slices.Equal(ids, d.held(r, who)) {
		return
	}
	value := ""
	if len(ids) > 0 {
		value = who.User.ID + " " + strings.Join(ids[max(0, len(ids)-maxHeld):], " ")
	}
	d.Site.SetSigned(w, r, heldCookie, value, heldLife)
}

// seen notes that the visitor has the page of an order before them: it is theirs, or it says who took it.
func (d *Desk) seen(w http.ResponseWriter, r *http.Request, who *visitor, v *orderPage) {
	ids := slices.DeleteFunc(d.held(r, who), func(id string) bool { return id == v.ID })
	if v.AssigneeID == who.User.ID && v.EndedAt == nil {
		ids = append(ids, v.ID)
	}
	d.hold(w, r, who, ids)
}

// losses returns the orders that others took from the visitor and whose page they have not opened since.
func (d *Desk) losses(w http.ResponseWriter, r *http.Request, who *visitor, rows []rowView) ([]loss, error) {
	ids := d.held(r, who)
	own := make(map[string]bool)
	for i := range rows {
		if rows[i].AssigneeID == who.User.ID && rows[i].EndedAt == nil {
			own[rows[i].ID] = true
			if !slices.Contains(ids, rows[i].ID) {
				ids = append(ids, rows[i].ID)
			}
		}
	}
	var lost []loss
	var kept []string
	for _, id := range ids {
		if own[id] {
			kept = append(kept, id)
			continue
		}
		o, err := d.Service.WatchedOrder(r.Context(), actorOf(who), id)
		if err != nil {
			return nil, err
		}
		if o == nil {
			continue
		}
		if o.AssigneeID == who.User.ID && o.EndedAt == nil {
			kept = append(kept, id)
		} else if words := d.lossOf(r, &o.History, who); words != "" {
			kept, lost = append(kept, id), append(lost, loss{ID: id, Number: o.Number, Text: words})
		}
	}
	d.hold(w, r, who, kept)
	return lost, nil
}
