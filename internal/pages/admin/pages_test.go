package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

func (w *world) newKey(t *testing.T) (*access.Key, string, error) {
	t.Helper()
	return w.Service.CreateKey(t.Context(), access.Operator, service.NewKey{
		Tenant: access.Tenant{AccountID: w.Account.ID, Environment: access.Test}, Name: "another", Scopes: access.AllScopes,
	})
}

// state is all that forms of these pages can change, as one text.
func (w *world) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	accounts, total, err := w.Store.AccountSummaries(t.Context(), "", w.Clock.Now(), 1, 100)
	must.NoError(t, err)
	fmt.Fprintln(&b, total)
	for _, a := range accounts {
		fmt.Fprintln(&b, a)
		keys, err := w.Store.Keys(t.Context(), a.ID)
		must.NoError(t, err)
		for _, k := range keys {
			fmt.Fprintln(&b, k.Name, k.RevokedAt != nil, k.Limits)
		}
	}
	all, err := w.Store.AllStaff(t.Context())
	must.NoError(t, err)
	for _, s := range all {
		fmt.Fprintln(&b, s.Name, s.Role, s.Active(), s.PasswordHash)
	}
	version, paused, err := w.Store.CatalogState(t.Context())
	must.NoError(t, err)
	pending, _, err := w.Store.QueueState(t.Context(), w.Clock.Now())
	must.NoError(t, err)
	revoked, err := w.Store.RevokedCertificates(t.Context(), 100)
	must.NoError(t, err)
	fmt.Fprintln(&b, version, paused, pending, len(revoked))
	return b.String()
}

func (w *world) events(t *testing.T, code audit.Code) []*audit.Event {
	t.Helper()
	events, _, err := w.Store.AuditPage(t.Context(), w.Account.ID, audit.Filter{Code: code}, 1, 10)
	must.NoError(t, err)
	return events
}

func TestAccounts(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	t.Run("Search", func(t *testing.T) {
		v.Get("/desk/admin/accounts?q=acme").Want(t, http.StatusOK, "Acme 鑑定")
		v.Get("/desk/admin/accounts?q=OWNER@acme").Want(t, http.StatusOK, "Acme 鑑定")
		v.Get("/desk/admin/accounts?q=%25_nobody").Want(t, http.StatusOK, "No account matches")
		v.Get("/desk/admin/accounts?page=99&q=acme%00%ff").Want(t, http.StatusOK)
	})
	t.Run("Create", func(t *testing.T) {
		p := v.Post("/desk/admin/accounts", "name", "Beta <b>", "email", "Beta@example.com", "locale", "ja").
			Want(t, http.StatusOK, "beta@example.com", "Beta &lt;b&gt;")
		if !regexp.MustCompile(`<code>[0-9A-Za-z]{20}</code>`).MatchString(p.Body) {
			t.Error("the password is not shown")
		}
		v.Get("/desk/admin/accounts").Want(t, http.StatusOK, "Beta &lt;b&gt;")
	})
	t.Run("Refused", func(t *testing.T) {
		v.Post("/desk/admin/accounts", "name", "Beta <b>", "email", "owner@acme.example", "locale", "en").
			Want(t, http.StatusUnprocessableEntity, "This is already in use.", `value="owner@acme.example"`)
		v.Post("/desk/admin/accounts", "name", strings.Repeat("x", 101), "email", "nonsense", "locale", "fr").
			Want(t, http.StatusUnprocessableEntity, "At most 100 characters", "This is not an email address.",
				"not a valid choice")
	})
	t.Run("Unknown", func(t *testing.T) {
		for _, id := range []string{uuid7.New(), "x", "%00", "new/keys"} {
			v.Get("/desk/admin/accounts/"+id).Want(t, http.StatusNotFound)
		}
	})
	t.Run("UserLink", func(t *testing.T) {
		v.Post("/desk/admin/accounts/"+w.Account.ID+"/users/"+w.Owner.ID+"/password").Want(t, http.StatusOK, "/portal/reset")
		v.Post("/desk/admin/accounts/"+w.Account.ID+"/users/"+uuid7.New()+"/password").Want(t, http.StatusNotFound)
		if p := v.Get("/desk/admin/system").Want(t, http.StatusOK); strings.Contains(p.Body, "Pending mail") {
			t.Error("the page tells of mail that is never sent")
		}
		w.Reconfigure(t, shop.WithMail)
		defer w.Reconfigure(t, func(c *service.Config) { c.OnMail = nil })
		v.Post("/desk/admin/accounts/"+w.Account.ID+"/users/"+w.Owner.ID+"/password").
			Want(t, http.StatusOK, "/portal/reset", "An email with this link is being sent to "+w.Owner.Email)
		v.Get("/desk/admin/system").Want(t, http.StatusOK, "Pending mail", "0 failed recently")
	})
}

