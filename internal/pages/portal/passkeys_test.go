package portal_test

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/device"
)

// passkey gives a user a passkey of no device, for pages that only show it.
func (w *world) passkey(t *testing.T, u *access.User) *access.Passkey {
	t.Helper()
	id := store.NewID()
	k := &access.Passkey{
		ID: id, UserID: u.ID, Name: "Vault 7 laptop", CredentialID: []byte("credential " + id), PublicKey: []byte("key"), BackupEligible: true, BackedUp: true,
		AAGUID: "00000000-0000-0000-0000-000000000000", CreatedAt: w.Clock.Now(),
	}
	check(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		if err := tx.DeletePasskeys(u.ID); err != nil { // there is a limit
			return err
		}
		return tx.InsertPasskey(k)
	}))
	return k
}

// device returns one that is at the portal's own address.
func (w *world) device() *device.Device {
	return &device.Device{Origin: w.Service.PublicURL, Counts: true}
}

var (
	creationPattern = regexp.MustCompile(`data-passkey-create="([^"]+)"`)
	ceremonyPattern = regexp.MustCompile(`name="ceremony" value="([^"]+)"`)
	passkeyPattern  = regexp.MustCompile(`/portal/settings/passkeys/([0-9a-f-]{36})"`)
)

// addPasskey goes through the pages with which a user adds a passkey.
func (v *visitor) addPasskey(d *device.Device, name string) *page {
	v.t.Helper()
	p := v.post("/portal/settings/passkeys/new", "name", name, "passkey_password", password).want(v.t, http.StatusOK)
	options := html.UnescapeString(creationPattern.FindStringSubmatch(p.body)[1])
	ceremony := html.UnescapeString(ceremonyPattern.FindStringSubmatch(p.body)[1])
	return v.post("/portal/settings/passkeys", "ceremony", ceremony, "answer", d.Create(v.t, json.RawMessage(options)))
}

type challenge struct {
	Options  json.RawMessage
	Ceremony string
}

func (v *visitor) challenge() challenge {
	v.t.Helper()
	p := v.post("/portal/sign-in/passkey/challenge").want(v.t, http.StatusOK)
	var c challenge
	check(v.t, json.Unmarshal([]byte(p.body), &c))
	return c
}

func (v *visitor) usePasskey(d *device.Device, pairs ...string) *page {
	v.t.Helper()
	c := v.challenge()
	return v.post("/portal/sign-in/passkey", append(pairs, "ceremony", c.Ceremony, "answer", d.Get(v.t, c.Options))...)
}

func TestPasskeySettings(t *testing.T) {
	w := newWorld(t)
	v, elsewhere := w.as(t, w.Developer), w.as(t, w.Developer)
	v.get("/portal/settings").want(t, http.StatusOK, "Passkeys", "You have none yet.", "Adding a passkey needs JavaScript.", `data-passkey="here" hidden`)
	t.Run("Refused", func(t *testing.T) {
		v.post("/portal/settings/passkeys/new", "name", "Phone", "passkey_password", "wrong").want(t, http.StatusUnprocessableEntity, "The password is wrong.", `value="Phone"`)
		v.post("/portal/settings/passkeys/new", "name", " ", "passkey_password", password).want(t, http.StatusUnprocessableEntity, "field-error")
		v.post("/portal/settings/passkeys", "ceremony", "x", "answer", "{}").want(t, http.StatusUnprocessableEntity, "That took too long")
	})
	d := w.device()
	p := v.addPasskey(d, "Phone <&>").want(t, http.StatusSeeOther)
	p = v.get(p.location).want(t, http.StatusOK, "“Phone &lt;&amp;&gt;” is added. Other browsers are signed out.", "never")
	if p := elsewhere.get("/portal/keys"); p.status != http.StatusSeeOther {
		t.Errorf("another browser goes on: %d", p.status)
	}
	address := "/portal/settings/passkeys/" + passkeyPattern.FindStringSubmatch(p.body)[1]
	v.get(address).want(t, http.StatusOK, "Phone &lt;&amp;&gt;")
	t.Run("NotSignedByTheDevice", func(t *testing.T) {
		forger := w.device()
		forger.Forged = true
		v.addPasskey(forger, "Forged").want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
	})
	t.Run("Rename", func(t *testing.T) {
		v.post(address+"/rename", "name", "").want(t, http.StatusUnprocessableEntity, "field-error")
		v.follow(address+"/rename", "name", "Tablet").want(t, http.StatusOK, "The passkey is now called “Tablet”.").lacks(t, "Phone")
	})
	t.Run("OfOthers", func(t *testing.T) {
		for _, other := range []*access.User{w.Owner, w.Stranger} {
			o := w.as(t, other)
			o.get(address).want(t, http.StatusNotFound).lacks(t, "Tablet")
			o.post(address+"/rename", "name", "Mine").want(t, http.StatusNotFound)
			o.post(address+"/remove", "password", password).want(t, http.StatusNotFound)
			o.get("/portal/settings").want(t, http.StatusOK).lacks(t, "Tablet")
		}
		v.get("/portal/settings/passkeys/nonsense").want(t, http.StatusNotFound)
	})
	t.Run("Remove", func(t *testing.T) {
		v.post(address+"/remove", "password", "wrong").want(t, http.StatusUnprocessableEntity, "The password is wrong.")
		w.visit(t).usePasskey(d).want(t, http.StatusSeeOther)
		v.follow(address+"/remove", "password", password).want(t, http.StatusOK, "“Tablet” is removed.", "You have none yet.")
		v.get(address).want(t, http.StatusNotFound)
		w.visit(t).usePasskey(d).want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
	})
}

