package signin_test

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/service"
	auth "github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

// device returns one that is at the address of the pages.
func (w *world) device() *device.Device {
	return &device.Device{Origin: w.Service.Address(), Counts: true}
}

var (
	creationPattern = regexp.MustCompile(`data-passkey-create="([^"]+)"`)
	ceremonyPattern = regexp.MustCompile(`name="ceremony" value="([^"]+)"`)
	passkeyPattern  = regexp.MustCompile(`/passkeys/([0-9a-f-]{36})"`)
)

type challenge struct {
	Options  json.RawMessage
	Ceremony string
}

// addPasskey goes through the pages with which a user adds a passkey.
func (w *world) addPasskey(v *pagetest.Visitor, d *device.Device, name string) *pagetest.Page {
	v.T.Helper()
	p := v.Post(w.settings+"/passkeys/new", "name", name, "passkey_password", password).Want(v.T, http.StatusOK)
	options := html.UnescapeString(creationPattern.FindStringSubmatch(p.Body)[1])
	ceremony := html.UnescapeString(ceremonyPattern.FindStringSubmatch(p.Body)[1])
	return v.Post(w.settings+"/passkeys", "ceremony", ceremony, "answer", d.Create(v.T, json.RawMessage(options)))
}

func (w *world) newChallenge(v *pagetest.Visitor) challenge {
	v.T.Helper()
	p := v.Post(w.base+"/sign-in/passkey/challenge").Want(v.T, http.StatusOK)
	var c challenge
	must.NoError(v.T, json.Unmarshal([]byte(p.Body), &c))
	return c
}

func (w *world) usePasskey(v *pagetest.Visitor, d *device.Device, pairs ...string) *pagetest.Page {
	v.T.Helper()
	c := w.newChallenge(v)
	return v.Post(w.base+"/sign-in/passkey", append(pairs, "ceremony", c.Ceremony, "answer", d.Get(v.T, c.Options))...)
}

func TestPasskeySettings(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v, elsewhere := w.as(t, w.who), w.as(t, w.who)
		v.Get(w.settings).
			Want(t, http.StatusOK, "Passkeys", "No passkeys yet.", "Adding a passkey needs JavaScript.",
				`data-passkey="here" hidden`)
		t.Run("Refused", func(t *testing.T) {
			v.Post(w.settings+"/passkeys/new", "name", "Phone", "passkey_password", "wrong").
				Want(t, http.StatusUnprocessableEntity, "The password is wrong.", `value="Phone"`)
			v.Post(w.settings+"/passkeys/new", "name", " ", "passkey_password", password).
				Want(t, http.StatusUnprocessableEntity, "field-error")
			v.Post(w.settings+"/passkeys", "ceremony", "x", "answer", "{}").
				Want(t, http.StatusUnprocessableEntity, "This request has expired")
		})
		d := w.device()
		p := w.addPasskey(v, d, "Phone <&>").Want(t, http.StatusSeeOther)
		p = v.Get(p.Location).
			Want(t, http.StatusOK, "“Phone &lt;&amp;&gt;” is added. Other browsers are signed out.", "never")
		if p := elsewhere.Get(w.page); p.Status != http.StatusSeeOther {
			t.Errorf("another browser goes on: %d", p.Status)
		}
		address := w.settings + "/passkeys/" + passkeyPattern.FindStringSubmatch(p.Body)[1]
		v.Get(address).Want(t, http.StatusOK, "Phone &lt;&amp;&gt;")
		t.Run("NotSignedByTheDevice", func(t *testing.T) {
			forger := w.device()
			forger.Forged = true
			w.addPasskey(v, forger, "Forged").Want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
		})
		t.Run("Rename", func(t *testing.T) {
			v.Post(address+"/rename", "name", "").Want(t, http.StatusUnprocessableEntity, "field-error")
			v.Submit(address+"/rename", "name", "Tablet").Want(t, http.StatusOK, "The passkey is now called “Tablet”.").
				Lacks(t, "Phone")
		})
		t.Run("OfOthers", func(t *testing.T) {
			for _, other := range []*access.Person{w.other, w.third} {
				o := w.as(t, other)
				o.Get(address).Want(t, http.StatusNotFound).Lacks(t, "Tablet")
				o.Post(address+"/rename", "name", "Mine").Want(t, http.StatusNotFound)
				o.Post(address+"/remove", "password", password).Want(t, http.StatusNotFound)
				o.Get(w.settings).Want(t, http.StatusOK).Lacks(t, "Tablet")
			}
			v.Get(w.settings+"/passkeys/nonsense").Want(t, http.StatusNotFound)
		})
		t.Run("Remove", func(t *testing.T) {
			v.Post(address+"/remove", "password", "wrong").Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
			w.usePasskey(w.Visit(t), d).Want(t, http.StatusSeeOther)
			v.Submit(address+"/remove", "password", password).
				Want(t, http.StatusOK, "“Tablet” is removed.", "No passkeys yet.")
			v.Get(address).Want(t, http.StatusNotFound)
			w.usePasskey(w.Visit(t), d).Want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
		})
	})
}

func TestPasskeySignIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.device()
		w.addPasskey(w.as(t, w.who), d, "Phone").Want(t, http.StatusSeeOther)
		_, _ = enrol(t, w, w.who) // a second factor that is not asked for

		t.Run("Succeeds", func(t *testing.T) {
			v := w.as(t, w.third)
			planted := v.Cookies[w.cookie].Value
			if p := w.usePasskey(v, d, "next", w.page).Want(t, http.StatusSeeOther); p.Location != w.page {
				t.Errorf("leads to %q", p.Location)
			}
			w.recorded(t, "in", w.who, "")
			v.Get(w.page).Want(t, http.StatusOK, w.who.Name)
			if v.Cookies[w.cookie].Value == planted {
				t.Error("the session of before is gone on with")
			}
			if p := w.usePasskey(v, d, "next", "https://evil.example"); p.Location != w.base {
				t.Errorf("leads to %q", p.Location)
			}
			v.Get(w.settings).Want(t, http.StatusOK, "Phone").Lacks(t, "never")
		})
		t.Run("ReplayedForm", func(t *testing.T) {
			v := w.Visit(t)
			c := w.newChallenge(v)
			answer := d.Get(t, c.Options)
			v.Post(w.base+"/sign-in/passkey", "ceremony", c.Ceremony, "answer", answer).Want(t, http.StatusSeeOther)
			v.Post(w.base+"/sign-in/passkey", "ceremony", c.Ceremony, "answer", answer).
				Want(t, http.StatusUnprocessableEntity, "This request has expired or was already used.")
			w.recorded(t, "failed", w.who, "passkey-too-late")
		})
		t.Run("OtherBrowser", func(t *testing.T) {
			c := w.newChallenge(w.Visit(t))
			for _, v := range []*pagetest.Visitor{
				w.Visit(t), func() *pagetest.Visitor { v := w.Visit(t); w.newChallenge(v); return v }(),
			} {
				v.Post(w.base+"/sign-in/passkey", "ceremony", c.Ceremony, "answer", d.Get(t, c.Options)).
					Want(t, http.StatusUnprocessableEntity, "This request has expired")
			}
		})
		t.Run("SeveralPagesOfOneBrowser", func(t *testing.T) {
			v := w.Visit(t)
			first := w.newChallenge(v)
			w.newChallenge(v)
			v.Post(w.base+"/sign-in/passkey", "ceremony", first.Ceremony, "answer", d.Get(t, first.Options)).
				Want(t, http.StatusSeeOther)
		})
		t.Run("Expired", func(t *testing.T) {
			v := w.Visit(t)
			c := w.newChallenge(v)
			w.Clock.Advance(auth.PasskeyCeremonyLife)
			v.Post(w.base+"/sign-in/passkey", "ceremony", c.Ceremony, "answer", d.Get(t, c.Options)).
				Want(t, http.StatusUnprocessableEntity, "This request has expired")
		})
		t.Run("Copied", func(t *testing.T) {
			thief := d.Copy()
			w.usePasskey(w.Visit(t), d).Want(t, http.StatusSeeOther)
			w.usePasskey(w.Visit(t), thief).Want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
			w.recorded(t, "failed", w.who, "passkey-sign-count")
		})
		t.Run("Throttled", func(t *testing.T) {
			w.Clock.Advance(16 * time.Minute)
			forger := d.Copy()
			forger.Forged = true
			for range 10 {
				w.usePasskey(w.Visit(t), forger).Want(t, http.StatusUnprocessableEntity)
			}
			w.usePasskey(w.Visit(t), d).Want(t, http.StatusTooManyRequests, "Too many attempts")
			w.Clock.Advance(16 * time.Minute)
			w.usePasskey(w.Visit(t), d).Want(t, http.StatusSeeOther)
		})
	})
}

