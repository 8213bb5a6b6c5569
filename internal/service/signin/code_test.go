package signin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestWrongCodes checks that whoever knows a password cannot guess codes for long, that the person is told of it, and
// that it locks neither their own browser out nor them once they have another password.
func TestWrongCodes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		mine := origin
		mine.Device = "mine"
		_, _, err := w.Service.StartSession(t.Context(), w.audience, w.who.ID, mine)
		must.NoError(t, err)
		secret, recovery := w.enrol(t)
		w.reconfigure(t, shop.WithMail)

		addresses := 0
		elsewhere := func() access.Origin { // another address and an unknown browser each time
			addresses++
			return access.Origin{IP: fmt.Sprintf("198.51.%d.%d", addresses/250, addresses%250), UserAgent: "guesser"}
		}
		give := func(code string, from access.Origin) error { return w.Code(t.Context(), w.who.ID, code, from) }
		guesses := func(n int, pause time.Duration, from func() access.Origin) {
			t.Helper()
			for i := range n {
				if err := give("no code", from()); !errors.Is(err, signin.WrongCode) {
					t.Fatalf("guess %d: %v", i+1, err)
				}
				w.Clock.Advance(pause)
			}
		}
		refused := func(code string, from access.Origin) {
			t.Helper()
			if err := give(code, from); !errors.Is(err, signin.TooManyLogins) {
				t.Errorf("one more: %v", err)
			}
		}
		setPassword := func() { // to anything else
			t.Helper()
			must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
				return tx.SetPassword(w.audience, w.who.ID, access.HashPassword(access.NewPassword()))
			}))
		}

		guesses(4, time.Hour, elsewhere)
		w.WantMails(t)
		guesses(16, time.Hour, elsewhere)
		m := w.WantMails(t, "wrong-codes "+w.who.Email)[0]
		if !strings.Contains(m.Text, "198.51.0.5") || !strings.Contains(m.Text, "guesser") ||
			!strings.Contains(m.Text, w.settings()) {
			t.Errorf("%s", m.Text)
		}
		refused(recovery[0], elsewhere())
		f, _ := errors.AsType[*fault.Error](give(w.code(t, secret), elsewhere()))
		if f == nil || f.RetryAfter != 4*time.Hour {
			t.Errorf("refusal = %+v, want one that ends in four hours", f)
		}
		must.NoError(t, give(w.code(t, secret), mine))

		setPassword()
		w.Clock.Advance(time.Minute)
		must.NoError(t, give(w.code(t, secret), elsewhere()))
		guesses(20, 0, elsewhere)
		w.WantMails(t, "wrong-codes "+w.who.Email)
		refused(recovery[0], elsewhere())
		setPassword()
		guesses(20, 0, elsewhere)
		setPassword()
		refused(recovery[0], elsewhere()) // who reads their mail guesses no longer
		w.WantMails(t, "wrong-codes "+w.who.Email)

		for range 2 {
			guesses(10, 0, func() access.Origin { return mine })
			w.Clock.Advance(throttleWindow)
		}
		refused(recovery[0], mine) // a browser that somebody has taken away
		w.Clock.Advance(24 * time.Hour)
		must.NoError(t, give(recovery[0], mine))
		must.NoError(t, give(recovery[1], elsewhere()))
	})
}

// TestWrongCodes_Confirm checks that codes which are asked for again in a session count with those of a sign-in.
func TestWrongCodes_Confirm(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.enrol(t)
		w.reconfigure(t, shop.WithMail)
		w.again(t)
		for i := range 5 {
			from := w.here()
			from.IP = fmt.Sprintf("198.51.100.%d", i)
			proof := signin.Proof{Password: password, Code: "no code"}
			if err := w.Confirm(t.Context(), w.who, proof, from); !errors.Is(err, signin.WrongCurrentCode) {
				t.Fatal(err)
			}
		}
		w.WantMails(t, "wrong-codes "+w.who.Email)
		for i := range 15 {
			from := access.Origin{IP: fmt.Sprintf("198.51.100.%d", i)}
			if err := w.Code(t.Context(), w.who.ID, "no code", from); !errors.Is(err, signin.WrongCode) {
				t.Fatal(err)
			}
		}
		if err := w.Code(t.Context(), w.who.ID, "no code", origin); !errors.Is(err, signin.TooManyLogins) {
			t.Errorf("one more: %v", err)
		}
	})
}
