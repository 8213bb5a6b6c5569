package desk_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/api/desk"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/latebody"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// bodies are the bodies of operations that a processing order takes, by the last segment of the path.
var bodies = map[string]string{
	"request_photos": requestSerial,
	"complete":       `{"outcome":"authentic"}`,
	"fail":           `{"note":"Two different items."}`,
	"cancel":         `{"note":"Withdrawn."}`,
}

func bodyOf(path string) string { return bodies[path[strings.LastIndex(path, "/")+1:]] }

func TestRoutesAreDocumented(t *testing.T) {
	var got, want []string
	for _, r := range desk.New(desk.Config{}).Routes() {
		got = append(got, r.Method+" "+r.Path)
	}
	w := newWorldOn(t)
	for _, r := range w.Contract.Routes() {
		want = append(want, r.Method+" "+r.Path)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("routes %v, the document has %v", got, want)
	}
}

// newWorldOn returns a world on SQLite, for tests in which the database has no part.
func newWorldOn(t *testing.T) *world {
	t.Helper()
	return newWorld(t, storetest.Open(t, storetest.SQLite(t)))
}

// TestLateBody: a move does nothing when the token has ended, or has lost the role, before its body has come in.
func TestLateBody(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, path := range []string{
			"/orders/{id}/request_photos", "/orders/{id}/complete", "/orders/{id}/fail", "/orders/{id}/cancel",
		} {
			for status, meanwhile := range map[int]func(id string) error{
				http.StatusUnauthorized: func(id string) error {
					return second(w.Service.DeactivateStaff(t.Context(), access.Operator, id))
				},
				http.StatusForbidden: func(id string) error {
					return w.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.SetStaffRole(id, access.Reviewer) })
				},
			} {
				if status == http.StatusForbidden && !strings.HasSuffix(path, "/cancel") {
					continue
				}
				who := w.staff(t, uuid7.New()+"@example.com", "Late", access.Admin)
				id := w.claimed(t, w.Mika)
				header := http.Header{"Authorization": {"Bearer " + who.Token}, "Content-Type": {"application/json"}}
				answer := latebody.Post(t, w.server.Config.Handler, w.server.URL+desk.Prefix+strings.ReplaceAll(path, "{id}", id),
					bodyOf(path), header, func() { must.NoError(t, meanwhile(who.Staff.ID)) })
				o, err := w.Store.Order(t.Context(), id)
				if err != nil || o.Status != order.Processing || answer.StatusCode != status {
					t.Errorf("%s: %d, want %d; the order is %+v, %v", path, answer.StatusCode, status, o, err)
				}
			}
		}
	})
}

