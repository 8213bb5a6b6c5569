package desk_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/api/apitest"
	"github.com/assayhq/assay/internal/api/desk"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestMoves checks every move against every state, by the assignee, another reviewer and an administrator.
func TestMoves(t *testing.T) {
	const (
		ok      = "200 "
		claimed = "409 order-claimed"
		invalid = "409 invalid-transition"
		role    = "403 forbidden"
	)
	states := map[string]func(*testing.T, *world) string{
		"queued":     func(t *testing.T, w *world) string { return w.queued(t) },
		"processing": func(t *testing.T, w *world) string { return w.claimed(t, w.Mika) },
		"update-photos": func(t *testing.T, w *world) string {
			return w.waiting(t, w.Mika)
		},
		"completed": func(t *testing.T, w *world) string { return w.moved(t, w.Mika, "complete") },
		"error":     func(t *testing.T, w *world) string { return w.moved(t, w.Mika, "fail") },
		"canceled":  func(t *testing.T, w *world) string { return w.moved(t, w.Admin, "cancel") },
		"test": func(t *testing.T, w *world) string {
			return w.create(t, &w.Customer, answerTime, order.MockUpdatePhotos)
		},
	}
	// By state and move: the assignee (or, where there is none, a reviewer), another reviewer, an administrator.
	want := map[string]map[string][3]string{
		"queued": {
			"claim": {ok, ok, ok}, "release": {invalid, invalid, invalid}, "request_photos": {invalid, invalid, invalid},
			"complete": {invalid, invalid, invalid}, "fail": {invalid, invalid, invalid}, "cancel": {role, role, ok},
		},
		"processing": {
			"claim": {ok, claimed, claimed}, "release": {ok, claimed, ok}, "request_photos": {ok, claimed, ok},
			"complete": {ok, claimed, ok}, "fail": {ok, claimed, ok}, "cancel": {role, role, ok},
		},
	}
	for _, state := range []string{"update-photos", "completed", "error", "canceled", "test"} {
		want[state] = make(map[string][3]string)
		for _, move := range []string{"claim", "release", "request_photos", "complete", "fail"} {
			want[state][move] = [3]string{invalid, invalid, invalid}
		}
		want[state]["cancel"] = [3]string{role, role, invalid}
	}
	want["update-photos"]["cancel"] = [3]string{role, role, ok}

	after := map[string]string{
		"claim": "processing", "release": "queued", "request_photos": "update-photos", "complete": "completed",
		"fail": "error", "cancel": "completed",
	}
	each(t, func(t *testing.T, w *world) {
		for state, prepare := range states {
			for move, expected := range want[state] {
				for i, who := range []*service.NewStaff{w.Mika, w.Ren, w.Admin} {
					t.Run(state+"/"+move+"/"+who.Staff.Name, func(t *testing.T) {
						id := prepare(t, w)
						before := w.get(t, w.Ren, "/orders/"+id).body
						r := w.post(t, who, "/orders/"+id+"/"+move, bodies[move])
						if got := fmt.Sprint(r.status, " ", r.text("code")); got != expected[i] {
							t.Fatalf("got %s, want %s", got, expected[i])
						}
						now := w.get(t, w.Ren, "/orders/"+id)
						if expected[i] == ok {
							if now.text("status") != after[move] || r.text("status") != after[move] {
								t.Errorf("the order is in %v, the answer says %v, want %s", now.at("status"), r.at("status"), after[move])
							}
							return
						}
						if expected[i] == invalid && r.at("details", "status") != before["status"] {
							t.Errorf("details %v of an order in %v", r.at("details"), before["status"])
						}
						if fmt.Sprint(before) != fmt.Sprint(now.body) {
							t.Errorf("a refused move changed the order from\n%v to\n%v", before, now.body)
						}
					})
				}
			}
		}
	})
}

// moved makes a Live order to which a staff user has done something final.
func (w *world) moved(t *testing.T, who *service.NewStaff, move string) string {
	t.Helper()
	id := w.claimed(t, who)
	w.post(t, who, "/orders/"+id+"/"+move, bodies[move]).want(t, http.StatusOK, "")
	return id
}

func TestRefund(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		tests := []struct {
			name, from, move string
			refund           bool
			event            string // empty: the customer gets none
		}{
			{"Authentic", "processing", "complete", false, "order-outcome"},
			{"Fail", "processing", "fail", true, ""},
			{"CancelQueued", "queued", "cancel", true, "order-outcome"},
			{"CancelProcessing", "processing", "cancel", true, "order-outcome"},
			{"CancelUpdatePhotos", "update-photos", "cancel", true, "order-outcome"},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				before := w.balance(t, &w.Customer)
				id := w.queued(t)
				switch tt.from {
				case "processing":
					w.post(t, w.Mika, "/orders/"+id+"/claim", "").want(t, http.StatusOK, "")
				case "update-photos":
					w.post(t, w.Mika, "/orders/"+id+"/claim", "").want(t, http.StatusOK, "")
					w.post(t, w.Mika, "/orders/"+id+"/request_photos", requestSerial).want(t, http.StatusOK, "")
				}
				earlier := len(w.deliveries(t, id))
				if got := w.balance(t, &w.Customer); got != before-price {
					t.Fatalf("balance %d after the charge, want %d", got, before-price)
				}
				w.post(t, w.Admin, "/orders/"+id+"/"+tt.move, bodies[tt.move]).want(t, http.StatusOK, "")
				want := before - price
				if tt.refund {
					want = before
				}
				if got := w.balance(t, &w.Customer); got != want {
					t.Errorf("balance %d, want %d", got, want)
				}
				events := w.deliveries(t, id)[earlier:]
				switch {
				case tt.event == "" && len(events) > 0:
					t.Errorf("events %v, want none", events)
				case tt.event != "" &&
					(len(events) != 1 || events[0]["webhook_event"] != tt.event || events[0]["status"] != "completed"):
					t.Errorf("events %v, want one %s", events, tt.event)
				}
				w.post(t, w.Admin, "/orders/"+id+"/cancel", "").want(t, http.StatusConflict, "invalid-transition")
				if got := w.balance(t, &w.Customer); got != want {
					t.Errorf("balance %d after a second try, want %d", got, want)
				}
			})
		}
	})
}

