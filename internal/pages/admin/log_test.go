package admin_test

import (
	"encoding/csv"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestLog(t *testing.T) {
	w := newWorld(t)
	v := w.as(t, w.Aoi)
	account := "/desk/admin/accounts/" + w.Account.ID
	v.post(account+"/credits/live", "amount", "25", "note", "=cmd()").want(t, http.StatusSeeOther)
	v.post("/desk/admin/staff/"+w.Mika.ID+"/role", "role", "admin").want(t, http.StatusSeeOther)
	id := w.Order(t, w.Live, "")
	v.post("/desk/orders/"+id+"/cancel", "note", "withdrawn").want(t, http.StatusSeeOther)
	o, err := w.Store.Order(t.Context(), id)
	check(t, err)

	p := v.get("/desk/admin/log").want(t, http.StatusOK, "Credits changed", "amount: 25", "Role changed", "mika@example.com", "Order canceled", o.Number, "127.0.0.1", "Aoi Mori", account)
	if strings.Contains(p.body, "rel=\"next\"") {
		t.Error("there is a further page")
	}
	v.get("/desk/admin/log?lang=ja").want(t, http.StatusOK, "クレジットを変更", "役割を変更")
	v.get("/desk/admin/log?lang=en").want(t, http.StatusOK)
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
		p := v.get("/desk/admin/log?"+query).want(t, http.StatusOK)
		for i, word := range []string{"amount: 25", "to: admin", "note: withdrawn"} {
			if got := strings.Contains(p.body, word); got != want[i] {
				t.Errorf("%s: %q is there: %t, want %t", query, word, got, want[i])
			}
		}
		rows, err := csv.NewReader(strings.NewReader(v.get("/desk/admin/log.csv?"+query).want(t, http.StatusOK).body)).ReadAll()
		check(t, err)
		found := strings.Count(fmt.Sprint(rows), "credits.granted") == 1
		if found != want[0] {
			t.Errorf("%s: the file has the credits: %t, want %t", query, found, want[0])
		}
	}
	v.get("/desk/admin/log?target=nothing").want(t, http.StatusOK, "There is no such order")
	v.get("/desk/admin/log?account=nobody").want(t, http.StatusOK, "There is no account")
	if p := v.get("/desk/admin/log.csv?account=nobody"); p.status != http.StatusSeeOther {
		t.Errorf("a file for nobody: %d", p.status)
	}

	t.Run("Pages", func(t *testing.T) {
		for i := range 60 {
			v.post(account+"/credits/live", "amount", "1", "note", fmt.Sprint("grant ", i)).want(t, http.StatusSeeOther)
		}
		next := regexp.MustCompile(`href="([^"]+)" rel="next"`)
		p := v.get("/desk/admin/log?code=credits.granted").want(t, http.StatusOK, "grant 59", "grant 10")
		m := next.FindStringSubmatch(p.body)
		if m == nil || strings.Contains(p.body, "grant 9<") {
			t.Fatal("the first page is not one")
		}
		p = v.get(html.UnescapeString(m[1])).want(t, http.StatusOK, "grant 9<", "grant 0<", "amount: 25", "Newest")
		if strings.Contains(p.body, "grant 10<") || next.MatchString(p.body) {
			t.Error("the second page is not the last")
		}
		body := v.get("/desk/admin/log.csv?code=credits.granted").want(t, http.StatusOK).body
		if n := strings.Count(body, "credits.granted"); n != 61 {
			t.Errorf("the file has %d rows, want 61", n)
		}
	})
}

func TestStaffPages(t *testing.T) {
	w := newWorld(t)
	v := w.as(t, w.Aoi)
	mika := "/desk/admin/staff/" + w.Mika.ID
	v.get(mika).want(t, http.StatusOK, "Change the role", "Revoke the token", "Deactivate")
	v.follow(v.post(mika+"/token/revoke")).want(t, http.StatusOK, "Mika Sato has no token any more.")
	if strings.Contains(v.get(mika).body, "Revoke the token") {
		t.Error("a token that is not there can be revoked")
	}
	v.follow(v.post(mika+"/role", "role", "admin")).want(t, http.StatusOK, "Mika Sato is now: Administrator.")
	v.post(mika+"/role", "role", "owner").want(t, http.StatusBadRequest)
	v.follow(v.post(mika+"/deactivate")).want(t, http.StatusOK, "Mika Sato is deactivated.")
	v.get(mika).want(t, http.StatusOK, "Reactivate")
	v.post(mika+"/reactivate").want(t, http.StatusOK, "Mika Sato can sign in again", "mika@example.com", "shown once")
	v.follow(v.post(mika+"/reactivate")).want(t, http.StatusOK, "This staff user is active.")
	self := "/desk/admin/staff/" + w.Aoi.ID
	if body := v.get(self).want(t, http.StatusOK).body; strings.Contains(body, "Change the role") || strings.Contains(body, "Deactivate now") {
		t.Error("one can end one's own access")
	}
	v.follow(v.post(self+"/role", "role", "reviewer")).want(t, http.StatusOK, "You cannot change your own role")
}
