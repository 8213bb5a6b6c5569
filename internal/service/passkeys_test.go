package service_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/pquerna/otp/totp"
)

const (
	portalAddress  = "https://assay.example" // of the shop
	ownersPassword = "a password of my own"
	thisBrowser    = "a browser"
)

// counter is a portal where the owner of the shop's account has a device.
type counter struct {
	*shop.Shop
	*service.PortalSignIn
	owner   *service.Member
	session *access.Session
	device  *device.Device
}

// eachCounter runs a test of passkeys on every engine.
func eachCounter(t *testing.T, f func(t *testing.T, c *counter)) {
	t.Helper()
	hash := access.HashPassword(ownersPassword)
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.SetUserPassword(owner.ID, hash) }))
		owner.PasswordHash = hash
		session, _, err := s.Service.StartSession(t.Context(), access.Portal, owner.ID, portalOrigin)
		must.NoError(t, err)
		f(t, &counter{
			Shop: s, PortalSignIn: service.NewPortalSignIn(s.Service), owner: owner, session: session, device: &device.Device{Origin: portalAddress, Counts: true},
		})
	})
}

func (c *counter) begin(t *testing.T, name string) *service.PasskeyCeremony {
	t.Helper()
	asked, err := c.BeginNewPasskey(t.Context(), c.owner, name, ownersPassword, c.session.ID, portalOrigin)
	must.NoError(t, err)
	return asked
}

func (c *counter) add(t *testing.T, d *device.Device) *access.Passkey {
	t.Helper()
	asked := c.begin(t, "Phone")
	k, err := c.AddPasskey(t.Context(), c.owner, asked.Sealed, d.Create(t, asked.Options), c.session.ID, portalOrigin)
	must.NoError(t, err)
	return k
}

func (c *counter) challenge(t *testing.T) *service.PasskeyCeremony {
	t.Helper()
	asked, err := c.BeginPasskey(thisBrowser)
	must.NoError(t, err)
	return asked
}

func (c *counter) signIn(t *testing.T, d *device.Device) (string, error) {
	t.Helper()
	asked := c.challenge(t)
	return c.Passkey(t.Context(), thisBrowser, asked.Sealed, d.Get(t, asked.Options), portalOrigin)
}

// refused holds that an attempt was refused, and stands in the audit log with the reason.
func (c *counter) refused(t *testing.T, err error, want *fault.Error, reason string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v, want %s", err, want.Code)
	}
	e := c.lastEvent(t)
	if e.Code != audit.LoginFailed || e.Metadata["reason"] != reason || e.UserID != c.owner.ID || e.Actor.IP != portalOrigin.IP ||
		e.Actor.UserAgent != portalOrigin.UserAgent || e.Actor.Source != audit.FromPortal {
		t.Errorf("event %+v, want a failed sign-in because of %s", e, reason)
	}
	c.Clock.Advance(20 * time.Minute) // failures that are meant must not become too many
}

func (c *counter) lastEvent(t *testing.T) *audit.Event {
	t.Helper()
	events, _, err := c.Store.AuditPage(t.Context(), c.Account.ID, store.AuditFilter{}, 1, 1)
	must.NoError(t, err)
	return events[0]
}

