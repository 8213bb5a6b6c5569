package portal_test

import (
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

const another = "a password of my own"

// activity returns the entries of the log of the portal, the newest first.
func (w *world) activity(t *testing.T) []*audit.Event {
	t.Helper()
	n, err := w.Store.EventCount(t.Context(), audit.PortalLog, w.Account.ID)
	must.NoError(t, err)
	events, err := w.Store.AuditBelow(t.Context(), w.Account.ID, audit.Filter{Log: audit.PortalLog}, n, 1000)
	must.NoError(t, err)
	return events
}

// quiet are the forms that change nothing, or nothing yet.
var quiet = []string{
	"POST /portal/sign-in/passkey/challenge", // nothing is kept
	"POST /portal/settings/passkeys/new",     // the passkey comes with the next form
}

// deed sends a form so that it is accepted, and tells what the log has to say.
type deed struct {
	code audit.Code
	form []string
	do   func(t *testing.T, w *world, v *pagetest.Visitor, path string) *pagetest.Page // instead of the form
}

var (
	passwordForm = []string{"password", password, "new_password", another, "repeat", another}
	inviteForm   = []string{"email", "n@acme.example", "role", "viewer"}
	emailForm    = []string{"email", "x@acme.example", "email_password", password}
)

// deeds has every form of the portal. One that is not here, or in quiet, fails the test.
var deeds = map[string]deed{
	"POST /portal/keys": {code: audit.KeyCreated, form: []string{
		"name", "K", "environment", "test", "scopes", "orders:read",
	}},
	"POST /portal/keys/{id}/rename":                {code: audit.KeyRenamed, form: []string{"name", "Other"}},
	"POST /portal/keys/{id}/networks":              {code: audit.KeyNetworksSet, form: []string{"networks", "10.0.0.0/8"}},
	"POST /portal/keys/{id}/revoke":                {code: audit.KeyRevoked},
	"POST /portal/team":                            {code: audit.UserInvited, form: inviteForm},
	"POST /portal/team/invitations/{id}/delete":    {code: audit.UserUninvited},
	"POST /portal/team/invitations/{id}/again":     {code: audit.UserInvited},
	"POST /portal/team/users/{id}/role":            {code: audit.RoleChanged, form: []string{"role", "developer"}},
	"POST /portal/team/users/{id}/remove":          {code: audit.UserRemoved},
	"POST /portal/team/users/{id}/reset":           {code: audit.UserReset},
	"POST /portal/team/users/{id}/second-factor":   {code: audit.UserFactorsReset},
	"POST /portal/team/locale":                     {code: audit.LocaleChanged, form: []string{"locale", "ja"}},
	"POST /portal/{env}/orders/{id}/cancel":        {code: audit.OrderCancel, do: cancelOrder},
	"POST /portal/{env}/orders/{id}/photos":        {code: audit.OrderPhotos, do: answerRequest},
	"POST /portal/{env}/orders/{id}/capture-link":  {code: audit.CaptureCreated, do: linkForRequest},
	"POST /portal/{env}/capture-links/{id}/revoke": {code: audit.CaptureRevoked},
	"POST /portal/{env}/capture-links": {code: audit.CaptureCreated, form: []string{
		"category", "bags", "brand", "prada", "life", "24",
	}},
	"POST /portal/{env}/webhooks":                {code: audit.WebhookCreated, do: createEndpoint},
	"POST /portal/{env}/webhooks/{id}/delete":    {code: audit.WebhookDeleted},
	"POST /portal/{env}/webhooks/{id}/pause":     {code: audit.WebhookPaused, form: []string{"paused", "1"}},
	"POST /portal/{env}/webhooks/{id}/rotate":    {code: audit.SecretRotated},
	"POST /portal/{env}/webhooks/{id}/test":      {code: audit.WebhookTested, form: []string{"event", "order-outcome"}},
	"POST /portal/{env}/deliveries":              {code: audit.Redelivered, do: redeliver},
	"POST /portal/{env}/deliveries/{id}/again":   {code: audit.Redelivered, do: redeliver},
	"POST /portal/test/sandbox":                  {code: audit.OrderCreated, do: createTestOrder},
	"POST /portal/test/balance":                  {code: audit.CreditsChanged, form: []string{"credits", "17"}},
	"POST /portal/test/orders/{id}/state":        {code: audit.OrderSimulated, form: []string{"state", "authentic"}},
	"POST /portal/test/orders/{id}/delayed":      {code: audit.OrderSimulated, form: []string{"delayed", "1"}},
	"POST /portal/live/credits/notice":           {code: audit.LowCreditsSet, form: []string{"below", "5"}},
	"POST /portal/sign-in":                       {code: audit.LoginSucceeded, do: enterPassword},
	"POST /portal/sign-in/code":                  {code: audit.LoginSucceeded, do: giveCode},
	"POST /portal/sign-in/passkey":               {code: audit.LoginSucceeded, do: usePasskey},
	"POST /portal/sign-out":                      {code: audit.SignedOut},
	"POST /portal/forgot":                        {code: audit.ResetRequested, do: forgot},
	"POST /portal/join":                          {code: audit.LoginSucceeded, do: join},
	"POST /portal/reset":                         {code: audit.PasswordChanged, do: reset},
	"POST /portal/reset/passkeys":                {code: audit.PasskeyRemoved, do: removeAfterReset},
	"POST /portal/email":                         {code: audit.EmailChanged, do: confirmEmail},
	"POST /portal/settings/confirm":              {code: audit.Confirmed, form: []string{"password", password}},
	"POST /portal/settings/confirm/passkey":      {code: audit.Confirmed, do: confirmWithPasskey},
	"POST /portal/settings/password":             {code: audit.PasswordChanged, form: passwordForm},
	"POST /portal/settings/email":                {code: audit.EmailChanged, form: emailForm},
	"POST /portal/settings/second-factor":        {code: audit.FactorAdded, do: turnFactorOn},
	"POST /portal/settings/second-factor/end":    {code: audit.FactorRemoved, do: turnFactorOff},
	"POST /portal/settings/recovery-codes":       {code: audit.CodesRenewed, do: renewCodes},
	"POST /portal/settings/passkeys":             {code: audit.PasskeyAdded, do: addPasskey},
	"POST /portal/settings/passkeys/{id}/rename": {code: audit.PasskeyRenamed, form: []string{"name", "Tablet"}},
	"POST /portal/settings/passkeys/{id}/remove": {code: audit.PasskeyRemoved, form: []string{"password", password}},
	"POST /portal/settings/sessions/{id}/end":    {code: audit.SessionsEnded, do: endSession},
	"POST /portal/settings/sessions/end":         {code: audit.SessionsEnded},
}

// TestEveryFormIsLogged sends every form of the portal: each leaves its entry.
func TestEveryFormIsLogged(t *testing.T) {
	patterns := patternsOf(newWorld(t))
	used := make(map[string]bool)
	for _, pattern := range patterns {
		if !strings.HasPrefix(pattern, "POST ") || slices.Contains(quiet, pattern) {
			continue
		}
		key := pattern
		if _, ok := deeds[key]; !ok {
			key = strings.NewReplacer("/portal/live/", "/portal/{env}/", "/portal/test/", "/portal/{env}/").Replace(pattern)
		}
		d, ok := deeds[key]
		if !ok {
			t.Errorf("%s leaves no entry in the log of the portal, or the test does not know which", pattern)
			continue
		}
		used[key] = true
		t.Run(pattern, func(t *testing.T) {
			w := newWorld(t)
			v, path := w.AsUser(t, w.Owner), w.target(t, pattern)
			before := w.activity(t)[0].Seq
			do := d.do
			if do == nil {
				do = func(_ *testing.T, _ *world, v *pagetest.Visitor, path string) *pagetest.Page {
					return v.Post(path, d.form...)
				}
			}
			p := do(t, w, v, path)
			if p != nil && p.Status != http.StatusSeeOther && p.Status != http.StatusOK {
				t.Fatalf("%d\n%.800s", p.Status, p.Body)
			}
			events := slices.DeleteFunc(w.activity(t), func(e *audit.Event) bool { return e.Seq <= before })
			if !slices.ContainsFunc(events, func(e *audit.Event) bool { return e.Code == d.code }) {
				t.Errorf("no entry %s among %v", d.code, events)
			}
		})
	}
	for key := range deeds {
		if !used[key] {
			t.Errorf("%s is no form of the portal", key)
		}
	}
}

func cancelOrder(t *testing.T, w *world, v *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	if strings.HasPrefix(path, "/portal/test") {
		id := w.Order(t, w.Test, order.MockAuthentic)
		v.Post("/portal/test/orders/"+id+"/state", "state", "queued").Want(t, http.StatusSeeOther)
		path = "/portal/test/orders/" + id + "/cancel"
	}
	return v.Post(path)
}

// answerRequest answers that no photo can be provided. Photos of Live orders are asked for by reviewers.
func answerRequest(t *testing.T, w *world, v *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	body, contentType := w.unableToProvide(t, w.asked(t, path))
	return v.Do(http.MethodPost, path, contentType, strings.NewReader(body))
}

// unableToProvide is a form that answers the photo request of an order: no photo can be provided.
func (w *world) unableToProvide(t *testing.T, orderID string) (body, contentType string) {
	t.Helper()
	o, err := w.Store.Order(t.Context(), orderID)
	must.NoError(t, err)
	unable := make(map[string]string)
	for _, r := range o.Requested {
		unable["unable."+r.IndexCode] = "1"
	}
	return formWithFiles(t, unable, nil)
}

// asked makes the order of an address wait for photos, and returns its id.
func (w *world) asked(t *testing.T, path string) string {
	t.Helper()
	id := strings.Split(path, "/")[4]
	if strings.HasPrefix(path, "/portal/live") {
		actor := w.Mika.Actor(access.Origin{})
		_, err := w.Service.ClaimOrder(t.Context(), actor, id)
		must.NoError(t, err)
		_, err = w.Service.RequestPhotos(t.Context(), actor, id, []order.RequestDraft{{
			IndexCode: "serial-number", Condition: w.Service.Catalog().Conditions()[0].Code, MaxPhotos: 1,
		}})
		must.NoError(t, err)
	}
	return id
}

func linkForRequest(t *testing.T, w *world, v *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	w.asked(t, path)
	return v.Post(path)
}

func createEndpoint(t *testing.T, w *world, v *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	key := w.Test
	if strings.HasPrefix(path, "/portal/live") {
		key = w.Live
	}
	return v.Post(path, "key", key.ID, "url", "https://127.0.0.1:1999/x", "events", "order-outcome", "auth", "hmac")
}

// redeliver sends a delivery again that has failed.
func redeliver(t *testing.T, w *world, v *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	env := access.Test
	if strings.HasPrefix(path, "/portal/live") {
		env = access.Live
	}
	id := w.delivery(t, env)
	d, err := w.Store.Delivery(t.Context(), id)
	must.NoError(t, err)
	due, err := w.Store.DueDeliveries(t.Context(), d.EndpointID, store.Place{}, w.Clock.Now(), 1)
	must.NoError(t, err)
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.EndDeliveries([]store.AttemptResult{{
			Attempt:    webhook.Attempt{DeliveryID: id, Number: 1, At: w.Clock.Now(), Failure: webhook.FailurePaused},
			EndpointID: d.EndpointID, DueAt: due[0].DueAt,
		}})
	}))
	if strings.HasSuffix(path, "/again") {
		path = "/portal/" + string(env) + "/deliveries/" + id + "/again"
	}
	return v.Post(path, "since", "day")
}