func TestKeys(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	keys := "/desk/admin/accounts/" + w.Account.ID + "/keys"
	p := v.Post(keys, "name", "ERP", "environment", "live", "scopes", "orders:read", "scopes", "audit:read",
		"limit_create", "120").Want(t, http.StatusOK)
	secret := regexp.MustCompile(`assay_live_[0-9A-Za-z]{38}`).FindString(p.Body)
	k, err := w.Service.Authenticate(t.Context(), secret, "")
	must.NoError(t, err)
	if !slices.Equal(k.Scopes, []access.Scope{access.OrdersRead, access.AuditRead}) || len(k.Limits) != 1 ||
		k.Limits["create"] != 120 || k.CreatedBy != w.Owner.ID {
		t.Errorf("the key is %+v", k)
	}
	created := w.events(t, audit.KeyCreated)[0]
	if created.Actor.Type != audit.BySystem || created.Actor.Name != "Aoi Mori" ||
		created.Actor.Source != audit.FromSystem || created.Actor.ID != "" || created.Target.ID != k.ID {
		t.Errorf("the audit log has %+v", created)
	}
	one := keys + "/" + k.ID
	t.Run("Shown", func(t *testing.T) {
		v.Get(keys).Want(t, http.StatusOK, "ERP")
		if body := v.Get(one).Want(t, http.StatusOK, "orders:read", `value="120"`).Body; strings.Contains(body, secret) {
			t.Error("the secret is shown again")
		}
	})
	t.Run("Rename", func(t *testing.T) {
		v.Follow(v.Post(one+"/name", "name", "ERP 2")).Want(t, http.StatusOK, "ERP 2")
		e := w.events(t, audit.KeyRenamed)
		if len(e) != 1 || e[0].Metadata["old_name"] != "ERP" || e[0].Metadata["new_name"] != "ERP 2" ||
			e[0].Actor.Name != "Aoi Mori" || e[0].UserID != w.Owner.ID {
			t.Errorf("the audit log has %+v", e)
		}
		v.Follow(v.Post(one+"/name", "name", "ERP 2")).Want(t, http.StatusOK)
		if n := len(w.events(t, audit.KeyRenamed)); n != 1 {
			t.Errorf("%d events after a change of nothing", n)
		}
		v.Post(one+"/name", "name", " ").Want(t, http.StatusUnprocessableEntity, "This field is required.")
	})
	t.Run("Limits", func(t *testing.T) {
		v.Post(one+"/limits", "limit_read", "0").Want(t, http.StatusUnprocessableEntity, "This number is out of range.")
		v.Post(one+"/limits", "limit_read", "many").Want(t, http.StatusUnprocessableEntity, "This number is out of range.")
		v.Follow(v.Post(one+"/limits", "limit_read", "900", "limit_create", "")).Want(t, http.StatusOK, `value="900"`)
		k, err := w.Service.Authenticate(t.Context(), secret, "")
		must.NoError(t, err)
		if len(k.Limits) != 1 || k.Limits["read"] != 900 {
			t.Errorf("the limits are %v", k.Limits)
		}
	})
	t.Run("Networks", func(t *testing.T) {
		v.Post(one+"/networks", "networks", "10.0.0.0/8\nexample.com").
			Want(t, http.StatusUnprocessableEntity, "“example.com” is neither an IPv4")
		v.Follow(v.Post(one+"/networks", "networks", "10.1.2.3/8\n2001:db8::1")).
			Want(t, http.StatusOK, "The networks are set.", "<code>10.0.0.0/8</code> <code>2001:db8::1</code>")
		if _, err := w.Service.Authenticate(t.Context(), secret, "192.0.2.1"); fault.CodeOf(err) != "forbidden" {
			t.Errorf("from elsewhere: %v", err)
		}
		_, err := w.Service.Authenticate(t.Context(), secret, "10.9.9.9")
		must.NoError(t, err)
		v.Follow(v.Post(one+"/networks", "networks", "")).Want(t, http.StatusOK, "anywhere")
		restricted := v.Post(keys, "name", "Fixed", "environment", "test", "scopes", "orders:read", "networks", "192.0.2.7").
			Want(t, http.StatusOK)
		_, err = w.Service.Authenticate(t.Context(),
			regexp.MustCompile(`assay_test_[0-9A-Za-z]{38}`).FindString(restricted.Body), "192.0.2.8")
		if fault.CodeOf(err) != "forbidden" {
			t.Errorf("from elsewhere: %v", err)
		}
	})
	t.Run("OtherAccount", func(t *testing.T) {
		for _, action := range []string{"/name", "/limits", "/networks", "/revoke"} {
			v.Post("/desk/admin/accounts/"+w.Stranger.AccountID+"/keys/"+k.ID+action, "name", "stolen").
				Want(t, http.StatusNotFound)
		}
	})
	t.Run("Revoke", func(t *testing.T) {
		v.Follow(v.Post(one+"/revoke")).Want(t, http.StatusOK, "Revoked")
		if _, err := w.Service.Authenticate(t.Context(), secret, ""); err == nil {
			t.Error("a revoked key works")
		}
		if e := w.events(t, audit.KeyRevoked); len(e) != 1 || e[0].Actor.Name != "Aoi Mori" || e[0].UserID != w.Owner.ID {
			t.Errorf("the audit log has %+v", e)
		}
		v.Post(one+"/name", "name", "late").Want(t, http.StatusUnprocessableEntity)
	})
	t.Run("Refused", func(t *testing.T) {
		v.Post(keys, "name", "", "environment", "moon", "limit_read", "0").
			Want(t, http.StatusUnprocessableEntity, "Please check 4 fields")
	})
}