func TestPasskey(t *testing.T) {
	eachCounter(t, func(t *testing.T, c *counter) {
		// The second factor is on, and still a passkey needs no code.
		e, err := c.BeginSecondFactor(c.owner)
		must.NoError(t, err)
		code, err := totp.GenerateCode(e.Secret, c.Clock.Now())
		must.NoError(t, err)
		_, err = c.ConfirmSecondFactor(t.Context(), c.owner, e, code, c.session.ID, portalOrigin)
		must.NoError(t, err)

		asked := c.begin(t, "  Phone  ")
		var options device.CreationOptions
		must.NoError(t, json.Unmarshal(asked.Options, &options))
		expect.Equal(t, "relying party", options.RP.ID, "assay.example")
		expect.Equal(t, "resident key", options.Selection.ResidentKey, "required")
		expect.Equal(t, "user verification", options.Selection.UserVerification, "required")
		expect.Equal(t, "attestation", options.Attestation, "none")
		if handle := string(options.User.ID); handle == "" || strings.Contains(handle, "@") {
			t.Errorf("the device is told %q of the user", handle)
		}
		c.device.Synced = true
		k, err := c.AddPasskey(t.Context(), c.owner, asked.Sealed, c.device.Create(t, asked.Options), c.session.ID, portalOrigin)
		must.NoError(t, err)
		if k.Name != "Phone" || !k.BackupEligible || !k.BackedUp || strings.Join(k.Transports, " ") != "internal hybrid" || k.LastUsedAt != nil {
			t.Errorf("passkey %+v", k)
		}
		kept, err := c.Passkeys(t.Context(), c.owner)
		must.NoError(t, err)
		if len(kept) != 1 {
			t.Fatalf("kept %+v, want %+v", kept, k)
		}
		expect.Equal(t, "id", kept[0].ID, k.ID)
		expect.Equal(t, "public key", string(kept[0].PublicKey), string(k.PublicKey))
		expect.Equal(t, "sign count", kept[0].SignCount, 1)
		expect.Equal(t, "time", kept[0].CreatedAt.UTC(), c.Clock.Now().UTC())

		c.Clock.Advance(time.Hour)
		c.device.Synced = true
		for n := range 3 {
			id, err := c.signIn(t, c.device)
			must.NoError(t, err)
			if id != c.owner.ID {
				t.Errorf("user %s", id)
			}
			used, err := c.PasskeyOf(t.Context(), c.owner, k.ID)
			must.NoError(t, err)
			if used.SignCount != uint32(n)+2 || used.LastUsedAt == nil || !used.LastUsedAt.Equal(c.Clock.Now()) {
				t.Errorf("after use %d: %+v", n+1, used)
			}
		}
		_, err = c.Begin(t.Context(), c.owner.ID, portalOrigin)
		must.NoError(t, err)
		if e := c.lastEvent(t); e.Code != audit.LoginSucceeded || e.Actor.Source != audit.FromPortal || e.Actor.IP != portalOrigin.IP {
			t.Errorf("event %+v", e)
		}
		t.Run("OfADeviceThatDoesNotCount", func(t *testing.T) {
			d := &device.Device{Origin: portalAddress}
			c.add(t, d)
			for range 2 {
				_, err := c.signIn(t, d)
				must.NoError(t, err)
			}
		})
		t.Run("OnceForEachDevice", func(t *testing.T) {
			if answer := c.device.Create(t, c.begin(t, "Again").Options); answer != "" {
				t.Error("the device does not learn that it has a passkey already")
			}
		})
	})
}