func TestPasskeySignIn(t *testing.T) {
	w := newWorld(t)
	_, _ = enrol(t, w, w.Developer) // a second factor that is not asked for
	d := w.device()
	w.as(t, w.Developer).addPasskey(d, "Phone").want(t, http.StatusSeeOther)

	t.Run("Succeeds", func(t *testing.T) {
		v := w.as(t, w.Stranger)
		planted := v.cookies["assay_portal"].Value
		if p := v.usePasskey(d, "next", "/portal/keys").want(t, http.StatusSeeOther); p.location != "/portal/keys" {
			t.Errorf("leads to %q", p.location)
		}
		w.wantEvent(t, audit.LoginSucceeded, w.Developer, nil)
		v.get("/portal/keys").want(t, http.StatusOK, w.Developer.Email)
		if v.cookies["assay_portal"].Value == planted {
			t.Error("the session of before is gone on with")
		}
		if p := v.usePasskey(d, "next", "https://evil.example"); p.location != "/portal" {
			t.Errorf("leads to %q", p.location)
		}
		v.get("/portal/settings").want(t, http.StatusOK, "Phone").lacks(t, "never")
	})
	t.Run("ReplayedForm", func(t *testing.T) {
		v := w.visit(t)
		c := v.challenge()
		answer := d.Get(t, c.Options)
		v.post("/portal/sign-in/passkey", "ceremony", c.Ceremony, "answer", answer).want(t, http.StatusSeeOther)
		v.post("/portal/sign-in/passkey", "ceremony", c.Ceremony, "answer", answer).want(t, http.StatusUnprocessableEntity, "That took too long, or was done before.")
		w.wantEvent(t, audit.LoginFailed, w.Developer, map[string]any{"reason": "passkey-too-late"})
	})
	t.Run("OtherBrowser", func(t *testing.T) {
		c := w.visit(t).challenge()
		for _, v := range []*visitor{w.visit(t), func() *visitor { v := w.visit(t); v.challenge(); return v }()} {
			v.post("/portal/sign-in/passkey", "ceremony", c.Ceremony, "answer", d.Get(t, c.Options)).want(t, http.StatusUnprocessableEntity, "That took too long")
		}
	})
	t.Run("SeveralPagesOfOneBrowser", func(t *testing.T) {
		v := w.visit(t)
		first := v.challenge()
		v.challenge()
		v.post("/portal/sign-in/passkey", "ceremony", first.Ceremony, "answer", d.Get(t, first.Options)).want(t, http.StatusSeeOther)
	})
	t.Run("Expired", func(t *testing.T) {
		v := w.visit(t)
		c := v.challenge()
		w.Clock.Advance(service.PasskeyCeremonyLife)
		v.post("/portal/sign-in/passkey", "ceremony", c.Ceremony, "answer", d.Get(t, c.Options)).want(t, http.StatusUnprocessableEntity, "That took too long")
	})
	t.Run("Copied", func(t *testing.T) {
		thief := d.Copy()
		w.visit(t).usePasskey(d).want(t, http.StatusSeeOther)
		w.visit(t).usePasskey(thief).want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
		w.wantEvent(t, audit.LoginFailed, w.Developer, map[string]any{"reason": "passkey-sign-count"})
	})
	t.Run("Throttled", func(t *testing.T) {
		w.Clock.Advance(16 * time.Minute)
		forger := d.Copy()
		forger.Forged = true
		for range 10 {
			w.visit(t).usePasskey(forger).want(t, http.StatusUnprocessableEntity)
		}
		w.visit(t).usePasskey(d).want(t, http.StatusTooManyRequests, "Too many attempts")
		w.Clock.Advance(16 * time.Minute)
		w.visit(t).usePasskey(d).want(t, http.StatusSeeOther)
	})
	t.Run("ResetByAnOwner", func(t *testing.T) {
		w.as(t, w.Owner).follow("/portal/team/users/"+w.Developer.ID+"/second-factor").want(t, http.StatusOK, "has no second factor and no passkeys now")
		w.visit(t).usePasskey(d).want(t, http.StatusUnprocessableEntity)
		w.as(t, w.Owner).follow("/portal/team/users/"+w.Owner.ID+"/second-factor").want(t, http.StatusOK, "changed in your settings")
	})
}