func TestCredits(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	live := "/desk/admin/accounts/" + w.Account.ID + "/credits/live"
	v.Follow(v.Post(live, "amount", "1,500", "note", "invoice 12")).Want(t, http.StatusOK, "2,500", "invoice 12", "+1,500")
	v.Follow(v.Post(live, "amount", "-500", "note", "correction")).Want(t, http.StatusOK, "2,000", "−500")
	once := []string{"once", "0199c3a9-52d0-7f3b-8c1e-2f6d9a7b4c30"} // as the hidden field of the form
	for range 2 {                                                    // a double click, or a reload after a lost answer
		v.Follow(v.Post(live, append(once, "amount", "7", "note", "gift")...)).Want(t, http.StatusOK, "2,007")
	}
	v.Follow(v.Post(live, append(once, "amount", "-7", "note", "back and changed")...)).Want(t, http.StatusOK, "2,000")
	v.Get(live).Want(t, http.StatusOK, `<input type="hidden" name="once" value="`)
	for _, row := range rawsql.Rows(t, w.Target, "SELECT id FROM ledger_entries") {
		if id := uuid.MustParse(row[0]); id.Version() != 7 { // the newest of them tells whether the clock is right
			t.Errorf("an entry has the id %s", id)
		}
	}
	for amount, words := range map[string]string{
		"-2001": "would become negative", "0": "out of range", "x": "out of range", "9999999999999999": "out of range",
	} {
		v.Post(live, "amount", amount, "note", "n").Want(t, http.StatusUnprocessableEntity, words)
	}
	v.Post(live, "amount", "5", "note", "").Want(t, http.StatusUnprocessableEntity, "This field is required.")
	v.Get("/desk/admin/accounts/"+w.Account.ID+"/credits/moon").Want(t, http.StatusNotFound)
	balance, err := w.Store.Balance(t.Context(), w.Account.Tenant(access.Live))
	must.NoError(t, err)
	if balance != 2000 {
		t.Errorf("the balance is %d, want 2000", balance)
	}
	w.Order(t, w.Live, "")
	v.Get(live).Want(t, http.StatusOK, "Charge", "/desk/orders/")
	v.Get("/desk/admin/accounts/"+w.Account.ID+"/orders/live").Want(t, http.StatusOK, "AS-", "Queued")
}