// TestPasskeysUnusable checks what the pages are like at an address where there are no passkeys.
func TestPasskeysUnusable(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v := w.as(t, w.other)
		w.addPasskey(v, w.device(), "Vault laptop").Want(t, http.StatusSeeOther)
		passkeys, err := w.Service.SignIn(w.audience).Passkeys(t.Context(), w.other.ID)
		must.NoError(t, err)
		k := passkeys[0]
		w.Reconfigure(t, func(c *service.Config) { c.PublicURL = w.Server.URL }) // an IP address
		v.Get(w.settings).
			Want(t, http.StatusOK, "Passkeys need an https address with a domain name.", w.Server.URL, k.Name).
			Lacks(t, w.settings+"/passkeys/new")
		v.Post(w.settings+"/passkeys/new", "name", "Phone", "passkey_password", password).
			Want(t, http.StatusUnprocessableEntity, "Passkeys need an https address")
		v.Submit(w.settings+"/passkeys/"+k.ID+"/remove", "password", password).Want(t, http.StatusOK, "is removed")
		w.Visit(t).Get(w.base+"/sign-in").Want(t, http.StatusOK).Lacks(t, "passkey")
		w.Visit(t).Post(w.base+"/sign-in/passkey/challenge").Want(t, http.StatusConflict)
		w.Visit(t).Post(w.base+"/sign-in/passkey", "answer", "{}").
			Want(t, http.StatusUnprocessableEntity, "Passkeys need an https address")
		w.Visit(t).Post(w.base+"/sign-in", "email", w.other.Email, "password", password).Want(t, http.StatusSeeOther)
	})
}

// TestHostilePasskeys sends what no browser sends.
func TestHostilePasskeys(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		v := w.as(t, w.other)
		d := w.device()
		w.addPasskey(v, d, "Phone").Want(t, http.StatusSeeOther)
		good := d.Get(t, w.newChallenge(w.Visit(t)).Options)
		for _, answer := range []string{
			"", "null", "{}", "[]", "\x00", "{\"id\":", strings.Repeat("{\"a\":", 500), good[:len(good)/2], good + good,
			regexp.MustCompile(`"signature":"[^"]*"`).ReplaceAllString(good, `"signature":""`),
			regexp.MustCompile(`"authenticatorData":"[^"]*"`).ReplaceAllString(good, `"authenticatorData":"AAAA"`),
			regexp.MustCompile(`"clientDataJSON":"[^"]*"`).ReplaceAllString(good, `"clientDataJSON":"e30"`),
			regexp.MustCompile(`"userHandle":"[^"]*"`).ReplaceAllString(good, `"userHandle":null`),
			regexp.MustCompile(`"(id|rawId)":"[^"]*"`).ReplaceAllString(good, `"$1":"`+strings.Repeat("A", 1500)+`"`),
		} {
			w.Clock.Advance(16 * time.Minute)
			visitor := w.Visit(t)
			c := w.newChallenge(visitor)
			visitor.Post(w.base+"/sign-in/passkey", "ceremony", c.Ceremony, "answer", answer).
				Want(t, http.StatusUnprocessableEntity)
			p := v.Post(w.settings+"/passkeys/new", "name", "Phone", "passkey_password", password).Want(t, http.StatusOK)
			ceremony := html.UnescapeString(ceremonyPattern.FindStringSubmatch(p.Body)[1])
			v.Post(w.settings+"/passkeys", "ceremony", ceremony, "answer", answer).Want(t, http.StatusUnprocessableEntity)
		}
	})
}