// TestAuthorization checks every operation against every kind of caller, on an order in processing that Mika holds.
func TestAuthorization(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		gone := w.staff(t, "gone@example.com", "Gone", access.Admin)
		must.NoError(t, second(w.Service.DeactivateStaff(t.Context(), access.Operator, gone.Staff.ID)))
		unknown := access.NewStaffToken()
		tokens := []struct{ name, token string }{
			{"none", ""},
			{"garbage", "garbage"},
			{"unknown", unknown},
			{"integration key", w.Customer.LiveSecret},
			{"deactivated", gone.Token},
			{"reviewer assigned", w.Mika.Token},
			{"reviewer not assigned", w.Ren.Token},
			{"administrator", w.Admin.Token},
		}
		owner, err := w.Store.Owner(t.Context(), w.Customer.Account.ID)
		must.NoError(t, err)
		_, portal, err := w.Service.StartSession(t.Context(), access.Portal, owner.ID, access.Origin{})
		must.NoError(t, err)
		_, staff, err := w.Service.StartSession(t.Context(), access.Desk, w.Admin.Staff.ID, access.Origin{})
		must.NoError(t, err)
		cookies := []*http.Cookie{
			{Name: "assay_portal", Value: portal}, {Name: "assay_desk", Value: portal}, {Name: "assay_desk", Value: staff},
		}
		tokens = append([]struct{ name, token string }{{"portal session", portal}, {"desk session", staff}}, tokens...)
		// What the last three get; everybody else gets 401.
		want := map[string][3]string{
			"GET /orders":                      {"200", "200", "200"},
			"POST /orders/next":                {"204", "204", "204"},
			"GET /orders/{id}":                 {"200", "200", "200"},
			"POST /orders/{id}/claim":          {"200", "409 order-claimed", "409 order-claimed"},
			"POST /orders/{id}/release":        {"200", "409 order-claimed", "200"},
			"POST /orders/{id}/request_photos": {"200", "409 order-claimed", "200"},
			"POST /orders/{id}/complete":       {"200", "409 order-claimed", "200"},
			"POST /orders/{id}/fail":           {"200", "409 order-claimed", "200"},
			"POST /orders/{id}/cancel":         {"403 forbidden", "403 forbidden", "200"},
			"GET /reasons":                     {"200", "200", "200"},
		}
		for _, route := range desk.New(desk.Config{}).Routes() {
			expected, ok := want[route.Method+" "+route.Path]
			if !ok {
				t.Errorf("the matrix does not know %s %s", route.Method, route.Path)
				continue
			}
			for _, c := range cookies { // sessions of browsers are nothing here, an administrator's neither
				path := strings.ReplaceAll(route.Path, "{id}", w.claimed(t, w.Mika))
				if r := w.do(t, route.Method, path, "", bodyOf(route.Path), c); r.status != http.StatusUnauthorized {
					t.Errorf("%s %s with the cookie %s: %d, want 401", route.Method, route.Path, c.Name, r.status)
				}
			}
			for i, caller := range tokens {
				id := ""
				if strings.Contains(route.Path, "{id}") {
					id = w.claimed(t, w.Mika)
				}
				path := strings.ReplaceAll(route.Path, "{id}", id)
				r := w.do(t, route.Method, path, caller.token, bodyOf(route.Path))
				wanted := "401 unauthorized"
				if last := i - (len(tokens) - len(expected)); last >= 0 {
					wanted = expected[last]
				}
				if got := strings.TrimSpace(fmt.Sprint(r.status, " ", r.text("code"))); got != wanted {
					t.Errorf("%s %s by %s: %s, want %s", route.Method, route.Path, caller.name, got, wanted)
				}
				switch r.status {
				case http.StatusUnauthorized:
					if r.header.Get("Www-Authenticate") != "Bearer" {
						t.Errorf("401 without its challenge: %v", r.header)
					}
				case http.StatusForbidden:
					if r.text("details", "required_role") != "admin" {
						t.Errorf("403 details %v", r.at("details"))
					}
				case http.StatusConflict:
					if r.text("details", "assignee", "id") != w.Mika.Staff.ID || r.text("details", "assignee", "name") != "Mika Sato" {
						t.Errorf("409 details %v", r.at("details"))
					}
				}
			}
		}
	})
}

func TestRoute(t *testing.T) {
	w := newWorldOn(t)
	id := w.queued(t)
	for _, request := range []string{
		"GET /", "GET /order", "POST /orders", "DELETE /orders/" + id, "PUT /orders/" + id, "GET /orders/" + id + "/claim",
		"POST /orders/" + id,
		"POST /orders/" + id + "/claim/", "POST /orders//claim", "GET /orders/", "GET /reasons/x", "POST /reasons",
		"POST /orders/" + id + "/reassign", "POST /orders/" + id + "%2Fclaim", "GET /ORDERS",
	} {
		method, path, _ := strings.Cut(request, " ")
		t.Run(request, func(t *testing.T) {
			w.do(t, method, path, w.Mika.Token, "").want(t, http.StatusNotFound, "not-found")
		})
	}
	t.Run("AuthenticationFirst", func(t *testing.T) {
		w.do(t, http.MethodGet, "/nothing", "", "").want(t, http.StatusUnauthorized, "unauthorized")
	})
}