func TestCatalog(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	t.Run("Contents", func(t *testing.T) {
		for _, section := range []string{
			"categories", "brands", "models", "photo_indexes", "answer_time_rules", "account_prices", "reasons", "conditions",
			"requirements", "nonsense",
		} {
			v.Get("/desk/admin/catalog?section="+section).Want(t, http.StatusOK)
		}
		v.Get("/desk/admin/catalog?section=brands&q=シャネル").Want(t, http.StatusOK, "chanel")
	})
	t.Run("Export", func(t *testing.T) {
		p := v.Get("/desk/admin/catalog/export").Want(t, http.StatusOK, "シャネル")
		if p.Header.Get("Content-Disposition") != `attachment; filename="catalog-2026-03-02.yaml"` {
			t.Errorf("Content-Disposition %q", p.Header.Get("Content-Disposition"))
		}
		upload(v, "same.yaml", p.Body).Want(t, http.StatusSeeOther)
		v.Get("/desk/admin/catalog/export?format=json").Want(t, http.StatusOK, `"categories"`)
	})
	t.Run("Broken", func(t *testing.T) {
		upload(v, "bad.yaml", "categories:\n  - code: BAD CODE\n").
			Want(t, http.StatusUnprocessableEntity, "bad.yaml", "categories[0].code", "Nothing was changed")
		upload(v, "empty.yaml", "").Want(t, http.StatusUnprocessableEntity, "non-empty file")
	})
	t.Run("Import", func(t *testing.T) {
		changed := strings.Replace(string(demo.Catalog), "en: Chanel", "en: CHANEL", 1)
		first := upload(v, "new.yaml", changed)
		second := upload(v, "new.yaml", changed)
		v.Follow(first).Want(t, http.StatusOK, "Chanel → CHANEL", "new.yaml")
		if w.Service.Catalog().Brand("chanel").Name.EN != "Chanel" {
			t.Error("a preview has changed the catalog")
		}
		v.Follow(v.Post(first.Location)).Want(t, http.StatusOK, "imported with 1 change")
		if w.Service.Catalog().Brand("chanel").Name.EN != "CHANEL" {
			t.Error("the catalog is as it was")
		}
		v.Follow(second).Want(t, http.StatusOK, "Another catalog was imported in the meantime")
		v.Follow(v.Post(second.Location)).Want(t, http.StatusOK, "Another catalog was imported in the meantime")
		v.Follow(v.Post(second.Location+"/drop")).Want(t, http.StatusOK, "Nothing was imported")
		v.Get(second.Location).Want(t, http.StatusNotFound)
		v.Post(first.Location).Want(t, http.StatusNotFound)
	})
	t.Run("AccountGone", func(t *testing.T) {
		gone, err := w.Service.CreateAccount(t.Context(), access.System, "Gone", "owner@gone.example", "en")
		must.NoError(t, err)
		draft := upload(v, "prices.yaml", string(demo.Catalog)+
			"account_prices:\n  - account: Gone\n    code: 60\n    price: 3\n")
		v.Follow(draft).Want(t, http.StatusOK, "prices.yaml")
		_, err = w.Service.EraseAccount(t.Context(), access.Operator, gone.Account.ID, false)
		must.NoError(t, err)
		for _, p := range []*pagetest.Page{v.Get(draft.Location), v.Post(draft.Location)} {
			p.Want(t, http.StatusNotFound) // with what it said of the account
		}
	})
	t.Run("Pause", func(t *testing.T) {
		v.Follow(v.Post("/desk/admin/catalog/answer-times/60/pause")).Want(t, http.StatusOK, "Paused", "Aoi Mori")
		if !w.Service.Paused(60) {
			t.Error("the answer time is not paused")
		}
		v.Follow(v.Post("/desk/admin/catalog/answer-times/60/resume")).Want(t, http.StatusOK, "offered again")
		v.Post("/desk/admin/catalog/answer-times/61/pause").Want(t, http.StatusNotFound)
		v.Post("/desk/admin/catalog/answer-times/x/pause").Want(t, http.StatusNotFound)
	})
}

