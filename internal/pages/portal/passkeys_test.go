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
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

// passkey gives a user a passkey of no device, for pages that only show it.
func (w *world) passkey(t *testing.T, u *access.User) *access.Passkey {
	t.Helper()
	id := store.NewID()
	k := &access.Passkey{
		ID: id, UserID: u.ID, Name: "Vault 7 laptop", CredentialID: []byte("credential " + id), PublicKey: []byte("key"),
		BackupEligible: true, BackedUp: true, AAGUID: "00000000-0000-0000-0000-000000000000", CreatedAt: w.Clock.Now(),
	}
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
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
func addPasskey(v *pagetest.Visitor, d *device.Device, name string) *pagetest.Page {
	v.T.Helper()
	p := v.Post("/portal/settings/passkeys/new", "name", name, "passkey_password", password).Want(v.T, http.StatusOK)
	options := html.UnescapeString(creationPattern.FindStringSubmatch(p.Body)[1])
	ceremony := html.UnescapeString(ceremonyPattern.FindStringSubmatch(p.Body)[1])
	return v.Post("/portal/settings/passkeys", "ceremony", ceremony, "answer", d.Create(v.T, json.RawMessage(options)))
}

type challenge struct {
	Options  json.RawMessage
	Ceremony string
}

func newChallenge(v *pagetest.Visitor) challenge {
	v.T.Helper()
	p := v.Post("/portal/sign-in/passkey/challenge").Want(v.T, http.StatusOK)
	var c challenge
	must.NoError(v.T, json.Unmarshal([]byte(p.Body), &c))
	return c
}

func usePasskey(v *pagetest.Visitor, d *device.Device, pairs ...string) *pagetest.Page {
	v.T.Helper()
	c := newChallenge(v)
	return v.Post("/portal/sign-in/passkey", append(pairs, "ceremony", c.Ceremony, "answer", d.Get(v.T, c.Options))...)
}

func TestPasskeySettings(t *testing.T) {
	w := newWorld(t)
	v, elsewhere := w.AsUser(t, w.Developer), w.AsUser(t, w.Developer)
	v.Get("/portal/settings").
		Want(t, http.StatusOK, "Passkeys", "You have none yet.", "Adding a passkey needs JavaScript.",
			`data-passkey="here" hidden`)
	t.Run("Refused", func(t *testing.T) {
		v.Post("/portal/settings/passkeys/new", "name", "Phone", "passkey_password", "wrong").
			Want(t, http.StatusUnprocessableEntity, "The password is wrong.", `value="Phone"`)
		v.Post("/portal/settings/passkeys/new", "name", " ", "passkey_password", password).
			Want(t, http.StatusUnprocessableEntity, "field-error")
		v.Post("/portal/settings/passkeys", "ceremony", "x", "answer", "{}").
			Want(t, http.StatusUnprocessableEntity, "That took too long")
	})
	d := w.device()
	p := addPasskey(v, d, "Phone <&>").Want(t, http.StatusSeeOther)
	p = v.Get(p.Location).Want(t, http.StatusOK, "“Phone &lt;&amp;&gt;” is added. Other browsers are signed out.", "never")
	if p := elsewhere.Get("/portal/keys"); p.Status != http.StatusSeeOther {
		t.Errorf("another browser goes on: %d", p.Status)
	}
	address := "/portal/settings/passkeys/" + passkeyPattern.FindStringSubmatch(p.Body)[1]
	v.Get(address).Want(t, http.StatusOK, "Phone &lt;&amp;&gt;")
	t.Run("NotSignedByTheDevice", func(t *testing.T) {
		forger := w.device()
		forger.Forged = true
		addPasskey(v, forger, "Forged").Want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
	})
	t.Run("Rename", func(t *testing.T) {
		v.Post(address+"/rename", "name", "").Want(t, http.StatusUnprocessableEntity, "field-error")
		v.Submit(address+"/rename", "name", "Tablet").Want(t, http.StatusOK, "The passkey is now called “Tablet”.").
			Lacks(t, "Phone")
	})
	t.Run("OfOthers", func(t *testing.T) {
		for _, other := range []*access.User{w.Owner, w.Stranger} {
			o := w.AsUser(t, other)
			o.Get(address).Want(t, http.StatusNotFound).Lacks(t, "Tablet")
			o.Post(address+"/rename", "name", "Mine").Want(t, http.StatusNotFound)
			o.Post(address+"/remove", "password", password).Want(t, http.StatusNotFound)
			o.Get("/portal/settings").Want(t, http.StatusOK).Lacks(t, "Tablet")
		}
		v.Get("/portal/settings/passkeys/nonsense").Want(t, http.StatusNotFound)
	})
	t.Run("Remove", func(t *testing.T) {
		v.Post(address+"/remove", "password", "wrong").Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
		usePasskey(w.Visit(t), d).Want(t, http.StatusSeeOther)
		v.Submit(address+"/remove", "password", password).Want(t, http.StatusOK, "“Tablet” is removed.", "You have none yet.")
		v.Get(address).Want(t, http.StatusNotFound)
		usePasskey(w.Visit(t), d).Want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
	})
}

func TestPasskeySignIn(t *testing.T) {
	w := newWorld(t)
	_, _ = enrol(t, w, w.Developer) // a second factor that is not asked for
	d := w.device()
	addPasskey(w.AsUser(t, w.Developer), d, "Phone").Want(t, http.StatusSeeOther)

	t.Run("Succeeds", func(t *testing.T) {
		v := w.AsUser(t, w.Stranger)
		planted := v.Cookies["assay_portal"].Value
		if p := usePasskey(v, d, "next", "/portal/keys").Want(t, http.StatusSeeOther); p.Location != "/portal/keys" {
			t.Errorf("leads to %q", p.Location)
		}
		w.wantEvent(t, audit.LoginSucceeded, w.Developer, nil)
		v.Get("/portal/keys").Want(t, http.StatusOK, w.Developer.Email)
		if v.Cookies["assay_portal"].Value == planted {
			t.Error("the session of before is gone on with")
		}
		if p := usePasskey(v, d, "next", "https://evil.example"); p.Location != "/portal" {
			t.Errorf("leads to %q", p.Location)
		}
		v.Get("/portal/settings").Want(t, http.StatusOK, "Phone").Lacks(t, "never")
	})
	t.Run("ReplayedForm", func(t *testing.T) {
		v := w.Visit(t)
		c := newChallenge(v)
		answer := d.Get(t, c.Options)
		v.Post("/portal/sign-in/passkey", "ceremony", c.Ceremony, "answer", answer).Want(t, http.StatusSeeOther)
		v.Post("/portal/sign-in/passkey", "ceremony", c.Ceremony, "answer", answer).
			Want(t, http.StatusUnprocessableEntity, "That took too long, or was done before.")
		w.wantEvent(t, audit.LoginFailed, w.Developer, map[string]any{"reason": "passkey-too-late"})
	})
	t.Run("OtherBrowser", func(t *testing.T) {
		c := newChallenge(w.Visit(t))
		for _, v := range []*pagetest.Visitor{
			w.Visit(t), func() *pagetest.Visitor { v := w.Visit(t); newChallenge(v); return v }(),
		} {
			v.Post("/portal/sign-in/passkey", "ceremony", c.Ceremony, "answer", d.Get(t, c.Options)).
				Want(t, http.StatusUnprocessableEntity, "That took too long")
		}
	})
	t.Run("SeveralPagesOfOneBrowser", func(t *testing.T) {
		v := w.Visit(t)
		first := newChallenge(v)
		newChallenge(v)
		v.Post("/portal/sign-in/passkey", "ceremony", first.Ceremony, "answer", d.Get(t, first.Options)).
			Want(t, http.StatusSeeOther)
	})
	t.Run("Expired", func(t *testing.T) {
		v := w.Visit(t)
		c := newChallenge(v)
		w.Clock.Advance(service.PasskeyCeremonyLife)
		v.Post("/portal/sign-in/passkey", "ceremony", c.Ceremony, "answer", d.Get(t, c.Options)).
			Want(t, http.StatusUnprocessableEntity, "That took too long")
	})
	t.Run("Copied", func(t *testing.T) {
		thief := d.Copy()
		usePasskey(w.Visit(t), d).Want(t, http.StatusSeeOther)
		usePasskey(w.Visit(t), thief).Want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
		w.wantEvent(t, audit.LoginFailed, w.Developer, map[string]any{"reason": "passkey-sign-count"})
	})
	t.Run("Throttled", func(t *testing.T) {
		w.Clock.Advance(16 * time.Minute)
		forger := d.Copy()
		forger.Forged = true
		for range 10 {
			usePasskey(w.Visit(t), forger).Want(t, http.StatusUnprocessableEntity)
		}
		usePasskey(w.Visit(t), d).Want(t, http.StatusTooManyRequests, "Too many attempts")
		w.Clock.Advance(16 * time.Minute)
		usePasskey(w.Visit(t), d).Want(t, http.StatusSeeOther)
	})
	t.Run("ResetByAnOwner", func(t *testing.T) {
		w.AsUser(t, w.Owner).Submit("/portal/team/users/"+w.Developer.ID+"/second-factor").
			Want(t, http.StatusOK, "has no second factor and no passkeys now")
		usePasskey(w.Visit(t), d).Want(t, http.StatusUnprocessableEntity)
		w.AsUser(t, w.Owner).Submit("/portal/team/users/"+w.Owner.ID+"/second-factor").
			Want(t, http.StatusOK, "changed in your settings")
	})
}

// TestPasskeysUnusable checks what the pages are like at an address where there are no passkeys.
func TestPasskeysUnusable(t *testing.T) {
	w := newWorld(t)
	k := w.passkey(t, w.Owner)
	w.Service.PublicURL = w.Server.URL // an IP address
	v := w.AsUser(t, w.Owner)
	v.Get("/portal/settings").
		Want(t, http.StatusOK, "Passkeys need the portal at an https address with a domain name.", w.Server.URL, k.Name).
		Lacks(t, "/portal/settings/passkeys/new")
	v.Post("/portal/settings/passkeys/new", "name", "Phone", "passkey_password", password).
		Want(t, http.StatusUnprocessableEntity, "Passkeys need the portal at an https address")
	v.Submit("/portal/settings/passkeys/"+k.ID+"/remove", "password", password).Want(t, http.StatusOK, "is removed")
	w.Visit(t).Get("/portal/sign-in").Want(t, http.StatusOK).Lacks(t, "passkey")
	w.Visit(t).Post("/portal/sign-in/passkey/challenge").Want(t, http.StatusConflict)
	w.Visit(t).Post("/portal/sign-in/passkey", "answer", "{}").
		Want(t, http.StatusUnprocessableEntity, "Passkeys need the portal")
	w.Visit(t).Post("/portal/sign-in", "email", w.Owner.Email, "password", password).Want(t, http.StatusSeeOther)
}

// TestHostilePasskeys sends what no browser sends.
func TestHostilePasskeys(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Owner)
	d := w.device()
	addPasskey(v, d, "Phone").Want(t, http.StatusSeeOther)
	good := d.Get(t, newChallenge(w.Visit(t)).Options)
	for _, answer := range []string{
		"", "null", "{}", "[]", "\x00", "{\"id\":", strings.Repeat("{\"a\":", 5000), good[:len(good)/2], good + good,
		regexp.MustCompile(`"signature":"[^"]*"`).ReplaceAllString(good, `"signature":""`),
		regexp.MustCompile(`"authenticatorData":"[^"]*"`).ReplaceAllString(good, `"authenticatorData":"AAAA"`),
		regexp.MustCompile(`"clientDataJSON":"[^"]*"`).ReplaceAllString(good, `"clientDataJSON":"e30"`),
		regexp.MustCompile(`"userHandle":"[^"]*"`).ReplaceAllString(good, `"userHandle":null`),
		regexp.MustCompile(`"(id|rawId)":"[^"]*"`).ReplaceAllString(good, `"$1":"`+strings.Repeat("A", 5000)+`"`),
	} {
		w.Clock.Advance(16 * time.Minute)
		visitor := w.Visit(t)
		c := newChallenge(visitor)
		visitor.Post("/portal/sign-in/passkey", "ceremony", c.Ceremony, "answer", answer).
			Want(t, http.StatusUnprocessableEntity)
		p := v.Post("/portal/settings/passkeys/new", "name", "Phone", "passkey_password", password).Want(t, http.StatusOK)
		ceremony := html.UnescapeString(ceremonyPattern.FindStringSubmatch(p.Body)[1])
		v.Post("/portal/settings/passkeys", "ceremony", ceremony, "answer", answer).Want(t, http.StatusUnprocessableEntity)
	}
}