func TestOrderNotFound(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		number := w.get(t, w.Mika, "/orders/"+w.queued(t)).text("order_number")
		for _, id := range []string{uuid7.New(), "x", "SKU-1", number, "%00", "%ff", strings.Repeat("a", 2000)} {
			w.get(t, w.Mika, "/orders/"+id).want(t, http.StatusNotFound, "order-not-found")
		}
		id := uuid7.New()
		for _, move := range []string{"claim", "release", "request_photos", "complete", "fail", "cancel"} {
			w.post(t, w.Admin, "/orders/"+id+"/"+move, bodies[move]).want(t, http.StatusNotFound, "order-not-found")
		}
		t.Run("BodyFirst", func(t *testing.T) {
			w.post(t, w.Admin, "/orders/"+id+"/complete", `{}`).want(t, http.StatusBadRequest, "validation-error")
		})
		t.Run("UpperCaseID", func(t *testing.T) {
			w.get(t, w.Mika, "/orders/"+strings.ToUpper(w.queued(t))).want(t, http.StatusOK, "")
		})
	})
}

// TestAbuseProtection tells an address with too many failures to wait, and lets valid tokens pass.
func TestAbuseProtection(t *testing.T) {
	w := newWorldOn(t)
	for range failureLimit {
		w.do(t, http.MethodGet, "/orders", "nonsense", "").want(t, http.StatusUnauthorized, "unauthorized")
	}
	r := w.do(t, http.MethodGet, "/orders", "nonsense", "").want(t, http.StatusTooManyRequests, "rate-limit-exceeded")
	if r.header.Get("Retry-After") != "60" || r.at("details", "retry_after_seconds") != 60.0 {
		t.Errorf("Retry-After %q, details %v", r.header.Get("Retry-After"), r.at("details"))
	}
	w.get(t, w.Mika, "/orders").want(t, http.StatusOK, "")
	w.Clock.Advance(ratelimit.Window)
	w.do(t, http.MethodGet, "/orders", "nonsense", "").want(t, http.StatusUnauthorized, "unauthorized")
}

// TestLocale is accepted and held by every operation that shows an order.
func TestLocale(t *testing.T) {
	w := newWorldOn(t)
	id := w.claimed(t, w.Mika)
	r := w.post(t, w.Mika, "/orders/"+id+"/request_photos?locale=ja", requestSerial).want(t, http.StatusOK, "")
	if got := r.text("photos_to_resubmit", 0, "condition_locale"); got != "不鮮明です" {
		t.Errorf("condition_locale %q", got)
	}
	if got := w.get(t, w.Mika, "/orders/"+id).text("photos_to_resubmit", 0, "condition_locale"); got != "Unclear" {
		t.Errorf("condition_locale without a locale %q", got)
	}
	for _, route := range desk.New(desk.Config{}).Routes() {
		if route.Path == "/reasons" {
			continue
		}
		path := strings.ReplaceAll(route.Path, "{id}", id) + "?locale=fr"
		w.do(t, route.Method, path, w.Admin.Token, bodyOf(route.Path)).want(t, http.StatusBadRequest, "validation-error")
	}
}