func createTestOrder(_ *testing.T, w *world, v *pagetest.Visitor, path string) *pagetest.Page {
	return v.Post(path, "category", "bags", "brand", "prada", "key", w.Test.ID, "outcome", "authentic", "indexes",
		"overall-picture")
}

func enterPassword(t *testing.T, w *world, _ *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	return w.Visit(t).Post(path, "email", w.Developer.Email, "password", password)
}

func giveCode(t *testing.T, w *world, _ *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	_, recovery := enrol(t, w, w.Developer)
	v := w.Visit(t)
	v.Post("/portal/sign-in", "email", w.Developer.Email, "password", password).Want(t, http.StatusSeeOther)
	return v.Post(path, "code", recovery[0])
}

func forgot(t *testing.T, w *world, _ *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	w.Reconfigure(t, shop.WithMail)
	p := w.Visit(t).Post(path, "email", w.Developer.Email)
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error { // as the sender of mail does
		return w.Service.SignIn(access.Portal).AnswerReset(tx, signin.RequestedReset{
			Audience: access.Portal, Email: w.Developer.Email, Locale: "en",
		})
	}))
	return p
}

func join(t *testing.T, w *world, _ *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	token, _ := w.invitation(t, "joins@acme.example", access.Viewer)
	p := w.Visit(t).Post(path, "token", token, "new_password", another, "repeat", another)
	if !slices.ContainsFunc(w.activity(t), func(e *audit.Event) bool { return e.Code == audit.UserJoined }) {
		t.Error("nobody has joined")
	}
	return p
}

