package signin_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
)

func (w *world) begin(t *testing.T, name string) *signin.PasskeyCeremony {
	t.Helper()
	asked, err := w.BeginNewPasskey(t.Context(), w.who, name, with(password), w.session.ID, w.fresh())
	must.NoError(t, err)
	return asked
}

func (w *world) add(t *testing.T, d *device.Device) *access.Passkey {
	t.Helper()
	asked := w.begin(t, "Phone")
	k, err := w.AddPasskey(t.Context(), w.who, asked.Sealed, d.Create(t, asked.Options), w.session.ID, origin)
	must.NoError(t, err)
	return k
}

func (w *world) challenge(t *testing.T) *signin.PasskeyCeremony {
	t.Helper()
	asked, err := w.BeginPasskey(thisBrowser)
	must.NoError(t, err)
	return asked
}

func (w *world) signIn(t *testing.T, d *device.Device) (string, error) {
	t.Helper()
	asked := w.challenge(t)
	return w.Passkey(t.Context(), thisBrowser, asked.Sealed, d.Get(t, asked.Options), origin)
}

// refused checks that an attempt was refused, and is in the log with the reason.
func (w *world) refused(t *testing.T, err error, want *fault.Error, reason string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v, want %s", err, want.Code)
	}
	w.last(t, "failed", reason)
	w.Clock.Advance(20 * time.Minute) // failures that are meant must not become too many
}

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
		k, err := w.AddPasskey(t.Context(), w.who, asked.Sealed, w.device.Create(t, asked.Options), w.session.ID, origin)
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
				}).Create(t, asked.Options), w.session.ID, origin); !errors.Is(err, signin.WrongPasskey) {
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
			must.NoError(t, w.RemovePasskey(t.Context(), w.who, k.ID, with(password), w.session.ID, w.fresh()))
			if _, err := w.signIn(t, w.device); !errors.Is(err, signin.WrongPasskey) {
				t.Errorf("%v", err)
			}
		})
	})
}

// colleague is another person, with a passkey on a device.
func (w *world) colleague(t *testing.T) (*access.Person, *device.Device) {
	t.Helper()
	who := w.person(t, "member-"+store.NewID()+"@acme.example", access.Reviewer, access.Viewer)
	session := w.start(t, who)
	d := &device.Device{Origin: address, Counts: true}
	asked, err := w.BeginNewPasskey(t.Context(), who, "Their phone", with(password), session.ID, origin)
	must.NoError(t, err)
	_, err = w.AddPasskey(t.Context(), who, asked.Sealed, d.Create(t, asked.Options), session.ID, origin)
	must.NoError(t, err)
	return who, d
}

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
				t.Context(), w.who, made.Sealed, w.device.Create(t, made.Options), w.session.ID, origin,
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
				t.Context(), w.who, asked.Sealed, answer, other.ID, origin,
			); !errors.Is(err, signin.PasskeyTooLate) {
				t.Errorf("in another session: %v", err)
			}
			if _, err := w.AddPasskey(
				t.Context(), colleague, asked.Sealed, answer, w.session.ID, origin,
			); !errors.Is(err, signin.PasskeyTooLate) {
				t.Errorf("by another user: %v", err)
			}
			_, err := w.AddPasskey(t.Context(), w.who, asked.Sealed, answer, w.session.ID, origin)
			must.NoError(t, err)
			if _, err := w.AddPasskey(
				t.Context(), w.who, asked.Sealed, answer, w.session.ID, origin,
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

func TestPasskeyChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ended := func(t *testing.T, token string) bool {
			t.Helper()
			_, err := w.Service.Session(t.Context(), w.audience, token)
			return errors.Is(err, access.NoSession)
		}
		t.Run("NeedsThePassword", func(t *testing.T) {
			if _, err := w.BeginNewPasskey(
				t.Context(), w.who, "Phone", with("wrong"), w.session.ID, origin,
			); !errors.Is(err, signin.WrongPassword) {
				t.Errorf("add: %v", err)
			}
			k := w.add(t, w.device)
			if err := w.RemovePasskey(
				t.Context(), w.who, k.ID, with("wrong"), w.session.ID, origin,
			); !errors.Is(err, signin.WrongPassword) {
				t.Errorf("remove: %v", err)
			}
			_, err := w.signIn(t, w.device)
			must.NoError(t, err)
		})
		t.Run("IsTold", func(t *testing.T) {
			w.reconfigure(t, shop.WithMail)
			k := w.add(t, &device.Device{Origin: address})
			if m := w.WantMails(t, "passkey-added "+w.who.Email)[0]; !strings.Contains(m.Text, "“Phone”") ||
				!strings.Contains(m.Text, w.settings()) {
				t.Errorf("%s", m.Text)
			}
			must.NoError(t, w.RemovePasskey(t.Context(), w.who, k.ID, with(password), w.session.ID, w.fresh()))
			w.WantMails(t, "passkey-removed "+w.who.Email)
		})
		t.Run("EndsOtherSessions", func(t *testing.T) {
			token := w.token(t, w.who)
			k := w.add(t, &device.Device{Origin: address})
			if !ended(t, token) {
				t.Error("another session goes on after a passkey was added")
			}
			token = w.token(t, w.who)
			must.NoError(t, w.RenamePasskey(t.Context(), w.who, k.ID, "Tablet", w.fresh()))
			if ended(t, token) {
				t.Error("another session has ended for a name")
			}
			must.NoError(t, w.RemovePasskey(t.Context(), w.who, k.ID, with(password), w.session.ID, w.fresh()))
			if !ended(t, token) {
				t.Error("another session goes on after a passkey was removed")
			}
			sessions, err := w.Service.Sessions(t.Context(), w.audience, w.who.ID)
			must.NoError(t, err)
			if len(sessions) != 1 || sessions[0].ID != w.session.ID {
				t.Errorf("sessions %+v", sessions)
			}
		})
		t.Run("Name", func(t *testing.T) {
			k := w.add(t, &device.Device{Origin: address})
			for _, name := range []string{"", "  ", "a\nb", strings.Repeat("x", 101)} {
				if err := w.RenamePasskey(t.Context(), w.who, k.ID, name, origin); fault.CodeOf(err) != fault.CodeValidation {
					t.Errorf("renamed to %.20q: %v", name, err)
				}
				if _, err := w.BeginNewPasskey(
					t.Context(), w.who, name, with(password), w.session.ID, origin,
				); fault.CodeOf(err) != fault.CodeValidation {
					t.Errorf("added as %.20q: %v", name, err)
				}
			}
			must.NoError(t, w.RenamePasskey(t.Context(), w.who, k.ID, " 会社のノート ", origin))
			got, err := w.PasskeyOf(t.Context(), w.who.ID, k.ID)
			must.NoError(t, err)
			if got.Name != "会社のノート" {
				t.Errorf("name %q", got.Name)
			}
		})
		t.Run("OfOthers", func(t *testing.T) {
			k := w.add(t, &device.Device{Origin: address})
			colleague, _ := w.colleague(t)
			for _, id := range []string{k.ID, store.NewID(), "x", ""} {
				_, err := w.PasskeyOf(t.Context(), colleague.ID, id)
				for _, err := range []error{
					err, w.RenamePasskey(t.Context(), colleague, id, "Mine", origin),
					w.RemovePasskey(t.Context(), colleague, id, with(password), "", origin),
				} {
					if !errors.Is(err, signin.PasskeyNotFound) {
						t.Errorf("%q: %v", id, err)
					}
				}
			}
		})
		t.Run("TooMany", func(t *testing.T) {
			asked := w.begin(t, "One too many")
			d := &device.Device{Origin: address}
			answer := d.Create(t, asked.Options)
			for range access.MaxPasskeys {
				passkeys, err := w.Passkeys(t.Context(), w.who.ID)
				must.NoError(t, err)
				if len(passkeys) == access.MaxPasskeys {
					break
				}
				w.add(t, &device.Device{Origin: address})
			}
			if _, err := w.BeginNewPasskey(
				t.Context(), w.who, "More", with(password), w.session.ID, origin,
			); !errors.Is(err, signin.TooManyPasskeys) {
				t.Errorf("%v", err)
			}
			if _, err := w.AddPasskey(
				t.Context(), w.who, asked.Sealed, answer, w.session.ID, origin,
			); !errors.Is(err, signin.TooManyPasskeys) {
				t.Errorf("%v", err)
			}
		})
	})
}

