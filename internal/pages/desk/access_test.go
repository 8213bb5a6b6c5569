package desk_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

// allowed is what each kind of visitor gets for a page: its status, for an order that Mika has claimed. 303 to the page
// to sign in is "in", 303 to elsewhere is 303.
type allowed struct {
	form                         []string // sent with POST
	none, assigned, other, admin int
	openToAll                    bool
	moves                        order.Status // where the order is after an allowed POST; empty: where it was
}

const toSignIn = -1

var verdictFields = []string{"outcome", "authentic", "despite", "1", "note", "Looked at again."}

func everyone(status int) allowed {
	return allowed{none: toSignIn, assigned: status, other: status, admin: status}
}

// inTheOpen is a page that anybody may use, whoever they are.
func inTheOpen(status int) allowed {
	return allowed{openToAll: true, none: status, assigned: status, other: status, admin: status}
}

// matrix has every page of the desk. A page that is not here fails the test.
var matrix = map[string]allowed{
	"GET /desk/sign-in":                    {openToAll: true, none: 200, assigned: 303, other: 303, admin: 303},
	"POST /desk/sign-in":                   inTheOpen(422),
	"GET /desk/sign-in/code":               inTheOpen(303),
	"POST /desk/sign-in/code":              inTheOpen(303),
	"GET /desk/sign-in/passkey":            inTheOpen(303),
	"POST /desk/sign-in/passkey":           inTheOpen(422),
	"POST /desk/sign-in/passkey/challenge": inTheOpen(200),
	"GET /desk/sign-in/openid":             inTheOpen(404), // no provider is set
	"GET /desk/sign-in/openid/callback":    inTheOpen(404),
	"POST /desk/sign-out":                  inTheOpen(303),
	"GET /desk/forgot":                     inTheOpen(200),
	"POST /desk/forgot":                    inTheOpen(200),
	"GET /desk/join":                       inTheOpen(404), // there is no such link
	"POST /desk/join":                      inTheOpen(404),
	"GET /desk/reset":                      inTheOpen(404),
	"POST /desk/reset":                     inTheOpen(404),
	"GET /desk/reset/passkeys":             inTheOpen(303),
	"POST /desk/reset/passkeys":            inTheOpen(303),

	"GET /desk":        everyone(200),
	"GET /desk/rows":   everyone(200),
	"GET /desk/events": everyone(200),
	"GET /desk/find":   everyone(303),
	"POST /desk/next":  everyone(303),

	"GET /desk/signed-in": everyone(200),

	"GET /desk/orders/{id}":             everyone(200),
	"POST /desk/orders/{id}/claim":      everyone(303),
	"POST /desk/orders/{id}/release":    {none: toSignIn, assigned: 303, other: 303, admin: 303, moves: order.Queued},
	"POST /desk/orders/{id}/draft":      {form: verdictFields, none: toSignIn, assigned: 204, other: 409, admin: 204},
	"GET /desk/orders/{id}/draft/take":  everyone(303), // nobody has left one
	"POST /desk/orders/{id}/draft/take": everyone(303),
	"POST /desk/orders/{id}/verdict":    {form: verdictFields, none: toSignIn, assigned: 303, other: 303, admin: 303},
	"GET /desk/orders/{id}/verdict":     everyone(303), // there is no draft
	"GET /desk/orders/{id}/complete":    everyone(303), // there is no draft
	"POST /desk/orders/{id}/complete": {
		form: verdictFields, none: toSignIn, assigned: 303, other: 409, admin: 303, moves: order.Completed,
	},
	"GET /desk/orders/{id}/request": {none: toSignIn, assigned: 200, other: 303, admin: 200},
	"POST /desk/orders/{id}/request": {
		form: []string{"want", "serial-number"}, none: toSignIn, assigned: 303, other: 409, admin: 303,
		moves: order.UpdatePhotos,
	},
	"GET /desk/orders/{id}/request/preview": {none: toSignIn, assigned: 200, other: 303, admin: 200},
	"POST /desk/orders/{id}/request/preview": {
		form: []string{"want", "serial-number"}, none: toSignIn, assigned: 200, other: 409, admin: 200,
	},
	"GET /desk/orders/{id}/fail": {none: toSignIn, assigned: 200, other: 303, admin: 200},
	"POST /desk/orders/{id}/fail": {
		form: []string{"note", "no photo opens"}, none: toSignIn, assigned: 303, other: 409, admin: 303, moves: order.Failed,
	},
	"GET /desk/orders/{id}/cancel":    {none: toSignIn, assigned: 403, other: 403, admin: 200},
	"POST /desk/orders/{id}/cancel":   {none: toSignIn, assigned: 403, other: 403, admin: 303, moves: order.Completed},
	"GET /desk/orders/{id}/reassign":  {none: toSignIn, assigned: 403, other: 403, admin: 200},
	"POST /desk/orders/{id}/reassign": {none: toSignIn, assigned: 403, other: 403, admin: 422},

	"GET /desk/photos/{name}/facts":  everyone(200),
	"GET /desk/photos/{name}/{size}": everyone(200),

	"GET /desk/me":                       everyone(200),
	"GET /desk/me/confirm":               everyone(200),
	"POST /desk/me/confirm":              everyone(422),
	"GET /desk/me/confirm/passkey":       everyone(200),
	"POST /desk/me/confirm/passkey":      everyone(422),
	"GET /desk/me/password":              everyone(303),
	"POST /desk/me/password":             everyone(422),
	"GET /desk/me/token":                 everyone(303),
	"POST /desk/me/token":                everyone(422),
	"GET /desk/me/second-factor":         everyone(200),
	"POST /desk/me/second-factor":        everyone(400),
	"GET /desk/me/second-factor/end":     everyone(303),
	"POST /desk/me/second-factor/end":    everyone(422),
	"GET /desk/me/recovery-codes":        everyone(303),
	"POST /desk/me/recovery-codes":       everyone(422),
	"GET /desk/me/passkeys":              everyone(303),
	"POST /desk/me/passkeys":             everyone(422),
	"GET /desk/me/passkeys/new":          everyone(303),
	"POST /desk/me/passkeys/new":         everyone(422),
	"GET /desk/me/passkeys/{id}":         everyone(404), // the id is that of an order
	"GET /desk/me/passkeys/{id}/rename":  everyone(404),
	"POST /desk/me/passkeys/{id}/rename": everyone(404),
	"GET /desk/me/passkeys/{id}/remove":  everyone(404),
	"POST /desk/me/passkeys/{id}/remove": everyone(404),
	"POST /desk/me/sessions/{id}/end":    everyone(404),
	"POST /desk/me/sessions/end":         everyone(303),
}