// resetLink is a link for a new password of the developer.
func resetLink(t *testing.T, w *world) string {
	t.Helper()
	_, address, err := w.Service.ResetUserPassword(t.Context(), access.Operator, w.Account.ID, w.Developer.ID)
	must.NoError(t, err)
	return tokenOf(address)
}

func reset(t *testing.T, w *world, _ *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	return w.Visit(t).Post(path, "token", resetLink(t, w), "new_password", another, "repeat", another)
}

func removeAfterReset(t *testing.T, w *world, _ *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	w.passkey(t, w.Developer)
	v := w.Visit(t)
	v.Post("/portal/reset", "token", resetLink(t, w), "new_password", another, "repeat", another).
		Want(t, http.StatusSeeOther)
	return v.Post(path, "all", "1")
}

func confirmEmail(t *testing.T, w *world, v *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	var token string
	w.Reconfigure(t, shop.WithMail)
	v.Post("/portal/settings/email", "email", "y@acme.example", "email_password", password).
		Want(t, http.StatusSeeOther)
	if e := w.activity(t)[0]; e.Code != audit.EmailRequested {
		t.Errorf("the request is logged as %s", e.Code)
	}
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		address, err := w.Service.SignIn(access.Portal).MakeLink(tx, &access.Link{
			Kind: access.EmailChange, AccountID: w.Account.ID, UserID: w.Owner.ID, Email: "y@acme.example",
			CreatedBy: w.Owner.ID,
		})
		token = tokenOf(address)
		return err
	}))
	return w.Visit(t).Post(path, "token", token)
}

