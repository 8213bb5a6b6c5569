package portal_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
)

var secretKeyPattern = regexp.MustCompile(`assay_(test|live)_\w{38}`)

// TestKeyNetworks restricts keys to networks, at their making and afterwards.
func TestKeyNetworks(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	from := func(secret, address string) string {
		_, err := w.Service.Authenticate(t.Context(), secret, address)
		return fault.CodeOf(err)
	}
	form := []string{"name", "Shop", "environment", "test", "scopes", "orders:read"}
	v.Post("/portal/keys", append(form, "networks", "192.0.2.1, 300.1.1.1")...).
		Want(t, http.StatusUnprocessableEntity, "“300.1.1.1” is neither an IPv4 or IPv6 address", "192.0.2.1, 300.1.1.1")
	v.Post("/portal/keys",
		append(form, "networks", strings.Join(strings.Split("0123456789abcdefghijk", ""), ".1 ")+".1")...).
		Want(t, http.StatusUnprocessableEntity, "“0.1”")
	var many strings.Builder
	for i := range access.MaxNetworks + 1 {
		many.WriteString("2001:db8::" + string(rune('a'+i%6)) + string(rune('0'+i%10)) + "\n")
	}
	v.Post("/portal/keys", append(form, "networks", many.String())...).
		Want(t, http.StatusUnprocessableEntity, "At most 20 networks.")

	p := v.Post("/portal/keys", append(form, "networks", "192.0.2.77/24\r\n2001:DB8::/32")...).Want(t, http.StatusOK)
	secret := secretKeyPattern.FindString(p.Body)
	if e := w.lastEvent(t); e.Code != audit.KeyCreated || len(e.Metadata) != 3 {
		t.Errorf("event %+v", e)
	}
	if from(secret, "192.0.2.5") != "" || from(secret, "2001:db8::9") != "" || from(secret, "203.0.113.1") != "forbidden" {
		t.Error("the networks are not those that were asked for")
	}
	k, err := w.Service.Authenticate(t.Context(), secret, "192.0.2.5")
	must.NoError(t, err)
	v.Get("/portal/keys").Want(t, http.StatusOK, "<code>192.0.2.0/24</code> <code>2001:db8::/32</code>", "anywhere")
	page := "/portal/keys/" + k.ID
	v.Get(page).Want(t, http.StatusOK, "<code>192.0.2.0/24</code> <code>2001:db8::/32</code>", page+"/networks")
	w.AsUser(t, w.Viewer).Get(page).Want(t, http.StatusOK, "192.0.2.0/24").
		Lacks(t, page+"/networks", page+"/rename", page+"/revoke")

	before := w.events(t)
	v.Get(page+"/networks").Want(t, http.StatusOK, "192.0.2.0/24\n2001:db8::/32</textarea>", "<code>127.0.0.1</code>")
	v.Post(page+"/networks", "networks", "shop.example").
		Want(t, http.StatusUnprocessableEntity, "“shop.example” is neither an IPv4", "shop.example</textarea>")
	v.Submit(page+"/networks", "networks", "203.0.113.1").
		Want(t, http.StatusOK, "The networks of Shop are saved.", "<code>203.0.113.1</code>")
	if from(secret, "203.0.113.1") != "" || from(secret, "192.0.2.5") != "forbidden" {
		t.Error("the networks are the old ones")
	}
	v.Submit(page+"/networks", "networks", " ").Want(t, http.StatusOK, "anywhere")
	if from(secret, "198.51.100.1") != "" {
		t.Error("the key is restricted still")
	}
	if n := w.events(t); n != before {
		t.Errorf("%d events were written, of which the interface knows none", n-before)
	}
	v.Post(page + "/revoke")
	v.Get(page+"/networks").Want(t, http.StatusNotFound)
	v.Post(page+"/networks", "networks", "192.0.2.1").Want(t, http.StatusNotFound)
	v.Get(page).Want(t, http.StatusOK, "revoked").Lacks(t, page+"/networks", "Rate limit usage")
}

// TestLimitsInUse shows what a program has used of its limits, and that looking costs nothing.
func TestLimitsInUse(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Viewer)
	k, secret, err := w.Service.CreateKey(t.Context(), access.Operator, service.NewKey{
		Tenant: access.Tenant{AccountID: w.Account.ID, Environment: access.Test}, Name: "Busy", Scopes: access.AllScopes,
		Limits: map[string]int{"read": 4},
	})
	must.NoError(t, err)
	call := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.Server.URL+"/v1/integrations/balance", nil)
		must.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+secret)
		res, err := http.DefaultClient.Do(r)
		must.NoError(t, err)
		must.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	page := "/portal/keys/" + k.ID
	v.Get(page).Want(t, http.StatusOK, "0 of 4", "0 of 120", "0 of 30", "0 of 20", "0 of 10").Lacks(t, "in 60 s")
	v.Get("/portal/test").Want(t, http.StatusOK, "No key in this environment was used in the last minute.")
	for range 3 {
		call()
	}
	w.Clock.Advance(18 * time.Second)
	for range 3 {
		v.Get(page).Want(t, http.StatusOK, "3 of 4", "in 42 s", `class="gauge-use" width="75"`)
	}
	v.Get("/portal/test").Want(t, http.StatusOK, "Busy", "3 of 4", "in 42 s").Lacks(t, "0 of 120")
	v.Get("/portal/live").Want(t, http.StatusOK).Lacks(t, "Busy")
	w.AsUser(t, w.Stranger).Get("/portal/test").Want(t, http.StatusOK).Lacks(t, "3 of 4")
	if status := call(); status != http.StatusOK {
		t.Errorf("the fourth request is %d: looking cost a request", status)
	}
	if status := call(); status != http.StatusTooManyRequests {
		t.Errorf("the fifth request is %d", status)
	}
	v.Get(page).Want(t, http.StatusOK, "4 of 4", "gauge-bad")
	w.Clock.Advance(42 * time.Second)
	v.Get(page).Want(t, http.StatusOK, "0 of 4")
	v.Get("/portal/test").Want(t, http.StatusOK, "No key in this environment was used in the last minute.")
}

// TestUseOfLimits draws how much of its limits a key has used in the last hour.
func TestUseOfLimits(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Viewer)
	page := "/portal/keys/" + w.Test.ID
	v.Get(page).Want(t, http.StatusOK, "Busiest minute").Lacks(t, "Use of the limits per minute")
	now := w.Clock.Now()
	w.use(t, w.Test, now.Add(-59*time.Minute), 15, "POST /v1/integrations/orders")
	w.use(t, w.Test, now.Add(-3*time.Minute), 30, "GET /v1/integrations/orders")
	w.use(t, w.Test, now.Add(-3*time.Minute+time.Second), 40, "GET /v1/integrations/balance")
	w.use(t, w.Test, now.Add(-time.Minute), 12, "POST /v1/integrations/webhooks")
	w.use(t, w.Test, now.Add(-61*time.Minute), 20, "POST /v1/integrations/photos")
	w.use(t, w.Live, now, 99, "GET /v1/integrations/catalog/brands")
	v.Get(page).Want(t, http.StatusOK, "Use of the limits per minute", "15 of 30", "70 of 300", "12 of 10", "0 of 20",
		"0 of 120", "gauge-bad", ">Limit<", ">50<", ">120<")
	w.AsUser(t, w.Stranger).Get(page).Want(t, http.StatusNotFound)
}