// TestAccess checks every page × {nobody, a user of the portal, an API key, a staff token, the assignee, another
// reviewer, an administrator}.
func TestAccess(t *testing.T) {
	w := newWorld(t)
	_, key, err := w.Service.CreateKey(t.Context(), access.Operator, service.NewKey{
		Tenant: access.Tenant{AccountID: w.Account.ID, Environment: access.Live}, Name: "k", Scopes: access.AllScopes,
	})
	must.NoError(t, err)
	admin, err := w.Service.CreateStaff(t.Context(), access.Operator, "program@example.com", "Program", access.Admin)
	must.NoError(t, err)
	pagetest.Matrix(t, w.Desk.Patterns(), matrix, func(pattern, method, path string, want allowed) {
		for name, visitor := range map[string]struct {
			as     func() *pagetest.Visitor
			status int
		}{
			"Nobody":        {func() *pagetest.Visitor { return w.Visit(t) }, want.none},
			"PortalUser":    {func() *pagetest.Visitor { return w.AsCustomer(t) }, want.none},
			"APIKey":        {func() *pagetest.Visitor { return w.WithToken(t, key) }, want.none},
			"StaffToken":    {func() *pagetest.Visitor { return w.WithToken(t, admin.Token) }, want.none},
			"Assignee":      {func() *pagetest.Visitor { return w.AsStaff(t, w.Mika) }, want.assigned},
			"OtherReviewer": {func() *pagetest.Visitor { return w.AsStaff(t, w.Ren) }, want.other},
			"Administrator": {func() *pagetest.Visitor { return w.AsStaff(t, w.Aoi) }, want.admin},
		} {
			t.Run(pattern+"/"+name, func(t *testing.T) {
				id := w.claimed(t, w.Mika)
				photos, err := w.Store.OrderPhotos(t.Context(), id)
				must.NoError(t, err)
				v := visitor.as()
				v.T = t
				target := strings.NewReplacer("{id}", id, "{name}", photos[0].Name, "{size}", "thumb").Replace(path)
				p := v.Send(method, target, want.form...)
				if visitor.status == toSignIn {
					if p.Status != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/desk/sign-in") {
						t.Errorf("%d to %q, want to be asked to sign in", p.Status, p.Location)
					}
				} else if p.Status != visitor.status {
					t.Errorf("status %d to %q, want %d\n%.600s", p.Status, p.Location, visitor.status, p.Body)
				}
				moved := want.moves
				if visitor.status != http.StatusSeeOther || moved == "" || name == "OtherReviewer" {
					moved = order.Processing
				}
				if got := w.order(t, id).Status; got != moved {
					t.Errorf("the order is in %s, want %s", got, moved)
				}
			})
		}
	})
}

