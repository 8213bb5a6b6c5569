package signin_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/must"
)

func TestPasskey(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		// The second factor is on, and still a passkey needs no code.
		w.enrol(t)

		asked := w.begin(t, "  Phone  ")
		var options device.CreationOptions
		must.NoError(t, json.Unmarshal(asked.Options, &options))
		if options.RP.ID != "assay.example" || options.Selection.ResidentKey != "required" ||
			options.Selection.UserVerification != "required" || options.Attestation != "none" {
			t.Errorf("the browser is asked %s", asked.Options)
		}
		if handle := string(options.User.ID); handle == "" || strings.Contains(handle, "@") {
			t.Errorf("the device is told %q of the user", handle)
		}
		w.device.Synced = true
		k, err := w.AddPasskey(t.Context(), w.who, asked.Sealed, w.device.Create(t, asked.Options), w.here())
		must.NoError(t, err)
		if k.Name != "Phone" || !k.BackupEligible || !k.BackedUp || strings.Join(k.Transports, " ") != "internal hybrid" ||
			k.LastUsedAt != nil {
			t.Errorf("passkey %+v", k)
		}
		kept, err := w.Passkeys(t.Context(), w.who.ID)
		must.NoError(t, err)
		if len(kept) != 1 || kept[0].ID != k.ID || string(kept[0].PublicKey) != string(k.PublicKey) ||
			kept[0].SignCount != 1 || !kept[0].CreatedAt.Equal(w.Clock.Now()) {
			t.Errorf("kept %+v, want %+v", kept, k)
		}

		w.Clock.Advance(time.Hour)
		w.device.Synced = true
		for n := range 3 {
			id, err := w.signIn(t, w.device)
			must.NoError(t, err)
			if id != w.who.ID {
				t.Errorf("user %s", id)
			}
			used, err := w.PasskeyOf(t.Context(), w.who.ID, k.ID)
			must.NoError(t, err)
			if used.SignCount != uint32(n)+2 || used.LastUsedAt == nil || !used.LastUsedAt.Equal(w.Clock.Now()) {
				t.Errorf("after use %d: %+v", n+1, used)
			}
		}
		w.start(t, w.who)
		w.last(t, "in", "")
		t.Run("OfADeviceThatDoesNotCount", func(t *testing.T) {
			d := &device.Device{Origin: address}
			w.add(t, d)
			for range 2 {
				_, err := w.signIn(t, d)
				must.NoError(t, err)
			}
		})
		t.Run("OnceForEachDevice", func(t *testing.T) {
			if answer := w.device.Create(t, w.begin(t, "Again").Options); answer != "" {
				t.Error("the device does not learn that it has a passkey already")
			}
		})
	})
}

func TestPasskeyRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		k := w.add(t, w.device)
		for name, lie := range map[string]func(*device.Device){
			"WrongOrigin":       func(d *device.Device) { d.Origin = "https://assay.example.evil.example" },
			"WrongPort":         func(d *device.Device) { d.Origin = "https://assay.example:8443" },
			"NotSecure":         func(d *device.Device) { d.Origin = "http://assay.example" },
			"WrongRelyingParty": func(d *device.Device) { d.RPID = "evil.example" },
			"NotVerified":       func(d *device.Device) { d.Unverified = true },
			"NobodyThere":       func(d *device.Device) { d.Absent = true },
			"WrongSignature":    func(d *device.Device) { d.Forged = true },
			"BecomesSynced":     func(d *device.Device) { d.Synced = true },
		} {
			t.Run(name, func(t *testing.T) {
				d := w.device.Copy()
				lie(d)
				_, err := w.signIn(t, d)
				w.refused(t, err, signin.WrongPasskey, "wrong-passkey")
				if name == "BecomesSynced" { // a device says this when the passkey is made
					return
				}
				asked := w.begin(t, "Other")
				if _, err := w.AddPasskey(t.Context(), w.who, asked.Sealed, (&device.Device{
					Origin: d.Origin, RPID: d.RPID, Unverified: d.Unverified, Absent: d.Absent, Forged: d.Forged,
				}).Create(t, asked.Options), w.here()); !errors.Is(err, signin.WrongPasskey) {
					t.Errorf("made: %v", err)
				}
			})
		}
		t.Run("CopiedKey", func(t *testing.T) {
			thief := w.device.Copy()
			for range 2 {
				_, err := w.signIn(t, w.device)
				must.NoError(t, err)
			}
			_, err := w.signIn(t, thief) // the counter is behind
			w.refused(t, err, signin.WrongPasskey, "passkey-sign-count")
			_, err = w.signIn(t, thief) // and now the same
			w.refused(t, err, signin.WrongPasskey, "passkey-sign-count")
			thief.Counts = false
			_, err = w.signIn(t, thief)
			w.refused(t, err, signin.WrongPasskey, "passkey-sign-count")
			_, err = w.signIn(t, w.device)
			must.NoError(t, err)
		})
		t.Run("AnswerOfAnotherUser", func(t *testing.T) {
			asked := w.challenge(t)
			answer := w.device.Get(t, asked.Options)
			var fields map[string]any
			must.NoError(t, json.Unmarshal([]byte(answer), &fields))
			fields["response"].(map[string]any)["userHandle"] = "c29tZWJvZHkgZWxzZQ"
			changed, err := json.Marshal(fields)
			must.NoError(t, err)
			_, err = w.Passkey(t.Context(), thisBrowser, asked.Sealed, string(changed), origin)
			w.refused(t, err, signin.WrongPasskey, "wrong-passkey")
		})
		t.Run("Unknown", func(t *testing.T) {
			before := len(w.SignInRecords(t, w.audience))
			unknown := &device.Device{Origin: address}
			unknown.Create(t, w.begin(t, "Never added").Options)
			if _, err := w.signIn(t, unknown); !errors.Is(err, signin.WrongPasskey) {
				t.Errorf("%v", err)
			}
			for _, answer := range []string{
				"", "{}", "null", "[1]", `{"id": 1}`, strings.Repeat("[", 10_000),
				`{"id":"AA","rawId":"AA","type":"public-key","response":{}}`,
			} {
				if _, err := w.Passkey(
					t.Context(), thisBrowser, w.challenge(t).Sealed, answer, origin,
				); !errors.Is(err, signin.WrongPasskey) {
					t.Errorf("%.60q: %v", answer, err)
				}
			}
			if after := len(w.SignInRecords(t, w.audience)); after != before {
				t.Errorf("%d entries about nobody", after-before)
			}
		})
		t.Run("OfSomebodyWhoHasLeft", func(t *testing.T) {
			leaver, d := w.colleague(t)
			if id, err := w.signIn(t, d); err != nil || id != leaver.ID {
				t.Fatalf("%s, %v", id, err)
			}
			w.remove(t, leaver)
			if _, err := w.signIn(t, d); !errors.Is(err, signin.WrongPasskey) {
				t.Errorf("%v", err)
			}
		})
		t.Run("Removed", func(t *testing.T) {
			must.NoError(t, w.RemovePasskey(t.Context(), w.who, k.ID, with(password), w.fresh()))
			if _, err := w.signIn(t, w.device); !errors.Is(err, signin.WrongPasskey) {
				t.Errorf("%v", err)
			}
		})
	})
}

func TestPasskeyThrottled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.add(t, w.device)
		forger := w.device.Copy()
		forger.Forged = true
		for range 10 {
			if _, err := w.signIn(t, forger); !errors.Is(err, signin.WrongPasskey) {
				t.Fatal(err)
			}
		}
		if _, err := w.signIn(t, w.device); !errors.Is(err, signin.TooManyLogins) {
			t.Errorf("%v", err)
		}
		w.Clock.Advance(16 * time.Minute)
		for range 12 { // what succeeds is not counted
			_, err := w.signIn(t, w.device)
			must.NoError(t, err)
		}
		for n := range 11 {
			_, err := w.Passkey(t.Context(), thisBrowser, "", "{", origin)
			if want := n == 10; errors.Is(err, signin.TooManyLogins) != want {
				t.Errorf("answer %d that cannot be read: %v", n+1, err)
			}
		}
	})
}
