package admin_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

var approvalPattern = regexp.MustCompile(`/desk/admin/approvals/([0-9a-f-]{36})/(approve|withdraw)"`)

// careful is a world where a second administrator has to approve.
func careful(t *testing.T, target string) *pagetest.World {
	t.Helper()
	w := pagetest.On(t, target)
	w.Reconfigure(t, shop.WithMail, func(c *service.Config) {
		c.Limits.FourEyes = service.FourEyes{On: true, Credits: 100}
	})
	return w
}

// request returns the address of the only open request.
func request(t *testing.T, v *pagetest.Visitor) string {
	t.Helper()
	found := approvalPattern.FindAllStringSubmatch(v.Get("/desk/admin/approvals").Want(t, http.StatusOK).Body, -1)
	if len(found) != 1 {
		t.Fatalf("%d open requests", len(found))
	}
	return "/desk/admin/approvals/" + found[0][1]
}

func lastActions(t *testing.T, w *pagetest.World, n int) []*audit.Action {
	t.Helper()
	all, err := w.Store.StaffActions(t.Context(), audit.ActionFilter{}, audit.ActionCursor{}, n)
	must.NoError(t, err)
	return all
}

func TestFourEyes(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		w := careful(t, target)
		aoi, jun := w.AsStaff(t, w.Aoi), w.AsStaff(t, w.Jun)
		credits := "/desk/admin/accounts/" + w.Account.ID + "/credits/live"
		balance := func() int64 {
			n, err := w.Service.Balance(t.Context(), access.Tenant{AccountID: w.Account.ID, Environment: access.Live})
			must.NoError(t, err)
			return n
		}
		nextDay := func() {
			w.Clock.Advance(24*time.Hour + time.Second)
			aoi, jun = w.AsStaff(t, w.Aoi), w.AsStaff(t, w.Jun)
		}
		before := balance()
		t.Run("Credits", func(t *testing.T) {
			for _, small := range []string{"100", "-100"} {
				aoi.Submit(credits, "amount", small, "note", "small").Want(t, http.StatusOK)
			}
			if balance() != before {
				t.Error("small amounts need somebody else")
			}
			once := []string{"once", "0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30", "amount", "101", "note", "large <b>"}
			aoi.Submit(credits, once...)
			aoi.Submit(credits, once...). // sent twice, it asks once
							Want(t, http.StatusOK, "Nothing is changed yet", "large &lt;b&gt;", "101", "Withdraw")
			if balance() != before {
				t.Error("the balance is changed before the approval")
			}
			if a := lastActions(t, w, 1)[0]; a.Code != audit.ApprovalRequested || a.StaffID != w.Aoi.ID {
				t.Errorf("recorded %+v", a)
			}
			path := request(t, aoi)
			aoi.Submit(path+"/approve").Want(t, http.StatusOK, "Somebody else has to decide")
			aoi.Submit(path+"/refuse").Want(t, http.StatusOK, "Somebody else has to decide")
			jun.Submit(path+"/withdraw").Want(t, http.StatusOK, "Only who has asked")
			w.AsStaff(t, w.Mika).Post(path+"/approve").Want(t, http.StatusForbidden)
			jun.Get("/desk").Want(t, http.StatusOK, "/desk/admin/approvals")
			jun.Submit(path+"/approve").Want(t, http.StatusOK, "Approved and done", w.Jun.Name)
			if balance() != before+101 {
				t.Errorf("the balance is %d", balance())
			}
			both := lastActions(t, w, 2)
			if both[0].Code != audit.ApprovalApproved || both[0].StaffID != w.Jun.ID ||
				both[1].Code != audit.CreditsGranted || both[1].StaffID != w.Aoi.ID {
				t.Errorf("recorded %+v, %+v", both[0], both[1])
			}
			jun.Submit(path+"/approve").Want(t, http.StatusOK, "decided already")
			aoi.Submit(path+"/withdraw").Want(t, http.StatusOK, "decided already")
			if balance() != before+101 {
				t.Error("approved twice")
			}
		})
		t.Run("SentAgainAfterARefusal", func(t *testing.T) {
			const id = "0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c31"
			form := []string{"amount", "102", "note", "again"}
			aoi.Submit(credits, append(form, "once", id)...).Want(t, http.StatusOK, "Nothing is changed yet")
			jun.Submit(request(t, aoi)+"/refuse").Want(t, http.StatusOK, "Refused: ")
			aoi.Post(credits, append(form, "once", id)...).
				Want(t, http.StatusUnprocessableEntity, "decided already").Lacks(t, id)
		})
		t.Run("ManySmallOnes", func(t *testing.T) { // are a large one, also at the same moment
			nextDay() // those of before are over
			was := balance()
			var group sync.WaitGroup
			for range 5 {
				group.Go(func() {
					_, _ = w.Service.GrantCredits(t.Context(), w.Aoi.Actor(access.Origin{}),
						access.Tenant{AccountID: w.Account.ID, Environment: access.Live}, 40, "a little")
				})
			}
			group.Wait()
			if got := balance() - was; got != 80 {
				t.Errorf("one administrator has given %d alone", got)
			}
			open, _, err := w.Service.Approvals(t.Context(), w.Jun.Actor(access.Origin{}))
			must.NoError(t, err)
			if len(open) != 3 {
				t.Fatalf("%d requests", len(open))
			}
			for _, x := range open[1:] {
				_, err := w.Service.Refuse(t.Context(), w.Jun.Actor(access.Origin{}), x.ID)
				must.NoError(t, err)
			}
			jun.Submit(request(t, aoi)+"/approve").Want(t, http.StatusOK, "Approved and done")
			// What was approved does not count.
			aoi.Submit(credits, "amount", "20", "note", "the rest").Want(t, http.StatusOK).Lacks(t, "Nothing is changed yet")
			if got := balance() - was; got != 140 {
				t.Errorf("the balance changed by %d", got)
			}
			nextDay()
			aoi.Submit(credits, "amount", "100", "note", "next day").Want(t, http.StatusOK).Lacks(t, "Nothing is changed yet")
		})
		t.Run("TestCreditsAreFree", func(t *testing.T) {
			aoi.Submit("/desk/admin/accounts/"+w.Account.ID+"/credits/test", "amount", "5000", "note", "x").
				Want(t, http.StatusOK).Lacks(t, "Nothing is changed yet")
		})
		t.Run("NotEnoughCredits", func(t *testing.T) { // at the moment of the approval: the request stays
			aoi.Submit(credits, "amount", "-1000", "note", "back").Want(t, http.StatusOK, "Nothing is changed yet")
			_, err := w.Service.GrantCredits(t.Context(), access.Operator, access.Tenant{
				AccountID: w.Account.ID, Environment: access.Live,
			}, -balance(), "gone")
			must.NoError(t, err)
			path := request(t, aoi)
			jun.Post(path+"/approve").Want(t, http.StatusSeeOther)
			aoi.Submit(path+"/withdraw").Want(t, http.StatusOK, "Withdrawn: ")
		})
		t.Run("Role", func(t *testing.T) {
			aoi.Submit("/desk/admin/staff/"+w.Mika.ID+"/role", "role", "admin").Want(t, http.StatusOK, "Nothing is changed yet")
			role := func() access.StaffRole {
				m, err := w.Store.Staff(t.Context(), w.Mika.ID)
				must.NoError(t, err)
				return m.Role
			}
			jun.Submit(request(t, aoi)+"/refuse").Want(t, http.StatusOK, "Refused: Mika Sato")
			if role() != access.Reviewer {
				t.Error("refused, and done")
			}
			aoi.Submit("/desk/admin/staff/"+w.Mika.ID+"/role", "role", "admin").Want(t, http.StatusOK)
			jun.Submit(request(t, aoi)+"/approve").Want(t, http.StatusOK)
			if role() != access.Admin {
				t.Error("approved, and not done")
			}
		})
		t.Run("NewAdministrators", func(t *testing.T) {
			jun.Post("/desk/admin/staff", "email", "evil@example.com", "name", "Sock", "role", "admin").
				Want(t, http.StatusUnprocessableEntity, "one administrator alone cannot")
			jun.Post("/desk/admin/staff", "email", "fine@example.com", "name", "Fine", "role", "reviewer").
				Want(t, http.StatusOK)
			jun.Submit("/desk/admin/staff/invitations", "email", "new@example.com", "name", "New", "role", "admin").
				Want(t, http.StatusOK, "Nothing is changed yet")
			aoi.Submit(request(t, jun)+"/approve").Want(t, http.StatusOK, "Approved and done")
			open, err := w.Service.StaffInvitations(t.Context(), w.Aoi.Actor(access.Origin{}))
			must.NoError(t, err)
			if len(open) != 1 || open[0].Email != "new@example.com" || open[0].CreatedBy != w.Jun.ID {
				t.Errorf("invitations %+v", open)
			}
			for _, path := range []string{"/password", "/second-factor", "/token"} {
				aoi.Submit("/desk/admin/staff/"+w.Jun.ID+path).Want(t, http.StatusOK, "one administrator alone cannot")
			}
			aoi.Post("/desk/admin/staff/"+w.Ren.ID+"/password").Want(t, http.StatusOK)
			must.NoError(t, deactivate(t, w, w.Mika.ID)) // an administrator by now
			aoi.Post("/desk/admin/staff/"+w.Mika.ID+"/reactivate").Want(t, http.StatusOK)
			if m, err := w.Store.Staff(t.Context(), w.Mika.ID); err != nil || m.Role != access.Reviewer {
				t.Errorf("came back as %+v, %v", m, err)
			}
		})
		t.Run("Mail", func(t *testing.T) {
			if n := strings.Count(strings.Join(mailKinds(t, w), " "), "approval-asked"); n < 3 {
				t.Errorf("%d mails to other administrators", n)
			}
		})
		t.Run("KnownPassword", func(t *testing.T) { // who has created somebody does not become them
			made, err := w.Service.CreateStaff(t.Context(), w.Aoi.Actor(access.Origin{}), "sock@example.com", "Sock",
				access.Reviewer)
			must.NoError(t, err)
			signIn := func(password string) *pagetest.Page {
				return w.Visit(t).Post("/desk/sign-in", "email", "sock@example.com", "password", password)
			}
			signIn(made.Password).Want(t, http.StatusSeeOther)
			aoi.Submit("/desk/admin/staff/"+made.Staff.ID+"/role", "role", "admin").
				Want(t, http.StatusOK, "Sock &lt;sock@example.com&gt;")
			jun.Submit(request(t, aoi)+"/approve").Want(t, http.StatusOK, "Approved and done")
			signIn(made.Password).Want(t, http.StatusUnprocessableEntity)
			if _, err := w.Service.AuthenticateStaff(t.Context(), made.Token, "127.0.0.1"); err == nil {
				t.Error("the token of before still works")
			}
			asked, m := nextMail(t, w), nextMail(t, w)
			if asked.Kind != "approval-asked" || m.Kind != "promoted" || m.To != "sock@example.com" {
				t.Fatalf("mailed %s and %s to %s", asked.Kind, m.Kind, m.To)
			}
			const chosen = "my very own passphrase"
			token := regexp.MustCompile(`token=([A-Za-z0-9_-]+)`).FindStringSubmatch(m.Text)[1]
			w.Visit(t).Post("/desk/reset", "token", token, "new_password", chosen, "repeat", chosen).
				Want(t, http.StatusSeeOther)
			signIn(chosen).Want(t, http.StatusSeeOther)
			must.NoError(t, deactivate(t, w, made.Staff.ID))
		})
		t.Run("Expires", func(t *testing.T) {
			aoi.Submit(credits, "amount", "500", "note", "late").Want(t, http.StatusOK)
			path := request(t, aoi)
			w.Clock.Advance(access.ApprovalLife)
			jun = w.AsStaff(t, w.Jun)
			jun.Submit(path+"/approve").Want(t, http.StatusOK, "decided already", "expired")
			n, err := w.Service.ExpireApprovals(t.Context(), 10)
			must.NoError(t, err)
			if a := lastActions(t, w, 1)[0]; n != 1 || a.Code != audit.ApprovalExpired || a.StaffName != "system" {
				t.Errorf("%d expired, recorded %+v", n, a)
			}
		})
		report, err := proof.Check(t.Context(), w.Proof())
		must.NoError(t, err)
		if !report.OK {
			t.Errorf("the check says %+v", report.Problems)
		}
	})
}