func TestStaff(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	p := v.Post("/desk/admin/staff", "name", "Ken Oda", "email", "ken@example.com", "role", "reviewer").
		Want(t, http.StatusOK, "ken@example.com")
	token := regexp.MustCompile(`assay_staff_[0-9A-Za-z]{38}`).FindString(p.Body)
	ken, err := w.Service.AuthenticateStaff(t.Context(), token, "127.0.0.1")
	must.NoError(t, err)
	one := "/desk/admin/staff/" + ken.ID
	v.Post("/desk/admin/staff", "name", "", "email", "ken@example.com", "role", "king").
		Want(t, http.StatusUnprocessableEntity, "Please check 2 fields")
	v.Post("/desk/admin/staff", "name", "Ken", "email", "ken@example.com", "role", "admin").
		Want(t, http.StatusUnprocessableEntity, "already in use")
	t.Run("NeedsAProof", func(t *testing.T) {
		v := w.AsStaff(t, w.Jun)
		w.Clock.Advance(access.ConfirmLife)
		v.Headers["Referer"] = w.Server.URL + one
		for _, form := range []string{one + "/token", one + "/password", one + "/second-factor", one + "/role"} {
			p := v.Post(form, "role", "admin").Want(t, http.StatusSeeOther)
			if p.Location != "/desk/me/confirm?next="+url.QueryEscape(one) {
				t.Fatalf("%s leads to %s", form, p.Location)
			}
		}
		v.Post("/desk/me/confirm", "password", "wrong", "next", one).Want(t, http.StatusUnprocessableEntity)
		v.Post(one+"/token").Want(t, http.StatusSeeOther)
		p := v.Post("/desk/me/confirm", "password", pagetest.Password, "next", one).Want(t, http.StatusSeeOther)
		if p.Location != one {
			t.Errorf("leads to %s", p.Location)
		}
		v.Post(one+"/token", "networks", "nowhere").Want(t, http.StatusSeeOther)
		v.Post(one+"/token", "networks", "203.0.113.0/24").Want(t, http.StatusOK, "assay_staff_")
	})
	v = w.AsStaff(t, w.Aoi)
	t.Run("Token", func(t *testing.T) {
		p := v.Post(one+"/token").Want(t, http.StatusOK)
		if _, err := w.Service.AuthenticateStaff(t.Context(), token, "127.0.0.1"); err == nil {
			t.Error("the old token works")
		}
		token = regexp.MustCompile(`assay_staff_[0-9A-Za-z]{38}`).FindString(p.Body)
		_, err := w.Service.AuthenticateStaff(t.Context(), token, "127.0.0.1")
		must.NoError(t, err)
	})
	t.Run("Password", func(t *testing.T) {
		his := w.AsStaff(t, ken)
		his.Get("/desk").Want(t, http.StatusOK)
		v.Post(one+"/password").Want(t, http.StatusOK, "ken@example.com")
		his.Get("/desk").Want(t, http.StatusSeeOther)
	})
	t.Run("Deactivate", func(t *testing.T) {
		v.Follow(v.Post(one+"/deactivate")).Want(t, http.StatusOK, "Ken Oda is deactivated", "Deactivated")
		if _, err := w.Service.AuthenticateStaff(t.Context(), token, "127.0.0.1"); err == nil {
			t.Error("the token of a deactivated staff user works")
		}
		v.Follow(v.Post(one+"/token")).Want(t, http.StatusOK, "This staff user is deactivated")
	})
	t.Run("NotOneself", func(t *testing.T) {
		v.Follow(v.Post("/desk/admin/staff/"+w.Aoi.ID+"/deactivate")).
			Want(t, http.StatusOK, "You cannot change your own role or deactivate yourself")
		// In one's settings these ask for the password.
		for _, action := range []string{"password", "token", "second-factor"} {
			p := v.Post("/desk/admin/staff/"+w.Aoi.ID+"/"+action).Want(t, http.StatusSeeOther)
			v.Follow(p).Want(t, http.StatusOK, "Change your own password, token, second factor and passkeys in your settings.").
				Lacks(t, w.Aoi.ID+`/`+action+`"`)
		}
		v.Get("/desk").Want(t, http.StatusOK) // sessions go on
	})
	t.Run("Unknown", func(t *testing.T) { v.Get("/desk/admin/staff/"+uuid7.New()).Want(t, http.StatusNotFound) })
}