func TestPasskeyRefused(t *testing.T) {
	eachCounter(t, func(t *testing.T, c *counter) {
		k := c.add(t, c.device)
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
				d := c.device.Copy()
				lie(d)
				_, err := c.signIn(t, d)
				c.refused(t, err, service.WrongPasskey, "wrong-passkey")
				if name == "BecomesSynced" { // a device says this when the passkey is made
					return
				}
				asked := c.begin(t, "Other")
				if _, err := c.AddPasskey(t.Context(), c.owner, asked.Sealed, (&device.Device{
					Origin: d.Origin, RPID: d.RPID, Unverified: d.Unverified, Absent: d.Absent, Forged: d.Forged,
				}).Create(t, asked.Options), c.session.ID, portalOrigin); !errors.Is(err, service.WrongPasskey) {
					t.Errorf("made: %v", err)
				}
			})
		}
		t.Run("CopiedKey", func(t *testing.T) {
			thief := c.device.Copy()
			for range 2 {
				_, err := c.signIn(t, c.device)
				must.NoError(t, err)
			}
			_, err := c.signIn(t, thief) // the counter is behind
			c.refused(t, err, service.WrongPasskey, "passkey-sign-count")
			_, err = c.signIn(t, thief) // and now the same
			c.refused(t, err, service.WrongPasskey, "passkey-sign-count")
			thief.Counts = false
			_, err = c.signIn(t, thief)
			c.refused(t, err, service.WrongPasskey, "passkey-sign-count")
			_, err = c.signIn(t, c.device)
			must.NoError(t, err)
		})
		t.Run("AnswerOfAnotherUser", func(t *testing.T) {
			asked := c.challenge(t)
			answer := c.device.Get(t, asked.Options)
			var fields map[string]any
			must.NoError(t, json.Unmarshal([]byte(answer), &fields))
			fields["response"].(map[string]any)["userHandle"] = "c29tZWJvZHkgZWxzZQ"
			changed, err := json.Marshal(fields)
			must.NoError(t, err)
			_, err = c.Passkey(t.Context(), thisBrowser, asked.Sealed, string(changed), portalOrigin)
			c.refused(t, err, service.WrongPasskey, "wrong-passkey")
		})
		t.Run("Unknown", func(t *testing.T) {
			before, err := c.Store.AuditCount(t.Context(), c.Account.ID)
			must.NoError(t, err)
			stranger := &device.Device{Origin: portalAddress}
			stranger.Create(t, c.begin(t, "Never added").Options)
			if _, err := c.signIn(t, stranger); !errors.Is(err, service.WrongPasskey) {
				t.Errorf("%v", err)
			}
			for _, answer := range []string{"", "{}", "null", "[1]", `{"id": 1}`, strings.Repeat("[", 10_000), `{"id":"AA","rawId":"AA","type":"public-key","response":{}}`} {
				if _, err := c.Passkey(t.Context(), thisBrowser, c.challenge(t).Sealed, answer, portalOrigin); !errors.Is(err, service.WrongPasskey) {
					t.Errorf("%.60q: %v", answer, err)
				}
			}
			if after, err := c.Store.AuditCount(t.Context(), c.Account.ID); err != nil || after != before {
				t.Errorf("%d events about nobody, %v", after-before, err)
			}
		})
		t.Run("OfSomebodyWhoHasLeft", func(t *testing.T) {
			leaver, d := c.colleague(t)
			if id, err := c.signIn(t, d); err != nil || id != leaver.ID {
				t.Fatalf("%s, %v", id, err)
			}
			must.NoError(t, c.Service.RemoveUser(t.Context(), c.owner, leaver.ID))
			if _, err := c.signIn(t, d); !errors.Is(err, service.WrongPasskey) {
				t.Errorf("%v", err)
			}
		})
		t.Run("Removed", func(t *testing.T) {
			must.NoError(t, c.RemovePasskey(t.Context(), c.owner, k.ID, ownersPassword, c.session.ID, portalOrigin))
			if _, err := c.signIn(t, c.device); !errors.Is(err, service.WrongPasskey) {
				t.Errorf("%v", err)
			}
		})
	})
}

// colleague is another user of the account, with a passkey on a device.
func (c *counter) colleague(t *testing.T) (*service.Member, *device.Device) {
	t.Helper()
	u := &access.User{
		ID: store.NewID(), AccountID: c.Account.ID, Email: "member-" + store.NewID() + "@acme.example", Role: access.Viewer, PasswordHash: c.owner.PasswordHash, CreatedAt: c.Clock.Now(),
	}
	must.NoError(t, c.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertUser(u) }))
	who, err := c.Service.MemberOfSession(t.Context(), u.ID)
	must.NoError(t, err)
	session, _, err := c.Service.StartSession(t.Context(), access.Portal, who.ID, portalOrigin)
	must.NoError(t, err)
	d := &device.Device{Origin: portalAddress, Counts: true}
	asked, err := c.BeginNewPasskey(t.Context(), who, "Their phone", ownersPassword, session.ID, portalOrigin)
	must.NoError(t, err)
	_, err = c.AddPasskey(t.Context(), who, asked.Sealed, d.Create(t, asked.Options), session.ID, portalOrigin)
	must.NoError(t, err)
	return who, d
}

