package signin_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestPasskeyChallenge checks that a challenge is good for one answer, of one browser, for five minutes.
func TestPasskeyChallenge(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.add(t, w.device)
		pass := func(asked *signin.PasskeyCeremony, browser string) error {
			_, err := w.Passkey(t.Context(), browser, asked.Sealed, w.device.Get(t, asked.Options), origin)
			return err
		}
		t.Run("Replay", func(t *testing.T) {
			asked := w.challenge(t)
			answer := w.device.Get(t, asked.Options)
			_, err := w.Passkey(t.Context(), thisBrowser, asked.Sealed, answer, origin)
			must.NoError(t, err)
			_, err = w.Passkey(t.Context(), thisBrowser, asked.Sealed, answer, origin)
			w.refused(t, err, signin.PasskeyTooLate, "passkey-too-late")
			w.refused(t, pass(asked, thisBrowser), signin.PasskeyTooLate, "passkey-too-late") // nor with a fresh signature
		})
		t.Run("ReplayToAnotherNode", func(t *testing.T) {
			asked := w.challenge(t)
			must.NoError(t, pass(asked, thisBrowser))
			other := signin.New(w.Config, w.SessionStore, w.audience)
			_, err := other.Passkey(t.Context(), thisBrowser, asked.Sealed, w.device.Get(t, asked.Options), origin)
			w.refused(t, err, signin.PasskeyTooLate, "passkey-too-late")
		})
		t.Run("SpentByAWrongAnswer", func(t *testing.T) {
			asked := w.challenge(t)
			forger := w.device.Copy()
			forger.Forged = true
			_, err := w.Passkey(t.Context(), thisBrowser, asked.Sealed, forger.Get(t, asked.Options), origin)
			w.refused(t, err, signin.WrongPasskey, "wrong-passkey")
			w.refused(t, pass(asked, thisBrowser), signin.PasskeyTooLate, "passkey-too-late")
		})
		t.Run("Expired", func(t *testing.T) {
			asked := w.challenge(t)
			w.Clock.Advance(signin.PasskeyCeremonyLife - time.Microsecond)
			must.NoError(t, pass(asked, thisBrowser))
			asked = w.challenge(t)
			w.Clock.Advance(signin.PasskeyCeremonyLife)
			w.refused(t, pass(asked, thisBrowser), signin.PasskeyTooLate, "passkey-too-late")
			made := w.begin(t, "Late")
			w.Clock.Advance(signin.PasskeyCeremonyLife)
			if _, err := w.AddPasskey(
				t.Context(), w.who, made.Sealed, w.device.Create(t, made.Options), w.here(),
			); !errors.Is(err, signin.PasskeyTooLate) {
				t.Errorf("made: %v", err)
			}
		})
		t.Run("OfAnotherBrowser", func(t *testing.T) {
			w.refused(t, pass(w.challenge(t), "another browser"), signin.PasskeyTooLate, "passkey-too-late")
		})
		t.Run("OfAnotherChallenge", func(t *testing.T) {
			first, second := w.challenge(t), w.challenge(t)
			_, err := w.Passkey(t.Context(), thisBrowser, first.Sealed, w.device.Get(t, second.Options), origin)
			w.refused(t, err, signin.WrongPasskey, "wrong-passkey")
		})
		t.Run("Forged", func(t *testing.T) {
			asked := w.challenge(t)
			for _, sealed := range []string{"", "v1:", asked.Sealed[:len(asked.Sealed)-4] + "AAAA", w.begin(t, "Other").Sealed} {
				_, err := w.Passkey(t.Context(), thisBrowser, sealed, w.device.Get(t, asked.Options), origin)
				w.refused(t, err, signin.PasskeyTooLate, "passkey-too-late")
			}
		})
		t.Run("OfANewPasskey", func(t *testing.T) {
			asked := w.begin(t, "Tablet")
			d := &device.Device{Origin: address}
			answer := d.Create(t, asked.Options)
			other := w.start(t, w.who)
			colleague, _ := w.colleague(t)
			if _, err := w.AddPasskey(
				t.Context(), w.who, asked.Sealed, answer, in(other),
			); !errors.Is(err, signin.PasskeyTooLate) {
				t.Errorf("in another session: %v", err)
			}
			if _, err := w.AddPasskey(
				t.Context(), colleague, asked.Sealed, answer, w.here(),
			); !errors.Is(err, signin.PasskeyTooLate) {
				t.Errorf("by another user: %v", err)
			}
			_, err := w.AddPasskey(t.Context(), w.who, asked.Sealed, answer, w.here())
			must.NoError(t, err)
			if _, err := w.AddPasskey(
				t.Context(), w.who, asked.Sealed, answer, w.here(),
			); !errors.Is(err, signin.PasskeyTooLate) {
				t.Errorf("again: %v", err)
			}
		})
		t.Run("Race", func(t *testing.T) {
			asked := w.challenge(t)
			answer := w.device.Get(t, asked.Options)
			accepted := together(t, func() error {
				_, err := w.Passkey(t.Context(), thisBrowser, asked.Sealed, answer, origin)
				return err
			}, func(err error) bool { return errors.Is(err, signin.PasskeyTooLate) })
			if accepted != 1 {
				t.Errorf("an answer was accepted %d times", accepted)
			}
		})
		t.Run("Forgotten", func(t *testing.T) {
			forget := func() int {
				n, err := w.Service.DeleteOldChallenges(t.Context(), 1000)
				must.NoError(t, err)
				return n
			}
			w.Clock.Advance(2 * time.Hour)
			forget()
			must.NoError(t, pass(w.challenge(t), thisBrowser))
			if n := forget(); n != 0 {
				t.Errorf("%d challenges are forgotten while they could be answered", n)
			}
			w.Clock.Advance(2 * time.Hour)
			if n := forget(); n != 1 {
				t.Errorf("%d challenges are forgotten, not 1", n)
			}
		})
	})
}

// TestPasskeysUnavailable checks that an address without a domain name has no passkeys at all.
func TestPasskeysUnavailable(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.add(t, w.device)
		asked := w.challenge(t)
		answer := w.device.Get(t, asked.Options)
		w.reconfigure(t, func(c *service.Config) { c.PublicURL = "http://192.0.2.1:8080" })
		if _, ok := w.RelyingParty(); ok {
			t.Error("there is a relying party")
		}
		_, err := w.BeginPasskey(thisBrowser)
		_, err2 := w.Passkey(t.Context(), thisBrowser, asked.Sealed, answer, origin)
		_, err3 := w.BeginNewPasskey(t.Context(), w.who, "Phone", with(password), w.here())
		_, err4 := w.AddPasskey(t.Context(), w.who, asked.Sealed, answer, w.here())
		for _, err := range []error{err, err2, err3, err4} {
			if !errors.Is(err, signin.PasskeysUnavailable) {
				t.Errorf("%v", err)
			}
		}
	})
}
