package admin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/admin"
	"github.com/assayhq/assay/internal/pages/desk"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// answer is what an administrator gets, and the form to send.
type answer struct {
	status int
	form   []string
}

// answers is what an administrator gets for each page: the status, and the form that is sent. Everybody else gets the
// same everywhere: nobody and users of the portal are asked to sign in, reviewers are refused.
var answers = map[string]answer{
	"GET /desk/admin":            {303, nil},
	"GET /desk/admin/statistics": {200, nil},

	"GET /desk/admin/accounts":                                       {200, nil},
	"POST /desk/admin/accounts":                                      {422, nil},
	"GET /desk/admin/accounts/new":                                   {200, nil},
	"GET /desk/admin/accounts/{account}":                             {200, nil},
	"GET /desk/admin/accounts/{account}/users/{user}/{action}":       {303, nil},
	"POST /desk/admin/accounts/{account}/users/{user}/password":      {200, nil},
	"POST /desk/admin/accounts/{account}/users/{user}/second-factor": {303, nil},
	"GET /desk/admin/accounts/{account}/keys":                        {200, nil},
	"POST /desk/admin/accounts/{account}/keys":                       {422, nil},
	"GET /desk/admin/accounts/{account}/keys/{key}":                  {200, nil},
	"GET /desk/admin/accounts/{account}/keys/{key}/{action}":         {303, nil},
	"POST /desk/admin/accounts/{account}/keys/{key}/name":            {422, nil},
	"POST /desk/admin/accounts/{account}/keys/{key}/limits":          {303, nil},
	"POST /desk/admin/accounts/{account}/keys/{key}/networks":        {303, nil},
	"POST /desk/admin/accounts/{account}/keys/{key}/revoke":          {303, nil},
	"GET /desk/admin/accounts/{account}/credits/{environment}":       {200, nil},
	"POST /desk/admin/accounts/{account}/credits/{environment}":      {422, nil},
	"GET /desk/admin/accounts/{account}/orders/{environment}":        {200, nil},

	"GET /desk/admin/catalog":                              {200, nil},
	"GET /desk/admin/catalog/export":                       {200, nil},
	"GET /desk/admin/catalog/import":                       {200, nil},
	"POST /desk/admin/catalog/import":                      {400, nil},
	"GET /desk/admin/catalog/drafts/{draft}":               {200, nil},
	"POST /desk/admin/catalog/drafts/{draft}":              {303, nil},
	"GET /desk/admin/catalog/drafts/{draft}/drop":          {303, nil},
	"POST /desk/admin/catalog/drafts/{draft}/drop":         {303, nil},
	"GET /desk/admin/catalog/answer-times/{code}/{action}": {303, nil},
	"POST /desk/admin/catalog/answer-times/{code}/pause":   {303, nil},
	"POST /desk/admin/catalog/answer-times/{code}/resume":  {303, nil},

	"GET /desk/admin/deliveries":                       {200, nil},
	"GET /desk/admin/deliveries/{delivery}":            {200, nil},
	"GET /desk/admin/deliveries/{delivery}/redeliver":  {303, nil},
	"POST /desk/admin/deliveries/{delivery}/redeliver": {303, nil},
	"POST /desk/admin/deliveries/redeliver":            {303, []string{"since", "24h"}},

	"GET /desk/admin/certificates":                      {200, nil},
	"GET /desk/admin/certificates/{certificate}":        {200, nil},
	"GET /desk/admin/certificates/{certificate}/revoke": {303, nil},
	"POST /desk/admin/certificates/{certificate}/revoke": {
		303, []string{"reason", "the item was exchanged", "sure", "yes"},
	},

	"GET /desk/admin/staff":                                  {200, nil},
	"POST /desk/admin/staff":                                 {422, nil},
	"POST /desk/admin/staff/invitations":                     {422, nil},
	"GET /desk/admin/staff/invitations":                      {303, nil},
	"POST /desk/admin/staff/invitations/{invitation}/again":  {200, nil},
	"GET /desk/admin/staff/invitations/{invitation}/again":   {303, nil},
	"POST /desk/admin/staff/invitations/{invitation}/delete": {303, nil},
	"GET /desk/admin/staff/{staff}":                          {200, nil},
	"GET /desk/admin/staff/{staff}/{action}":                 {303, nil},
	"POST /desk/admin/staff/{staff}/role":                    {303, []string{"role", "admin"}},
	"POST /desk/admin/staff/{staff}/deactivate":              {303, nil},
	"POST /desk/admin/staff/{staff}/reactivate":              {303, nil}, // they are active: it is said on their page
	"POST /desk/admin/staff/{staff}/token/revoke":            {303, nil},
	"GET /desk/admin/staff/{staff}/token/revoke":             {303, nil},
	"POST /desk/admin/staff/{staff}/token":                   {200, nil},
	"POST /desk/admin/staff/{staff}/password":                {200, nil},
	"POST /desk/admin/staff/{staff}/second-factor":           {303, nil},

	"GET /desk/admin/approvals":                      {200, nil},
	"GET /desk/admin/approvals/{approval}/{action}":  {303, nil},
	"POST /desk/admin/approvals/{approval}/approve":  {404, nil}, // there is no such request
	"POST /desk/admin/approvals/{approval}/refuse":   {404, nil},
	"POST /desk/admin/approvals/{approval}/withdraw": {404, nil},

	"GET /desk/admin/log":     {200, nil},
	"GET /desk/admin/log.csv": {200, nil},

	"GET /desk/admin/system": {200, nil},
}