func TestDeliveries(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	id := w.failed(t)
	v.Get("/desk/admin/deliveries?status=failed&account=Acme+%E9%91%91%E5%AE%9A&environment=test&endpoint="+w.Endpoint.ID).
		Want(t, http.StatusOK, id, "https://erp.example/hook")
	v.Get("/desk/admin/deliveries?account=nobody&endpoint=x&order=AS-0").
		Want(t, http.StatusOK, "No account with this name", "This is not a valid ID", "Order not found")
	v.Get("/desk/admin/deliveries/"+id).Want(t, http.StatusOK, "503", "&lt;b&gt;down", "order-outcome", "120 ms")
	v.Get("/desk/admin/deliveries/"+uuid7.New()).Want(t, http.StatusNotFound)
	v.Follow(v.Post("/desk/admin/deliveries/"+id+"/redeliver")).
		Want(t, http.StatusOK, ">Retrying<", "Resending 1 delivery.")
	v.Follow(v.Post("/desk/admin/deliveries/"+id+"/redeliver")).Want(t, http.StatusOK, "still pending")
	t.Run("AllFailed", func(t *testing.T) {
		w.failed(t) // and the one that is pending
		w.failed(t)
		v.Post("/desk/admin/deliveries/redeliver", "since", "9999h").Want(t, http.StatusUnprocessableEntity)
		v.Follow(v.Post("/desk/admin/deliveries/redeliver", "since", "1h", "environment", "live")).
			Want(t, http.StatusOK, "0 deliveries")
		v.Follow(v.Post("/desk/admin/deliveries/redeliver", "since", "1h")).
			Want(t, http.StatusOK, "Resending 3 deliveries.")
	})
	t.Run("Older", func(t *testing.T) {
		for range 50 {
			w.Order(t, w.Test, order.MockAuthentic)
		}
		p := v.Get("/desk/admin/deliveries?environment=test").Want(t, http.StatusOK, "Older")
		next := regexp.MustCompile(`/desk/admin/deliveries\?before=[^"]+`).FindString(p.Body)
		v.Get(strings.ReplaceAll(next, "&amp;", "&")).
			Want(t, http.StatusOK, id, `<a href="/desk/admin/deliveries?environment=test">Newest</a>`)
	})
}

// TestDeliveryStatus checks that a pending delivery is shown as retrying after a failed attempt, and not before.
func TestDeliveryStatus(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	w.Order(t, w.Test, order.MockAuthentic)
	v.Get("/desk/admin/deliveries").Want(t, http.StatusOK, `tone-info">Pending<`).Lacks(t, "Retrying")
	id := w.failed(t)
	v.Get("/desk/admin/deliveries").Want(t, http.StatusOK, `tone-bad">Failed<`)
	v.Post("/desk/admin/deliveries/"+id+"/redeliver").Want(t, http.StatusSeeOther)
	w.Order(t, w.Test, order.MockAuthentic)
	v.Get("/desk/admin/deliveries").Want(t, http.StatusOK, `tone-info">Pending<`, `tone-info">Retrying<`)
	v.Get("/desk/admin/deliveries?lang=ja").Want(t, http.StatusOK, `tone-info">送信待ち<`, `tone-info">再試行中<`)
}