// TestPasskeyChallenge holds that a challenge is good for one answer, of one browser, for five minutes.
func TestPasskeyChallenge(t *testing.T) {
	eachCounter(t, func(t *testing.T, c *counter) {
		c.add(t, c.device)
		pass := func(asked *service.PasskeyCeremony, browser string) error {
			_, err := c.Passkey(t.Context(), browser, asked.Sealed, c.device.Get(t, asked.Options), portalOrigin)
			return err
		}
		t.Run("Replay", func(t *testing.T) {
			asked := c.challenge(t)
			answer := c.device.Get(t, asked.Options)
			_, err := c.Passkey(t.Context(), thisBrowser, asked.Sealed, answer, portalOrigin)
			must.NoError(t, err)
			_, err = c.Passkey(t.Context(), thisBrowser, asked.Sealed, answer, portalOrigin)
			c.refused(t, err, service.PasskeyTooLate, "passkey-too-late")
			c.refused(t, pass(asked, thisBrowser), service.PasskeyTooLate, "passkey-too-late") // nor with a fresh signature
		})
		t.Run("ReplayToAnotherNode", func(t *testing.T) {
			asked := c.challenge(t)
			must.NoError(t, pass(asked, thisBrowser))
			other := service.NewPortalSignIn(c.Service)
			_, err := other.Passkey(t.Context(), thisBrowser, asked.Sealed, c.device.Get(t, asked.Options), portalOrigin)
			c.refused(t, err, service.PasskeyTooLate, "passkey-too-late")
		})
		t.Run("SpentByAWrongAnswer", func(t *testing.T) {
			asked := c.challenge(t)
			forger := c.device.Copy()
			forger.Forged = true
			_, err := c.Passkey(t.Context(), thisBrowser, asked.Sealed, forger.Get(t, asked.Options), portalOrigin)
			c.refused(t, err, service.WrongPasskey, "wrong-passkey")
			c.refused(t, pass(asked, thisBrowser), service.PasskeyTooLate, "passkey-too-late")
		})
		t.Run("Expired", func(t *testing.T) {
			asked := c.challenge(t)
			c.Clock.Advance(service.PasskeyCeremonyLife - time.Microsecond)
			must.NoError(t, pass(asked, thisBrowser))
			asked = c.challenge(t)
			c.Clock.Advance(service.PasskeyCeremonyLife)
			c.refused(t, pass(asked, thisBrowser), service.PasskeyTooLate, "passkey-too-late")
			made := c.begin(t, "Late")
			c.Clock.Advance(service.PasskeyCeremonyLife)
			if _, err := c.AddPasskey(t.Context(), c.owner, made.Sealed, c.device.Create(t, made.Options), c.session.ID, portalOrigin); !errors.Is(err, service.PasskeyTooLate) {
				t.Errorf("made: %v", err)
			}
		})
		t.Run("OfAnotherBrowser", func(t *testing.T) {
			c.refused(t, pass(c.challenge(t), "another browser"), service.PasskeyTooLate, "passkey-too-late")
		})
		t.Run("OfAnotherChallenge", func(t *testing.T) {
			first, second := c.challenge(t), c.challenge(t)
			_, err := c.Passkey(t.Context(), thisBrowser, first.Sealed, c.device.Get(t, second.Options), portalOrigin)
			c.refused(t, err, service.WrongPasskey, "wrong-passkey")
		})
		t.Run("Forged", func(t *testing.T) {
			asked := c.challenge(t)
			for _, sealed := range []string{"", "v1:", asked.Sealed[:len(asked.Sealed)-4] + "AAAA", c.begin(t, "Other").Sealed} {
				_, err := c.Passkey(t.Context(), thisBrowser, sealed, c.device.Get(t, asked.Options), portalOrigin)
				c.refused(t, err, service.PasskeyTooLate, "passkey-too-late")
			}
		})
		t.Run("OfANewPasskey", func(t *testing.T) {
			asked := c.begin(t, "Tablet")
			d := &device.Device{Origin: portalAddress}
			answer := d.Create(t, asked.Options)
			other, _, err := c.Service.StartSession(t.Context(), access.Portal, c.owner.ID, portalOrigin)
			must.NoError(t, err)
			colleague, _ := c.colleague(t)
			if _, err := c.AddPasskey(t.Context(), c.owner, asked.Sealed, answer, other.ID, portalOrigin); !errors.Is(err, service.PasskeyTooLate) {
				t.Errorf("in another session: %v", err)
			}
			if _, err := c.AddPasskey(t.Context(), colleague, asked.Sealed, answer, c.session.ID, portalOrigin); !errors.Is(err, service.PasskeyTooLate) {
				t.Errorf("by another user: %v", err)
			}
			_, err = c.AddPasskey(t.Context(), c.owner, asked.Sealed, answer, c.session.ID, portalOrigin)
			must.NoError(t, err)
			if _, err := c.AddPasskey(t.Context(), c.owner, asked.Sealed, answer, c.session.ID, portalOrigin); !errors.Is(err, service.PasskeyTooLate) {
				t.Errorf("again: %v", err)
			}
		})
		t.Run("Race", func(t *testing.T) {
			asked := c.challenge(t)
			answer := c.device.Get(t, asked.Options)
			var wg sync.WaitGroup
			var mu sync.Mutex
			accepted := 0
			for range 6 {
				wg.Go(func() {
					_, err := c.Passkey(t.Context(), thisBrowser, asked.Sealed, answer, portalOrigin)
					switch {
					case err == nil:
						mu.Lock()
						accepted++
						mu.Unlock()
					case !errors.Is(err, service.PasskeyTooLate):
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if accepted != 1 {
				t.Errorf("an answer was accepted %d times", accepted)
			}
		})
		t.Run("Forgotten", func(t *testing.T) {
			forget := func() int {
				n, err := c.Service.ForgetChallenges(t.Context(), 1000)
				must.NoError(t, err)
				return n
			}
			c.Clock.Advance(2 * time.Hour)
			forget()
			must.NoError(t, pass(c.challenge(t), thisBrowser))
			if n := forget(); n != 0 {
				t.Errorf("%d challenges are forgotten while they could be answered", n)
			}
			c.Clock.Advance(2 * time.Hour)
			if n := forget(); n != 1 {
				t.Errorf("%d challenges are forgotten, not 1", n)
			}
		})
	})
}

func TestPasskeyThrottled(t *testing.T) {
	eachCounter(t, func(t *testing.T, c *counter) {
		c.add(t, c.device)
		forger := c.device.Copy()
		forger.Forged = true
		for range 10 {
			if _, err := c.signIn(t, forger); !errors.Is(err, service.WrongPasskey) {
				t.Fatal(err)
			}
		}
		if _, err := c.signIn(t, c.device); !errors.Is(err, service.TooManyLogins) {
			t.Errorf("%v", err)
		}
		c.Clock.Advance(16 * time.Minute)
		for range 12 { // what succeeds is not counted
			_, err := c.signIn(t, c.device)
			must.NoError(t, err)
		}
		for n := range 11 {
			_, err := c.Passkey(t.Context(), thisBrowser, "", "{", portalOrigin)
			if want := n == 10; errors.Is(err, service.TooManyLogins) != want {
				t.Errorf("answer %d that cannot be read: %v", n+1, err)
			}
		}
	})
}

func TestPasskeyChange(t *testing.T) {
	eachCounter(t, func(t *testing.T, c *counter) {
		elsewhere := func(t *testing.T) (token string) {
			t.Helper()
			_, token, err := c.Service.StartSession(t.Context(), access.Portal, c.owner.ID, portalOrigin)
			must.NoError(t, err)
			return token
		}
		ended := func(t *testing.T, token string) bool {
			t.Helper()
			_, err := c.Service.Session(t.Context(), access.Portal, token)
			return errors.Is(err, access.NoSession)
		}
		t.Run("NeedsThePassword", func(t *testing.T) {
			if _, err := c.BeginNewPasskey(t.Context(), c.owner, "Phone", "wrong", c.session.ID, portalOrigin); !errors.Is(err, service.WrongPassword) {
				t.Errorf("add: %v", err)
			}
			k := c.add(t, c.device)
			if err := c.RemovePasskey(t.Context(), c.owner, k.ID, "wrong", c.session.ID, portalOrigin); !errors.Is(err, service.WrongPassword) {
				t.Errorf("remove: %v", err)
			}
			_, err := c.signIn(t, c.device)
			must.NoError(t, err)
		})
		t.Run("IsTold", func(t *testing.T) {
			c.Service.Mail = func() {}
			k := c.add(t, &device.Device{Origin: portalAddress})
			if m := wantPosted(t, c.Shop, "passkey-added "+c.owner.Email)[0]; !strings.Contains(m.Text, "“Phone”") || !strings.Contains(m.Text, portalAddress+"/portal/settings") {
				t.Errorf("%s", m.Text)
			}
			must.NoError(t, c.RemovePasskey(t.Context(), c.owner, k.ID, ownersPassword, c.session.ID, portalOrigin))
			wantPosted(t, c.Shop)
		})
		t.Run("EndsOtherSessions", func(t *testing.T) {
			token := elsewhere(t)
			k := c.add(t, &device.Device{Origin: portalAddress})
			if !ended(t, token) {
				t.Error("another session goes on after a passkey was added")
			}
			token = elsewhere(t)
			must.NoError(t, c.RenamePasskey(t.Context(), c.owner, k.ID, "Tablet"))
			if ended(t, token) {
				t.Error("another session has ended for a name")
			}
			must.NoError(t, c.RemovePasskey(t.Context(), c.owner, k.ID, ownersPassword, c.session.ID, portalOrigin))
			if !ended(t, token) {
				t.Error("another session goes on after a passkey was removed")
			}
			sessions, err := c.Service.Sessions(t.Context(), access.Portal, c.owner.ID)
			must.NoError(t, err)
			if len(sessions) != 1 || sessions[0].ID != c.session.ID {
				t.Errorf("sessions %+v", sessions)
			}
		})
		t.Run("Name", func(t *testing.T) {
			k := c.add(t, &device.Device{Origin: portalAddress})
			for _, name := range []string{"", "  ", "a\nb", strings.Repeat("x", 101)} {
				if err := c.RenamePasskey(t.Context(), c.owner, k.ID, name); fault.CodeOf(err) != fault.CodeValidation {
					t.Errorf("renamed to %.20q: %v", name, err)
				}
				if _, err := c.BeginNewPasskey(t.Context(), c.owner, name, ownersPassword, c.session.ID, portalOrigin); fault.CodeOf(err) != fault.CodeValidation {
					t.Errorf("added as %.20q: %v", name, err)
				}
			}
			must.NoError(t, c.RenamePasskey(t.Context(), c.owner, k.ID, " 会社のノート "))
			got, err := c.PasskeyOf(t.Context(), c.owner, k.ID)
			must.NoError(t, err)
			if got.Name != "会社のノート" {
				t.Errorf("name %q", got.Name)
			}
		})
		t.Run("OfOthers", func(t *testing.T) {
			k := c.add(t, &device.Device{Origin: portalAddress})
			colleague, _ := c.colleague(t)
			for _, id := range []string{k.ID, store.NewID(), "x", ""} {
				_, err := c.PasskeyOf(t.Context(), colleague, id)
				for _, err := range []error{
					err, c.RenamePasskey(t.Context(), colleague, id, "Mine"), c.RemovePasskey(t.Context(), colleague, id, ownersPassword, "", portalOrigin),
				} {
					if !errors.Is(err, service.PasskeyNotFound) {
						t.Errorf("%q: %v", id, err)
					}
				}
			}
		})
		t.Run("TooMany", func(t *testing.T) {
			asked := c.begin(t, "One too many")
			d := &device.Device{Origin: portalAddress}
			answer := d.Create(t, asked.Options)
			for range access.MaxPasskeys {
				passkeys, err := c.Passkeys(t.Context(), c.owner)
				must.NoError(t, err)
				if len(passkeys) == access.MaxPasskeys {
					break
				}
				c.add(t, &device.Device{Origin: portalAddress})
			}
			if _, err := c.BeginNewPasskey(t.Context(), c.owner, "More", ownersPassword, c.session.ID, portalOrigin); !errors.Is(err, service.TooManyPasskeys) {
				t.Errorf("%v", err)
			}
			if _, err := c.AddPasskey(t.Context(), c.owner, asked.Sealed, answer, c.session.ID, portalOrigin); !errors.Is(err, service.TooManyPasskeys) {
				t.Errorf("%v", err)
			}
		})
	})
}

// TestPasskeyReset holds that whoever resets the second factor of a user takes their passkeys, too.
func TestPasskeyReset(t *testing.T) {
	eachCounter(t, func(t *testing.T, c *counter) {
		if err := c.Service.ResetSecondFactorOf(t.Context(), c.owner, c.owner.ID); !errors.Is(err, service.OwnFactors) {
			t.Errorf("an owner gets rid of their own without a password: %v", err)
		}
		admin, err := c.Service.CreateStaff(t.Context(), "admin@assay.example", "Admin", access.Admin)
		must.NoError(t, err)
		for name, reset := range map[string]func(userID string) error{
			"ByAnOwner": func(id string) error { return c.Service.ResetSecondFactorOf(t.Context(), c.owner, id) },
			"ByAnAdministrator": func(id string) error {
				_, err := service.NewAdministration(c.Service).ResetUserSecondFactor(t.Context(), &admin.Staff, c.Account, id)
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				who, d := c.colleague(t)
				session, token, err := c.Service.StartSession(t.Context(), access.Portal, who.ID, portalOrigin)
				must.NoError(t, err)
				_, err = c.signIn(t, d)
				must.NoError(t, err)
				begun, err := c.BeginNewPasskey(t.Context(), who, "Another", ownersPassword, session.ID, portalOrigin)
				must.NoError(t, err)
				must.NoError(t, reset(who.ID))
				another := &device.Device{Origin: portalAddress, Counts: true}
				if _, err := c.AddPasskey(t.Context(), who, begun.Sealed, another.Create(t, begun.Options), session.ID, portalOrigin); !errors.Is(err, service.PasskeyTooLate) {
					t.Errorf("a passkey that was begun before: %v", err)
				}
				if _, err := c.signIn(t, d); !errors.Is(err, service.WrongPasskey) {
					t.Errorf("%v", err)
				}
				if _, err := c.Service.Session(t.Context(), access.Portal, token); !errors.Is(err, access.NoSession) {
					t.Errorf("their session goes on: %v", err)
				}
			})
		}
	})
}

// TestPasskeysUnavailable holds that an address without a domain name has no passkeys at all.
func TestPasskeysUnavailable(t *testing.T) {
	eachCounter(t, func(t *testing.T, c *counter) {
		c.add(t, c.device)
		asked := c.challenge(t)
		answer := c.device.Get(t, asked.Options)
		c.Service.PublicURL = "http://192.0.2.1:8080"
		if _, ok := c.RelyingParty(); ok {
			t.Error("there is a relying party")
		}
		_, err := c.BeginPasskey(thisBrowser)
		_, err2 := c.Passkey(t.Context(), thisBrowser, asked.Sealed, answer, portalOrigin)
		_, err3 := c.BeginNewPasskey(t.Context(), c.owner, "Phone", ownersPassword, c.session.ID, portalOrigin)
		_, err4 := c.AddPasskey(t.Context(), c.owner, asked.Sealed, answer, c.session.ID, portalOrigin)
		for _, err := range []error{err, err2, err3, err4} {
			if !errors.Is(err, service.PasskeysUnavailable) {
				t.Errorf("%v", err)
			}
		}
	})
}