func TestStaff(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		t.Run("Create", func(t *testing.T) {
			n, err := w.Service.CreateStaff(ctx, access.Operator, "New@Example.com", "Nao", access.Reviewer)
			must.NoError(t, err)
			w.get(t, n, "/orders").want(t, http.StatusOK, "")
			found, err := w.Service.FindStaff(ctx, "new@example.com")
			must.NoError(t, err)
			if found.ID != n.Staff.ID || found.Email != "new@example.com" || found.Name != "Nao" ||
				found.Role != access.Reviewer || !found.Active() {
				t.Errorf("stored %+v", found)
			}
			if ok, err := access.VerifyPassword(t.Context(), found.PasswordHash, n.Password); !ok || err != nil {
				t.Errorf("the password is not the stored one: %v", err)
			}
			if byID, err := w.Service.FindStaff(ctx, strings.ToUpper(n.Staff.ID)); err != nil || byID.ID != n.Staff.ID {
				t.Errorf("by id %v, %v", byID, err)
			}
		})
		for name, n := range map[string]service.NewStaff{
			"EmailTaken":  {Staff: access.Staff{Email: "MIKA@example.com", Name: "M", Role: access.Reviewer}},
			"NoEmail":     {Staff: access.Staff{Email: "mika", Name: "M", Role: access.Reviewer}},
			"NoName":      {Staff: access.Staff{Email: "m@example.com", Name: " ", Role: access.Reviewer}},
			"UnknownRole": {Staff: access.Staff{Email: "m@example.com", Name: "M", Role: "owner"}},
		} {
			t.Run("Refused/"+name, func(t *testing.T) {
				if _, err := w.Service.CreateStaff(ctx, access.Operator, n.Staff.Email, n.Staff.Name, n.Staff.Role); err == nil {
					t.Error("was created")
				}
			})
		}
		t.Run("Rotate", func(t *testing.T) {
			n := w.staff(t, "rotate@example.com", "R", access.Reviewer)
			_, token, err := w.Service.RotateStaffToken(ctx, access.Operator, n.Staff.ID, nil)
			must.NoError(t, err)
			w.get(t, n, "/orders").want(t, http.StatusUnauthorized, "unauthorized")
			w.do(t, http.MethodGet, "/orders", token, "").want(t, http.StatusOK, "")
		})
		t.Run("Deactivate", func(t *testing.T) {
			n := w.staff(t, "leaving@example.com", "Leaving", access.Reviewer)
			held, done, waiting := w.claimed(t, n), w.claimed(t, n), w.waiting(t, n)
			w.post(t, n, "/orders/"+done+"/complete", `{"outcome":"unable-to-verify"}`).want(t, http.StatusOK, "")
			_, session, err := w.Service.StartSession(ctx, access.Desk, n.Staff.ID, access.Origin{})
			must.NoError(t, err)
			must.NoError(t, second(w.Service.DeactivateStaff(ctx, access.Operator, n.Staff.ID)))
			if _, err := w.Service.DeactivateStaff(ctx, access.Operator, n.Staff.ID); fault.CodeOf(err) != "staff-deactivated" {
				t.Errorf("deactivated again: %v", err)
			}
			w.get(t, n, "/orders").want(t, http.StatusUnauthorized, "unauthorized")
			if _, err := w.Service.Session(ctx, access.Desk, session); err == nil {
				t.Error("a session of a deactivated staff user goes on")
			}
			r := w.get(t, w.Mika, "/orders/"+held)
			if r.text("status") != "queued" || r.at("assignee") != nil ||
				r.text("timeline", 2, "details", "reason") != "reviewer deactivated" {
				t.Errorf("the held order: %v", r.body)
			}
			if r := w.get(t, w.Mika, "/orders/"+done); r.text("status") != "completed" ||
				r.text("assignee", "name") != "Leaving" {
				t.Errorf("the finished order: %v", r.body)
			}
			if r := w.get(t, w.Mika, "/orders/"+waiting); r.text("status") != "update-photos" {
				t.Errorf("the waiting order: %v", r.body)
			}
		})
		t.Run("Unknown", func(t *testing.T) {
			if _, err := w.Service.DeactivateStaff(ctx, access.Operator, uuid7.New()); err == nil {
				t.Error("deactivated nobody")
			}
			if _, _, err := w.Service.RotateStaffToken(ctx, access.Operator, uuid7.New(), nil); err == nil {
				t.Error("gave nobody a token")
			}
			if _, err := w.Service.FindStaff(ctx, "nobody"); err == nil {
				t.Error("found nobody")
			}
		})
		t.Run("List", func(t *testing.T) {
			all, err := w.Service.StaffUsers(ctx)
			must.NoError(t, err)
			if len(all) != 6 {
				t.Errorf("%d staff users, want 6", len(all))
			}
		})
	})
}

// second is the error of a use case that also returns something.
func second[T any](_ T, err error) error { return err }