func deactivate(t *testing.T, w *pagetest.World, id string) error {
	t.Helper()
	_, err := w.Service.DeactivateStaff(t.Context(), access.Operator, id)
	return err
}

// nextMail sends the mail that waits the longest.
func nextMail(t *testing.T, w *pagetest.World) *service.OutgoingMail {
	t.Helper()
	m := w.NextMail(t)
	if m == nil {
		t.Fatal("no mail waits")
	}
	return m
}

// mailKinds are the kinds of the mails that wait.
func mailKinds(t *testing.T, w *pagetest.World) []string {
	t.Helper()
	var kinds []string
	for _, m := range w.Mails(t) {
		kinds = append(kinds, string(m.Kind))
	}
	return kinds
}

// TestFourEyesCertificate revokes a certificate with two administrators.
func TestFourEyesCertificate(t *testing.T) {
	w := newWorld(t)
	w.Reconfigure(t, func(c *service.Config) { c.Limits.FourEyes = service.FourEyes{On: true} })
	id := w.certificate(t)
	aoi, jun := w.AsStaff(t, w.Aoi), w.AsStaff(t, w.Jun)
	aoi.Submit("/desk/admin/certificates/"+id+"/revoke", "reason", "exchanged", "sure", "yes").
		Want(t, http.StatusOK, "Nothing is changed yet", "exchanged")
	revoked := func() bool {
		c, err := w.Service.Certificate(t.Context(), id)
		must.NoError(t, err)
		return c.Revoked != nil
	}
	if revoked() {
		t.Fatal("revoked before the approval")
	}
	jun.Submit(request(t, aoi)+"/approve").Want(t, http.StatusOK, "Approved and done")
	if !revoked() {
		t.Error("approved, and not revoked")
	}
	aoi.Post("/desk/admin/staff/invitations", "email", "n@example.com", "name", "N", "role", "admin").
		Want(t, http.StatusUnprocessableEntity, "only with a mail server")
}

