package admin_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestLog_Invitations checks that entries about invitations of staff, which have no page, are not linked.
func TestLog_Invitations(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	_, err := w.Service.InviteStaff(t.Context(), w.Aoi.Actor(access.Origin{}), "new@example.com", "New", access.Reviewer)
	must.NoError(t, err)
	open, err := w.Service.StaffInvitations(t.Context(), w.Aoi.Actor(access.Origin{}))
	must.NoError(t, err)
	must.NoError(t, w.Service.UninviteStaff(t.Context(), w.Aoi.Actor(access.Origin{}), open[0].ID))
	v.Post("/desk/admin/staff/"+w.Mika.ID+"/role", "role", "admin").Want(t, http.StatusSeeOther)
	v.Get("/desk/admin/log").
		Want(t, http.StatusOK, "Staff user invited", "new@example.com", `href="/desk/admin/staff/`+w.Mika.ID).
		Lacks(t, "/desk/admin/staff/"+open[0].ID)
}

func TestLog(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	account := "/desk/admin/accounts/" + w.Account.ID
	v.Post(account+"/credits/live", "amount", "25", "note", "=cmd()").Want(t, http.StatusSeeOther)
	v.Post("/desk/admin/staff/"+w.Mika.ID+"/role", "role", "admin").Want(t, http.StatusSeeOther)
	id := w.Order(t, w.Live, "")
	v.Post("/desk/orders/"+id+"/cancel", "note", "withdrawn").Want(t, http.StatusSeeOther)
	o, err := w.Store.Order(t.Context(), id)
	must.NoError(t, err)

	p := v.Get("/desk/admin/log").
		Want(t, http.StatusOK, "Credits changed", "amount: 25", "Role changed", "mika@example.com", "Order canceled",
			o.Number, "127.0.0.1", "Aoi Mori", account)
	if strings.Contains(p.Body, "rel=\"next\"") {
		t.Error("there is a further page")
	}
	v.Post(account+"/keys/"+w.Live.ID+"/networks", "networks", "10.1.2.3\n2001:db8::1").Want(t, http.StatusSeeOther)
	v.Get("/desk/admin/log?code=api-key.networks-set").Want(t, http.StatusOK, "networks: 10.1.2.3, 2001:db8::1")
	w.Visit(t).Post("/desk/sign-in", "email", w.Jun.Email, "password", "wrong").Want(t, http.StatusUnprocessableEntity)
	v.Get("/desk/admin/log?lang=ja").Want(t, http.StatusOK, "クレジットを変更", "環境: 本番", "役割を変更",
		"理由: パスワードの誤り")
	v.Get("/desk/admin/log?lang=en").Want(t, http.StatusOK)
	for query, want := range map[string][3]bool{ // credits, role, order
		"code=credits.granted":                 {true, false, false},
		"staff=" + w.Aoi.ID:                    {true, true, true},
		"staff=" + w.Jun.ID:                    {false, false, false},
		"staff=operator":                       {false, false, false},
		"account=" + w.Account.ID:              {true, false, true},
		"target=" + o.Number:                   {false, false, true},
		"target=mika@example.com":              {false, true, false},
		"from=2000-01-01&to=2000-01-02":        {false, false, false},
		"from=2000-01-01&code=order.canceled":  {false, false, true},
		"code=nonsense&below=nonsense&staff=x": {true, true, true},
	} {
		p := v.Get("/desk/admin/log?"+query).Want(t, http.StatusOK)
		for i, word := range []string{"amount: 25", "to: admin", "note: withdrawn"} {
			if got := strings.Contains(p.Body, word); got != want[i] {
				t.Errorf("%s: %q is there: %t, want %t", query, word, got, want[i])
			}
		}
		rows, err := csv.NewReader(strings.NewReader(v.Get("/desk/admin/log.csv?"+query).Want(t, http.StatusOK).Body)).
			ReadAll()
		must.NoError(t, err)
		found := strings.Count(fmt.Sprint(rows), "credits.granted") == 1
		if found != want[0] {
			t.Errorf("%s: the file has the credits: %t, want %t", query, found, want[0])
		}
	}
	v.Get("/desk/admin/log?target=nothing").Want(t, http.StatusOK, "No such order")
	v.Get("/desk/admin/log?account=nobody").Want(t, http.StatusOK, "No account with this name")
	if p := v.Get("/desk/admin/log.csv?account=nobody"); p.Status != http.StatusSeeOther {
		t.Errorf("a file for nobody: %d", p.Status)
	}

	t.Run("Pages", func(t *testing.T) {
		for i := range 60 {
			v.Post(account+"/credits/live", "amount", "1", "note", fmt.Sprint("grant ", i)).Want(t, http.StatusSeeOther)
		}
		next := regexp.MustCompile(`href="([^"]+)" rel="next"`)
		p := v.Get("/desk/admin/log?code=credits.granted").Want(t, http.StatusOK, "grant 59", "grant 10")
		m := next.FindStringSubmatch(p.Body)
		if m == nil || strings.Contains(p.Body, "grant 9<") {
			t.Fatal("the first page is not one")
		}
		p = v.Get(html.UnescapeString(m[1])).Want(t, http.StatusOK, "grant 9<", "grant 0<", "amount: 25", "Newest")
		if strings.Contains(p.Body, "grant 10<") || next.MatchString(p.Body) {
			t.Error("the second page is not the last")
		}
		body := v.Get("/desk/admin/log.csv?code=credits.granted").Want(t, http.StatusOK).Body
		if n := strings.Count(body, "credits.granted"); n != 61 {
			t.Errorf("the file has %d rows, want 61", n)
		}
	})

	t.Run("Formula", func(t *testing.T) {
		const note = "x;=cmd|' /C calc'!A0"
		v.Post(account+"/credits/test", "amount", "1", "note", note).Want(t, http.StatusSeeOther)
		body := v.Get("/desk/admin/log.csv?code=credits.granted").Want(t, http.StatusOK).Body
		if strings.Contains(body, ";=") {
			t.Error("the file has a formula")
		}
		rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		must.NoError(t, err)
		var details struct{ Note string }
		must.NoError(t, json.Unmarshal([]byte(rows[1][11]), &details))
		expect.Equal(t, "the note", details.Note, note)
	})
}