func TestNote(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, move := range []string{"fail", "cancel"} {
			t.Run(move, func(t *testing.T) {
				id := w.claimed(t, w.Admin)
				path := "/orders/" + id + "/" + move
				for body, code := range map[string]string{
					`{"note":5}`:     "validation-error",
					`{"reason":"x"}`: "validation-error",
					`[]`:             "validation-error",
					`{"note":"` + strings.Repeat("あ", 1001) + `"}`: "validation-error",
					`{"note":`: "bad-request",
				} {
					w.post(t, w.Admin, path, body).want(t, http.StatusBadRequest, code)
				}
				r := w.post(t, w.Admin, path, `{"note":"`+strings.Repeat("あ", 1000)+`"}`).want(t, http.StatusOK, "")
				if got := r.text("timeline", 2, "details", "note"); got != strings.Repeat("あ", 1000) {
					t.Errorf("note %q", got)
				}
			})
			t.Run(move+"WithoutNote", func(t *testing.T) {
				for _, body := range []string{"", "{}", `{"note":null}`} {
					id := w.claimed(t, w.Admin)
					r := w.post(t, w.Admin, "/orders/"+id+"/"+move, body).want(t, http.StatusOK, "")
					if _, ok := r.at("timeline", 2, "details").(map[string]any)["note"]; ok {
						t.Errorf("a note nobody wrote: %v", r.at("timeline", 2))
					}
				}
			})
		}
	})
}

// TestWaking checks that the sender of webhooks is woken for the moves that the customer is told of, and for no others.
func TestWaking(t *testing.T) {
	w := newWorldOn(t)
	id := w.queued(t)
	for _, step := range []struct {
		move   string
		wakens int64
	}{{"claim", 0}, {"claim", 0}, {"release", 0}, {"claim", 0}, {"request_photos", 1}, {"cancel", 1}, {"cancel", 0}} {
		before := w.Wakings.Load()
		w.post(t, w.Admin, "/orders/"+id+"/"+step.move, bodies[step.move])
		if got := w.Wakings.Load() - before; got != step.wakens {
			t.Errorf("%s woke the sender %d times, want %d", step.move, got, step.wakens)
		}
	}
}

// TestDocumentedAnswers provokes every answer that the document has, except those of a broken service.
func TestDocumentedAnswers(t *testing.T) {
	const limit = 20
	w := newWorld(t, storetest.Open(t, storetest.SQLite(t)), func(c *service.Config, _ *desk.Config) {
		c.Limits.TokenClaims = limit
	})
	for _, r := range w.Contract.Routes() {
		id, query := "unknown", "?locale=fr"
		try := func(who *service.NewStaff, body string) {
			w.do(t, r.Method, strings.ReplaceAll(r.Path, "{id}", id)+query, who.Token, body)
		}
		w.do(t, r.Method, r.Path, "", "")
		try(w.Admin, "")
		query = ""
		if r.Path == "/orders/next" {
			try(w.Mika, "")
			w.queued(t)
		}
		if !strings.Contains(r.Path, "{id}") {
			try(w.Mika, "")
			continue
		}
		try(w.Admin, bodyOf(r.Path))
		id = w.claimed(t, w.Mika)
		if bodyOf(r.Path) != "" {
			try(w.Admin, "{")
			try(w.Admin, `{"unknown":true}`)
		}
		try(w.Ren, bodyOf(r.Path))
		try(w.Mika, bodyOf(r.Path))
		try(w.Admin, bodyOf(r.Path)) // of a move: after it has been made
		id = w.moved(t, w.Admin, "fail")
		try(w.Admin, bodyOf(r.Path))
	}
	far := w.staff(t, "far@example.com", "Far", access.Admin)
	networks, _ := access.CheckNetworks("", []string{"203.0.113.0/24"})
	_, token, err := w.Service.RotateStaffToken(t.Context(), access.Operator, far.Staff.ID, networks)
	must.NoError(t, err)
	for _, r := range w.Contract.Routes() {
		refused := w.do(t, r.Method, r.Path, token, "").want(t, http.StatusForbidden, "forbidden")
		if refused.text("details", "address") != "127.0.0.1" {
			t.Errorf("%s: details %v", r.Path, refused.at("details"))
		}
	}
	last := w.queued(t)
	for range limit {
		w.post(t, w.Ren, "/orders/"+w.queued(t)+"/claim", "")
	}
	w.post(t, w.Ren, "/orders/next", "").want(t, http.StatusConflict, "claim-limit-reached")
	w.post(t, w.Ren, "/orders/"+last+"/claim", "").want(t, http.StatusConflict, "claim-limit-reached")
	for w.do(t, http.MethodGet, "/reasons", "", "").status != http.StatusTooManyRequests {
		continue
	}
	for _, r := range w.Contract.Routes() {
		w.do(t, r.Method, r.Path, "", "").want(t, http.StatusTooManyRequests, "rate-limit-exceeded")
	}
	missing := slices.DeleteFunc(w.Contract.Coverage().Missing, func(c apitest.Case) bool {
		return c.Status >= http.StatusInternalServerError
	})
	if len(missing) > 0 {
		t.Errorf("not seen: %v", missing)
	}
}