// TestPasskeyReset checks that whoever resets the second factor of a user takes their passkeys, too.
func TestPasskeyReset(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		resets := make(map[string]func(userID string) error)
		if w.audience == access.Desk {
			resets["ByAnAdministrator"] = func(id string) error {
				_, err := w.Service.ResetStaffFactors(t.Context(), w.who.Actor(origin), id)
				return err
			}
		} else {
			_, err := w.Service.ResetUserFactors(t.Context(), w.who.Actor(origin), w.Account.ID, w.who.ID)
			if !errors.Is(err, service.OwnFactors) {
				t.Errorf("an owner gets rid of their own without a password: %v", err)
			}
			admin, err := w.Service.CreateStaff(t.Context(), access.Operator, "admin@assay.example", "Admin", access.Admin)
			must.NoError(t, err)
			for name, by := range map[string]access.Actor{
				"ByAnOwner": w.who.Actor(origin), "ByAnAdministrator": admin.Staff.Actor(origin),
			} {
				resets[name] = func(id string) error {
					_, err := w.Service.ResetUserFactors(t.Context(), by, w.Account.ID, id)
					return err
				}
			}
		}
		for name, reset := range resets {
			t.Run(name, func(t *testing.T) {
				who, d := w.colleague(t)
				session, token, err := w.Service.StartSession(t.Context(), w.audience, who.ID, origin)
				must.NoError(t, err)
				_, err = w.signIn(t, d)
				must.NoError(t, err)
				begun, err := w.BeginNewPasskey(t.Context(), who, "Another", with(password), session.ID, origin)
				must.NoError(t, err)
				must.NoError(t, reset(who.ID))
				another := &device.Device{Origin: address, Counts: true}
				if _, err := w.AddPasskey(
					t.Context(), who, begun.Sealed, another.Create(t, begun.Options), session.ID, origin,
				); !errors.Is(err, signin.PasskeyTooLate) {
					t.Errorf("a passkey that was begun before: %v", err)
				}
				if _, err := w.signIn(t, d); !errors.Is(err, signin.WrongPasskey) {
					t.Errorf("%v", err)
				}
				if _, err := w.Service.Session(t.Context(), w.audience, token); !errors.Is(err, access.NoSession) {
					t.Errorf("their session goes on: %v", err)
				}
			})
		}
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
		_, err3 := w.BeginNewPasskey(t.Context(), w.who, "Phone", with(password), w.session.ID, origin)
		_, err4 := w.AddPasskey(t.Context(), w.who, asked.Sealed, answer, w.session.ID, origin)
		for _, err := range []error{err, err2, err3, err4} {
			if !errors.Is(err, signin.PasskeysUnavailable) {
				t.Errorf("%v", err)
			}
		}
	})
}