func turnFactorOn(t *testing.T, w *world, _ *pagetest.Visitor, _ string) *pagetest.Page {
	t.Helper()
	enrol(t, w, w.Owner)
	return nil
}

func turnFactorOff(t *testing.T, w *world, _ *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	_, recovery := enrol(t, w, w.Owner)
	return w.AsUser(t, w.Owner).Post(path, "off_password", password, "current_code", recovery[0])
}

func renewCodes(t *testing.T, w *world, _ *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	secret, _ := enrol(t, w, w.Owner)
	w.Clock.Advance(time.Minute)
	code, err := totp.GenerateCode(secret, w.Clock.Now())
	must.NoError(t, err)
	return w.AsUser(t, w.Owner).Post(path, "renew_password", password, "current_code", code)
}

var (
	creationPattern = regexp.MustCompile(`data-passkey-create="([^"]+)"`)
	ceremonyPattern = regexp.MustCompile(`name="ceremony" value="([^"]+)"`)
	optionsPattern  = regexp.MustCompile(`(?s)^\{"options":(.*),"ceremony":"([^"]+)"\}`)
)

func addPasskeyTo(t *testing.T, w *world, v *pagetest.Visitor) (*device.Device, *pagetest.Page) {
	t.Helper()
	d := &device.Device{Origin: w.Service.Address(), Counts: true}
	p := v.Post("/portal/settings/passkeys/new", "name", "Phone", "passkey_password", password).Want(t, http.StatusOK)
	options := html.UnescapeString(creationPattern.FindStringSubmatch(p.Body)[1])
	ceremony := html.UnescapeString(ceremonyPattern.FindStringSubmatch(p.Body)[1])
	return d, v.Post("/portal/settings/passkeys", "ceremony", ceremony, "answer", d.Create(t, []byte(options)))
}

func addPasskey(t *testing.T, w *world, v *pagetest.Visitor, _ string) *pagetest.Page {
	t.Helper()
	_, p := addPasskeyTo(t, w, v)
	return p
}

func usePasskey(t *testing.T, w *world, v *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	d, _ := addPasskeyTo(t, w, v)
	fresh := w.Visit(t)
	c := optionsPattern.FindStringSubmatch(fresh.Post(path+"/challenge").Want(t, http.StatusOK).Body)
	return fresh.Post(path, "ceremony", c[2], "answer", d.Get(t, []byte(c[1])))
}

func confirmWithPasskey(t *testing.T, w *world, v *pagetest.Visitor, path string) *pagetest.Page {
	t.Helper()
	d, _ := addPasskeyTo(t, w, v)
	c := optionsPattern.FindStringSubmatch(v.Post("/portal/sign-in/passkey/challenge").Want(t, http.StatusOK).Body)
	return v.Post(path, "ceremony", c[2], "answer", d.Get(t, []byte(c[1])))
}