func TestCertificates(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	o, err := w.Store.Order(t.Context(), w.Order(t, w.Test, order.MockAuthentic))
	must.NoError(t, err)
	for _, q := range []string{o.Number, o.ID, o.CertificateID} {
		v.Follow(v.Get("/desk/admin/certificates?q="+q)).Want(t, http.StatusOK, o.Number, "Valid")
	}
	v.Get("/desk/admin/certificates?q=AS-00000000").Want(t, http.StatusNotFound, "No certificate found")
	one := "/desk/admin/certificates/" + o.CertificateID
	v.Post(one+"/revoke", "reason", "swapped").Want(t, http.StatusUnprocessableEntity, "Tick the box to confirm")
	v.Post(one+"/revoke", "reason", "", "sure", "yes").Want(t, http.StatusUnprocessableEntity, "This field is required")
	v.Follow(v.Post(one+"/revoke", "reason", "swapped", "sure", "yes")).Want(t, http.StatusOK, "Revoked", "swapped")
	v.Post(one+"/revoke", "reason", "again", "sure", "yes").Want(t, http.StatusUnprocessableEntity)
	v.Get("/desk/admin/certificates").Want(t, http.StatusOK, o.Number, "swapped")
}

func TestSystem(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Aoi)
	v.Get("/desk/admin/system").
		Want(t, http.StatusOK, "All systems operational", "SQLite", "None due", "Running", "--public-url", "not the default",
			"0 photos, 0 B", "90 % used, 20.0 GiB free")
	for _, c := range []struct {
		space host.Space
		low   bool
	}{
		{host.Space{Total: 1 << 40, Free: 3e9, Usable: 3e9}, false},
		{host.Space{Total: 1 << 40, Free: 3e9, Usable: 1e9}, true}, // the rest is the administrator's
		{host.Space{Total: 1e9, Free: 2e8, Usable: 2e8}, false},
		{host.Space{Total: 1e9, Free: 9e7, Usable: 9e7}, true},
	} {
		w.Space = c.space
		page := v.Get("/desk/admin/system")
		if got := strings.Contains(page.Body, "Nearly full"); got != c.low {
			t.Errorf("%+v is nearly full: %t", c.space, got)
		}
	}
	w.Space = pagetest.Space
	w.MailStopped = true
	v.Get("/desk/admin/system").Want(t, http.StatusOK, "1 item needs attention", "Failed")
	w.MailStopped = false
	w.SweepError = "file <abc>: access denied"
	v.Get("/desk/admin/system").Want(t, http.StatusOK, "1 item needs attention", "Last round failed",
		"file &lt;abc&gt;: access denied")
	v.Get("/desk/admin/system?lang=ja").Want(t, http.StatusOK, "1 件の確認が必要です。", "前回の実行に失敗",
		"file &lt;abc&gt;: access denied")
	w.SweepError = ""
	v.Get("/desk/admin/system?lang=en").Want(t, http.StatusOK, "All systems operational")
	w.Order(t, w.Live, "")
	w.failed(t)
	w.Order(t, w.Test, order.MockFake)
	w.Clock.Advance(48 * time.Hour)
	v = w.AsStaff(t, w.Aoi)
	v.Get("/desk/admin/system").Want(t, http.StatusOK, "2 items need attention", "overdue")
}

func TestStatistics(t *testing.T) {
	w := newWorld(t)
	w.AsStaff(t, w.Aoi).Get("/desk/admin/statistics").Want(t, http.StatusOK, "No data yet")
	for range 3 {
		id := w.Order(t, w.Live, "")
		_, err := w.Service.ClaimOrder(t.Context(), w.Mika.Actor(access.Origin{}), id)
		must.NoError(t, err)
		w.Clock.Advance(20 * time.Minute)
		_, err = w.Service.CompleteOrder(t.Context(), w.Mika.Actor(access.Origin{}), id,
			&order.Verdict{Outcome: order.Authentic}, "")
		must.NoError(t, err)
	}
	_, err := w.Service.SaveStatistics(t.Context())
	must.NoError(t, err)
	v := w.AsStaff(t, w.Aoi)
	v.Get("/desk/admin/statistics").Want(t, http.StatusOK, "Mika Sato", "100 %", "<svg", "20 min", "Queue depth")
	v.Get("/desk/admin/statistics?days=90&lang=ja").Want(t, http.StatusOK, "統計")
	v.Get("/desk/admin/statistics?days=90").Want(t, http.StatusOK, "統計", "Mika Sato")
}