func TestStaffPages(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	mika := "/desk/admin/staff/" + w.Mika.ID
	v.Get(mika).Want(t, http.StatusOK, "Change the role", "Revoke the token", "Deactivate")
	v.Follow(v.Post(mika+"/token/revoke")).Want(t, http.StatusOK, "The token of Mika Sato is revoked.")
	if strings.Contains(v.Get(mika).Body, "Revoke the token") {
		t.Error("a token that is not there can be revoked")
	}
	v.Follow(v.Post(mika+"/role", "role", "admin")).Want(t, http.StatusOK, "Mika Sato is now: Administrator.")
	v.Post(mika+"/role", "role", "owner").Want(t, http.StatusBadRequest)
	v.Follow(v.Post(mika+"/deactivate")).Want(t, http.StatusOK, "Mika Sato is deactivated.")
	v.Get(mika).Want(t, http.StatusOK, "Reactivate")
	v.Post(mika+"/reactivate").Want(t, http.StatusOK, "Mika Sato can sign in again", "mika@example.com", "shown only once")
	v.Follow(v.Post(mika+"/reactivate")).Want(t, http.StatusOK, "This staff user is active.")
	self := "/desk/admin/staff/" + w.Aoi.ID
	if body := v.Get(self).Want(t, http.StatusOK).Body; strings.Contains(body, "Change the role") ||
		strings.Contains(body, "Deactivate now") {
		t.Error("one can end one's own access")
	}
	v.Follow(v.Post(self+"/role", "role", "reviewer")).Want(t, http.StatusOK, "You cannot change your own role")
}
