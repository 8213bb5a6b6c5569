package signin_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

// TestConfirmWithPasskey proves who somebody is with a passkey: for five minutes nothing else is asked for.
func TestConfirmWithPasskey(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d, theirs := w.device(), w.device()
		w.addPasskey(w.as(t, w.who), d, "Phone").Want(t, http.StatusSeeOther)
		w.addPasskey(w.as(t, w.other), theirs, "Phone").Want(t, http.StatusSeeOther)
		enrol(t, w, w.who)
		v := w.as(t, w.who)
		confirm := w.settings + "/confirm"
		answer := func(by *pagetest.Visitor, with *device.Device, pairs ...string) *pagetest.Page {
			c := w.newChallenge(by)
			return by.Post(confirm+"/passkey", append(pairs, "ceremony", c.Ceremony, "answer", with.Get(t, c.Options))...)
		}
		asked := func() {
			t.Helper()
			v.Get(w.settings).Want(t, http.StatusOK, "current_code", confirm)
			v.Post(w.settings+"/second-factor/end").Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
		}
		v.Get(confirm).Want(t, http.StatusOK, "Confirm with a passkey", confirm+"/passkey")
		w.as(t, w.third).Get(confirm).Want(t, http.StatusOK).Lacks(t, "Confirm with a passkey") // has none
		asked()

		answer(v, theirs).Want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
		w.recorded(t, "failed", w.who, "wrong-passkey")
		forged := d.Copy()
		forged.Forged = true
		answer(v, forged).Want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
		unverified := d.Copy()
		unverified.Unverified = true
		answer(v, unverified).Want(t, http.StatusUnprocessableEntity, "This passkey is not accepted.")
		c := w.newChallenge(w.Visit(t)) // of another browser
		v.Post(confirm+"/passkey", "ceremony", c.Ceremony, "answer", d.Get(t, c.Options)).
			Want(t, http.StatusUnprocessableEntity, "expired")
		asked()

		if p := answer(v, d, "next", w.page).Want(t, http.StatusSeeOther); p.Location != w.page {
			t.Errorf("leads to %q", p.Location)
		}
		if p := answer(v, d, "next", "https://evil.example").Want(t, http.StatusSeeOther); p.Location != w.settings {
			t.Errorf("leads to %q", p.Location)
		}
		v.Get(w.settings).Want(t, http.StatusOK, "You have just used your passkey").
			Lacks(t, "current_code", `autocomplete="current-password"`)
		other := w.as(t, w.who) // the proof is of one browser
		other.Post(w.settings+"/second-factor/end").Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
		v.Post(w.settings+"/recovery-codes").Want(t, http.StatusOK, "Your recovery codes")
		w.Clock.Advance(access.ConfirmLife)
		asked()

		answer(v, d).Want(t, http.StatusSeeOther)
		w.Clock.Advance(access.ConfirmLife - time.Second)
		v.Post(w.settings+"/second-factor/end").Want(t, http.StatusSeeOther)
	})
}

// TestConfirmedPasskeyRemoved checks that a proof does not outlive the passkey that it was made with.
func TestConfirmedPasskeyRemoved(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.device()
		v := w.as(t, w.who)
		w.addPasskey(v, d, "Phone").Want(t, http.StatusSeeOther)
		c := w.newChallenge(v)
		v.Post(w.settings+"/confirm/passkey", "ceremony", c.Ceremony, "answer", d.Get(t, c.Options)).
			Want(t, http.StatusSeeOther)
		p := v.Get(w.settings).Want(t, http.StatusOK)
		address := w.settings + "/passkeys/" + passkeyPattern.FindStringSubmatch(p.Body)[1]
		v.Post(address+"/remove").Want(t, http.StatusSeeOther)
		v.Get(w.settings).Want(t, http.StatusOK).Lacks(t, "You have just used your passkey")
		v.Post(w.settings+"/passkeys/new", "name", "Tablet").
			Want(t, http.StatusUnprocessableEntity, "The password is wrong.")
	})
}