// TestFormsCanBeOpened checks that the address of whatever page answers a form can be opened: by the switch of
// language, and by loading the page again.
func TestFormsCanBeOpened(t *testing.T) {
	w := newWorld(t)
	noPages := []string{ // they answer with no page but that of an error
		"/desk/next", "/desk/orders/{id}/claim", "/desk/orders/{id}/release", "/desk/orders/{id}/draft",
		"/desk/sign-in/passkey/challenge", "/desk/sign-out", "/desk/me/sessions/{id}/end", "/desk/me/sessions/end",
	}
	patterns := w.Desk.Patterns()
	for _, pattern := range patterns {
		path, ok := strings.CutPrefix(pattern, "POST ")
		if ok && !slices.Contains(patterns, "GET "+path) && !slices.Contains(noPages, path) {
			t.Errorf("%s cannot be opened", path)
		}
	}
	id := w.claimed(t, w.Mika)
	v := w.AsStaff(t, w.Mika)
	v.Post("/desk/orders/"+id+"/verdict", "outcome", "authentic").Want(t, http.StatusSeeOther)
	refused := v.Post("/desk/orders/"+id+"/complete", "outcome", "authentic").Want(t, http.StatusUnprocessableEntity)
	v.Get(refused.In(t, "ja")).Want(t, http.StatusOK, "鑑定結果の確認")
}

// TestOtherSites checks that a form of another site does nothing.
func TestOtherSites(t *testing.T) {
	w := newWorld(t)
	id := w.claimed(t, w.Mika)
	v := w.AsStaff(t, w.Mika)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.Server.URL+"/desk/orders/"+id+"/release", nil)
	must.NoError(t, err)
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.AddCookie(v.Cookies["assay_desk"])
	res, err := http.DefaultClient.Do(r)
	must.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusForbidden || w.order(t, id).Status != order.Processing {
		t.Errorf("status %d, order in %s: a form of another site was obeyed", res.StatusCode, w.order(t, id).Status)
	}
}

// TestScriptsAreToldToSignIn checks that a script gets 401 instead of the page to sign in.
func TestScriptsAreToldToSignIn(t *testing.T) {
	w := newWorld(t)
	v := w.Visit(t)
	v.Headers["Sec-Fetch-Mode"] = "cors"
	v.Get("/desk/rows").Want(t, http.StatusUnauthorized)
}

func TestNavigationMarksThePage(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Mika)
	for path, want := range map[string]bool{"/desk": true, "/desk?tab=done": true, "/desk/me": false} {
		page := v.Get(path).Want(t, http.StatusOK, `<a href="/desk"`)
		if got := strings.Contains(page.Body, `<a href="/desk" aria-current="page"`); got != want {
			t.Errorf("%s: the queue is marked: %t, want %t", path, got, want)
		}
	}
}