// TestAccess checks every page × {nobody, a user of the portal, an API key, a staff token, a reviewer, an
// administrator}, and that a refused form has changed nothing.
func TestAccess(t *testing.T) {
	w := newWorld(t)
	_, key, err := w.newKey(t)
	must.NoError(t, err)
	admin, err := w.Service.CreateStaff(t.Context(), access.Operator, "program@example.com", "Program", access.Admin)
	must.NoError(t, err)
	pagetest.Matrix(t, w.Admin.Patterns(), answers, func(pattern, method, path string, want answer) {
		target := w.fill(t, path)
		send := func(t *testing.T, v *pagetest.Visitor) *pagetest.Page {
			v.T = t
			return v.Send(method, target, want.form...)
		}
		t.Run(pattern, func(t *testing.T) {
			before := w.state(t)
			for name, v := range map[string]*pagetest.Visitor{
				"Nobody": w.Visit(t), "PortalUser": w.AsCustomer(t), "APIKey": w.WithToken(t, key),
				"StaffToken": w.WithToken(t, admin.Token),
			} {
				if p := send(t, v); p.Status != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/desk/sign-in") {
					t.Errorf("%s: %d to %q, want to be asked to sign in", name, p.Status, p.Location)
				}
			}
			if p := send(t, w.AsStaff(t, w.Mika)); p.Status != http.StatusForbidden {
				t.Errorf("a reviewer: status %d, want 403", p.Status)
			}
			if after := w.state(t); after != before {
				t.Errorf("somebody who may not has changed something:\n%s\n%s", before, after)
			}
			if p := send(t, w.AsStaff(t, w.Aoi)); p.Status != want.status || strings.HasPrefix(p.Location, "/desk/sign-in") {
				t.Errorf("an administrator: status %d to %q, want %d\n%.1500s", p.Status, p.Location, want.status, p.Body)
			}
		})
	})
}

// fill puts things that exist into an address, each time new ones.
func (w *world) fill(t *testing.T, path string) string {
	t.Helper()
	draft := func() string {
		p := upload(w.AsStaff(t, w.Aoi), "c.yaml",
			strings.Replace(string(demo.Catalog), "Chanel", "Chanel "+uuid7.New()[30:], 1))
		p.Want(t, http.StatusSeeOther)
		return p.Location[strings.LastIndex(p.Location, "/")+1:]
	}
	key := func() string {
		k, _, err := w.newKey(t)
		must.NoError(t, err)
		return k.ID
	}
	for name, value := range map[string]func() string{
		"{account}": func() string { return w.Account.ID }, "{user}": func() string { return w.Owner.ID }, "{key}": key,
		"{environment}": func() string { return "live" }, "{draft}": draft, "{code}": func() string {
			return "60"
		}, "{action}": func() string { return "x" },
		"{delivery}": func() string { return w.failed(t) }, "{certificate}": func() string { return w.certificate(t) },
		"{invitation}": func() string {
			_, err := w.Service.InviteStaff(t.Context(), w.Aoi.Actor(access.Origin{}), "x"+uuid7.New()+"@example.com", "X",
				access.Reviewer)
			must.NoError(t, err)
			open, err := w.Service.StaffInvitations(t.Context(), w.Aoi.Actor(access.Origin{}))
			must.NoError(t, err)
			return open[0].ID
		},
		"{approval}": uuid7.New,
		"{staff}":    func() string { return w.AddStaff(t, uuid7.New()+"@example.com", "Some One", access.Reviewer).ID },
	} {
		if strings.Contains(path, name) {
			path = strings.ReplaceAll(path, name, value())
		}
	}
	return path
}

// TestReviewersSeeNoLinks checks that only administrators are shown the way here.
func TestReviewersSeeNoLinks(t *testing.T) {
	w := newWorld(t)
	if strings.Contains(w.AsStaff(t, w.Mika).Get("/desk").Want(t, http.StatusOK).Body, "/desk/admin") {
		t.Error("a reviewer is shown the administrators' pages")
	}
	w.AsStaff(t, w.Aoi).Get("/desk").Want(t, http.StatusOK, "/desk/admin/accounts", "/desk/admin/statistics")
}

func TestMessages(t *testing.T) {
	uitest.CheckMessages(t, uitest.Site(t, time.Now, desk.Area, admin.Area), "admin", []string{"."},
		"admin.nav.", "admin.env.", "admin.problem.", "admin.fault.", "admin.role.", "admin.role_hint.", "admin.user_role.",
		"admin.limit.", "admin.staff.password_made_", "admin.staff.reactivated_",
		"admin.since.", "admin.section.",
		"admin.column.", "admin.failure.", "admin.credits.kinds.", "admin.chart.", "admin.account.live_",
		"admin.account.test_",
		"admin.action.", "admin.target.", "admin.detail.", "admin.reason.", "admin.approval.", "admin.approvals.")
}