func endSession(t *testing.T, w *world, v *pagetest.Visitor, _ string) *pagetest.Page {
	t.Helper()
	w.AsUser(t, w.Owner)
	sessions, err := w.Service.Sessions(t.Context(), access.Portal, w.Owner.ID)
	must.NoError(t, err)
	return v.Post("/portal/settings/sessions/" + sessions[0].ID + "/end")
}

// TestActivity reads the log of the portal as people do.
func TestActivity(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		w := &world{World: pagetest.On(t, target)}
		v := w.AsUser(t, w.Owner)
		invited := w.AddUser(t, w.Account.ID, "=cmd()@acme.example", access.Viewer)
		v.Post("/portal/team/users/"+invited.ID+"/role", "role", "developer").Want(t, http.StatusSeeOther)
		v.Get("/portal/activity").Want(t, http.StatusOK, "Role changed", "10:00:00 UTC", "Signed in", "127.0.0.1")
		v.Get("/portal/activity?code=team.role-changed").Want(t, http.StatusOK, "Role changed", w.Owner.Email)
		v.Get("/portal/activity?code=nonsense").Want(t, http.StatusOK, "Role changed")
		e := w.activity(t)[0]
		if e.Code != audit.RoleChanged || e.Metadata["from"] != "viewer" || e.Metadata["to"] != "developer" ||
			e.Actor.ID != w.Owner.ID || e.Actor.IP != "127.0.0.1" || e.Target.ID != invited.ID {
			t.Errorf("logged %+v", e)
		}
		for _, file := range []string{
			"/portal/activity.csv", "/portal/audit.csv", "/portal/live/orders.csv", "/portal/test/credits.csv",
		} {
			v.Get(file).Want(t, http.StatusOK)
			last := w.activity(t)[0]
			if name, _ := last.Metadata["file"].(string); last.Code != audit.DataExported || !strings.HasSuffix(name, ".csv") {
				t.Errorf("%s is logged as %+v", file, last)
			}
		}
		v.Get("/portal/activity.csv").Want(t, http.StatusOK, "team.role-changed", "T10:00:00")
		for _, u := range []*access.User{w.Viewer, w.Developer} {
			w.AsUser(t, u).Get("/portal/activity").Want(t, http.StatusForbidden)
			w.AsUser(t, u).Get("/portal/audit").Want(t, http.StatusOK).Lacks(t, "/portal/activity")
		}
		report, err := proof.Check(t.Context(), w.Proof())
		must.NoError(t, err)
		if !report.OK || report.PortalEvents == 0 {
			t.Errorf("the check says %+v", report)
		}
	})
}

// TestActivityOfOthers checks what the log says of those who are not people of the account.
func TestActivityOfOthers(t *testing.T) {
	w := newWorld(t)
	admin := w.Aoi.Actor(access.Origin{IP: "10.9.9.9", UserAgent: "Staff browser"})
	k := w.key(t, access.Test)
	must.NoError(t, w.Service.SetKeyLimits(t.Context(), admin, k.ID, map[string]int{"read": 7}))
	if e := w.activity(t)[0]; e.Code != audit.KeyLimited || e.Actor.Type != audit.BySystem || e.Actor.IP != "" ||
		e.Actor.ID != "" {
		t.Errorf("logged %+v", e)
	}
	e := w.endpoint(t, access.Test)
	_, err := w.Service.PauseEndpoint(t.Context(), w.Test.Actor(access.Origin{IP: "192.0.2.1"}), e.ID, true)
	if err == nil {
		t.Error("a key pauses the endpoint of another")
	}
	owner := w.Owner.Actor(access.Test, access.Origin{})
	for code, do := range map[audit.Code]func() error{
		audit.WebhookPaused: func() error { _, err := w.Service.PauseEndpoint(t.Context(), owner, e.ID, true); return err },
		audit.SecretRotated: func() error { _, _, err := w.Service.RotateSecret(t.Context(), owner, e.ID); return err },
		audit.CaptureCreated: func() error {
			_, _, err := w.Service.CreateCaptureLink(t.Context(), w.Test.Actor(access.Origin{}), service.NewCaptureLink{
				CategoryCode: "bags", BrandCode: "prada",
			})
			return err
		},
		audit.CreditsChanged: func() error {
			_, err := w.Service.GrantCredits(t.Context(), admin, w.Live.Tenant, 5, "thanks")
			return err
		},
	} {
		must.NoError(t, do())
		if last := w.activity(t)[0]; last.Code != code || strings.Contains(last.Actor.Name, "Staff browser") {
			t.Errorf("logged %+v, want %s", last, code)
		}
	}
}
