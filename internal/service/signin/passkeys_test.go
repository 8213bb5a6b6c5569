package signin_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/device"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
)

func (w *world) begin(t *testing.T, name string) *signin.PasskeyCeremony {
	t.Helper()
	asked, err := w.BeginNewPasskey(t.Context(), w.who, name, with(password), w.fresh())
	must.NoError(t, err)
	return asked
}

func (w *world) add(t *testing.T, d *device.Device) *access.Passkey {
	t.Helper()
	asked := w.begin(t, "Phone")
	k, err := w.AddPasskey(t.Context(), w.who, asked.Sealed, d.Create(t, asked.Options), w.here())
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

// colleague is another person, with a passkey on a device.
func (w *world) colleague(t *testing.T) (*access.Person, *device.Device) {
	t.Helper()
	who := w.person(t, "member-"+uuid7.New()+"@acme.example", access.Reviewer, access.Viewer)
	session := w.start(t, who)
	d := &device.Device{Origin: address, Counts: true}
	asked, err := w.BeginNewPasskey(t.Context(), who, "Their phone", with(password), in(session))
	must.NoError(t, err)
	_, err = w.AddPasskey(t.Context(), who, asked.Sealed, d.Create(t, asked.Options), in(session))
	must.NoError(t, err)
	return who, d
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
				t.Context(), w.who, "Phone", with("wrong"), w.here(),
			); !errors.Is(err, signin.WrongPassword) {
				t.Errorf("add: %v", err)
			}
			k := w.add(t, w.device)
			if err := w.RemovePasskey(
				t.Context(), w.who, k.ID, with("wrong"), w.here(),
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
			must.NoError(t, w.RemovePasskey(t.Context(), w.who, k.ID, with(password), w.fresh()))
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
			must.NoError(t, w.RemovePasskey(t.Context(), w.who, k.ID, with(password), w.fresh()))
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
					t.Context(), w.who, name, with(password), w.here(),
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
			for _, id := range []string{k.ID, uuid7.New(), "x", ""} {
				_, err := w.PasskeyOf(t.Context(), colleague.ID, id)
				for _, err := range []error{
					err, w.RenamePasskey(t.Context(), colleague, id, "Mine", origin),
					w.RemovePasskey(t.Context(), colleague, id, with(password), origin),
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
				t.Context(), w.who, "More", with(password), w.here(),
			); !errors.Is(err, signin.TooManyPasskeys) {
				t.Errorf("%v", err)
			}
			if _, err := w.AddPasskey(
				t.Context(), w.who, asked.Sealed, answer, w.here(),
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
				begun, err := w.BeginNewPasskey(t.Context(), who, "Another", with(password), in(session))
				must.NoError(t, err)
				must.NoError(t, reset(who.ID))
				another := &device.Device{Origin: address, Counts: true}
				if _, err := w.AddPasskey(
					t.Context(), who, begun.Sealed, another.Create(t, begun.Options), in(session),
				); !errors.Is(err, access.NoSession) {
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