// TestPasskeysUnusable holds what the pages are like at an address where there are no passkeys.
func TestPasskeysUnusable(t *testing.T) {
	w := newWorld(t)
	k := w.passkey(t, w.Owner)
	w.Service.PublicURL = w.Server.URL // an IP address
	v := w.as(t, w.Owner)
	v.get("/portal/settings").want(t, http.StatusOK, "Passkeys need the portal at an https address with a domain name.", w.Server.URL, k.Name).lacks(t, "/portal/settings/passkeys/new")
	v.post("/portal/settings/passkeys/new", "name", "Phone", "passkey_password", password).want(t, http.StatusUnprocessableEntity, "Passkeys need the portal at an https address")
	v.follow("/portal/settings/passkeys/"+k.ID+"/remove", "password", password).want(t, http.StatusOK, "is removed")
	w.visit(t).get("/portal/sign-in").want(t, http.StatusOK).lacks(t, "passkey")
	w.visit(t).post("/portal/sign-in/passkey/challenge").want(t, http.StatusConflict)
	w.visit(t).post("/portal/sign-in/passkey", "answer", "{}").want(t, http.StatusUnprocessableEntity, "Passkeys need the portal")
	w.visit(t).post("/portal/sign-in", "email", w.Owner.Email, "password", password).want(t, http.StatusSeeOther)
}

// TestHostilePasskeys sends what no browser sends.
func TestHostilePasskeys(t *testing.T) {
	w := newWorld(t)
	v := w.as(t, w.Owner)
	d := w.device()
	v.addPasskey(d, "Phone").want(t, http.StatusSeeOther)
	good := d.Get(t, w.visit(t).challenge().Options)
	for _, answer := range []string{
		"", "null", "{}", "[]", "\x00", "{\"id\":", strings.Repeat("{\"a\":", 5000), good[:len(good)/2], good + good,
		regexp.MustCompile(`"signature":"[^"]*"`).ReplaceAllString(good, `"signature":""`),
		regexp.MustCompile(`"authenticatorData":"[^"]*"`).ReplaceAllString(good, `"authenticatorData":"AAAA"`),
		regexp.MustCompile(`"clientDataJSON":"[^"]*"`).ReplaceAllString(good, `"clientDataJSON":"e30"`),
		regexp.MustCompile(`"userHandle":"[^"]*"`).ReplaceAllString(good, `"userHandle":null`),
		regexp.MustCompile(`"(id|rawId)":"[^"]*"`).ReplaceAllString(good, `"$1":"`+strings.Repeat("A", 5000)+`"`),
	} {
		w.Clock.Advance(16 * time.Minute)
		visitor := w.visit(t)
		c := visitor.challenge()
		visitor.post("/portal/sign-in/passkey", "ceremony", c.Ceremony, "answer", answer).want(t, http.StatusUnprocessableEntity)
		p := v.post("/portal/settings/passkeys/new", "name", "Phone", "passkey_password", password).want(t, http.StatusOK)
		ceremony := html.UnescapeString(ceremonyPattern.FindStringSubmatch(p.body)[1])
		v.post("/portal/settings/passkeys", "ceremony", ceremony, "answer", answer).want(t, http.StatusUnprocessableEntity)
	}
}