// TestFourEyesRaces lets everything happen at the same moment.
func TestFourEyesRaces(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		w := careful(t, target)
		tenant := access.Tenant{AccountID: w.Account.ID, Environment: access.Live}
		third := w.AddStaff(t, "third@example.com", "Third", access.Admin)
		ask := func(who *access.Staff) string {
			t.Helper()
			_, err := w.Service.GrantCredits(t.Context(), who.Actor(access.Origin{}), tenant, 1000, "much")
			if err == nil {
				t.Fatal("granted alone")
			}
			open, _, err := w.Service.Approvals(t.Context(), who.Actor(access.Origin{}))
			must.NoError(t, err)
			at := slices.IndexFunc(open, func(a *access.Approval) bool { return a.RequestedBy == who.ID })
			return open[at].ID
		}
		together := func(do ...func() error) (done int64) {
			var n atomic.Int64
			var group sync.WaitGroup
			for _, f := range do {
				group.Go(func() {
					if f() == nil {
						n.Add(1)
					}
				})
			}
			group.Wait()
			return n.Load()
		}
		approve := func(who *access.Staff, id string) func() error {
			return func() error { _, err := w.Service.Approve(t.Context(), who.Actor(access.Origin{}), id); return err }
		}
		balance := func() int64 {
			n, err := w.Service.Balance(t.Context(), tenant)
			must.NoError(t, err)
			return n
		}
		t.Run("TwoApprovals", func(t *testing.T) {
			before, id := balance(), ask(w.Aoi)
			n := together(approve(w.Jun, id), approve(third, id), approve(w.Aoi, id), approve(w.Jun, id))
			if n != 1 || balance() != before+1000 {
				t.Errorf("%d approvals, the balance changed by %d", n, balance()-before)
			}
		})
		t.Run("EachOther", func(t *testing.T) { // nobody waits for ever
			before, a, b := balance(), ask(w.Aoi), ask(w.Jun)
			if n := together(approve(w.Jun, a), approve(w.Aoi, b)); n != 2 || balance() != before+2000 {
				t.Errorf("%d approvals, the balance changed by %d", n, balance()-before)
			}
		})
		t.Run("RequesterLeaves", func(t *testing.T) {
			before, id := balance(), ask(third)
			n := together(approve(w.Jun, id), func() error { return deactivate(t, w, third.ID) })
			changed := balance() - before
			if n == 1 && changed != 0 || n == 2 && changed != 1000 || n < 1 {
				t.Errorf("%d succeeded, the balance changed by %d", n, changed)
			}
		})
		t.Run("RequesterGone", func(t *testing.T) {
			fourth := w.AddStaff(t, "fourth@example.com", "Fourth", access.Admin)
			before, id := balance(), ask(fourth)
			must.NoError(t, deactivate(t, w, fourth.ID))
			if err := approve(w.Jun, id)(); err == nil || balance() != before {
				t.Error("approved for somebody who has left")
			}
		})
		t.Run("ApproverGone", func(t *testing.T) {
			fifth := w.AddStaff(t, "fifth@example.com", "Fifth", access.Admin)
			before, id := balance(), ask(w.Aoi)
			must.NoError(t, deactivate(t, w, fifth.ID))
			if err := approve(fifth, id)(); err == nil || balance() != before {
				t.Error("approved by somebody who has left")
			}
			token := w.Jun.Actor(access.Origin{})
			token.Token = true
			if _, err := w.Service.Approve(t.Context(), token, id); err == nil {
				t.Error("approved with a token")
			}
			if _, err := w.Service.Approve(t.Context(), access.Operator, id); err == nil {
				t.Error("approved at the command line")
			}
		})
	})
}

// TestFourEyesPage looks at the page on all screens.
func TestFourEyesPage(t *testing.T) {
	w := careful(t, storetest.SQLite(t))
	w.AsStaff(t, w.Jun).Submit("/desk/admin/staff/"+w.Mika.ID+"/role", "role", "admin").Want(t, http.StatusOK)
	w.AsStaff(t, w.Aoi).Submit("/desk/admin/accounts/"+w.Account.ID+"/credits/live", "amount", "900", "note", "thanks").
		Want(t, http.StatusOK)
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Open("/desk/sign-in?lang=en")
	b.Fill("#f-email", w.Aoi.Email)
	b.Fill("#f-password", password)
	b.Follow(".signin .primary")
	b.CheckPages(map[string]string{"approvals": "/desk/admin/approvals"})
}
