package signin_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestPasskeyInABrowser takes a passkey through its life in a real browser with a device of its own.
func TestPasskeyInABrowser(t *testing.T) {
	requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	each(t, passkeyInABrowser)
}

func passkeyInABrowser(t *testing.T, w *world) {
	w.Clock.Set(time.Now())
	secret, _ := enrol(t, w, w.who)
	w.Clock.Advance(time.Minute)
	b := uitest.NewBrowser(t, w.Service.Address())
	b.Allow("422")
	authenticator := b.Authenticator(true)
	userAgent := uitest.Eval[string](b, "navigator.userAgent")

	// With a password there is a code to give.
	b.Open(w.base + "/sign-in?lang=en")
	b.Fill("#f-email", w.who.Email)
	b.Fill("#f-password", password)
	b.Follow(".signin .primary")
	b.Fill("#f-code", w.code(t, secret))
	b.Follow(".signin .primary")
	b.Await(w.home)

	// Add a passkey.
	b.Open(w.settings)
	b.Click(".passkeys summary")
	b.Fill("#f-passkey-name", "Work laptop")
	b.Fill("#f-passkey_password", password)
	w.Clock.Advance(time.Minute) // no code is accepted twice
	b.Fill("#f-code-passkey_password", w.code(t, secret))
	b.Follow(".passkeys details button")
	b.Await("form[data-passkey-create] button")
	b.Screenshot("new")
	b.CheckAccessibility()
	b.Follow("form[data-passkey-create] button")
	b.Await(".passkeys table")
	if text := b.Text(".passkeys table"); !strings.Contains(text, "Work laptop") || !strings.Contains(text, "never") ||
		!strings.Contains(text, "synced") {
		t.Errorf("the settings say %q", text)
	}
	if kept := authenticator.Passkeys(); len(kept) != 1 || kept[0].RpID != "localhost" || !kept[0].IsResidentCredential ||
		string(kept[0].UserHandle) != w.who.ID {
		t.Errorf("the device keeps %+v", kept)
	}
	b.Screenshot("settings")

	// The same device makes no second one: in the dark, on a phone, in Japanese.
	b.Theme("dark")
	b.Resize(uitest.PhoneWidth)
	b.Open(w.settings + "?lang=ja")
	b.Click(".passkeys summary")
	b.Fill("#f-passkey-name", "もう一つ")
	b.Fill("#f-passkey_password", password)
	b.Screenshot("settings-ja")
	b.CheckAccessibility()
	b.Follow(".passkeys details button")
	b.Click("form[data-passkey-create] button")
	b.AwaitTrue("document.querySelector('.passkey-problem').textContent !== ''")
	if text := b.Text(".passkey-problem"); text != "この端末のパスキーはすでに登録されています。" {
		t.Errorf("the page says %q", text)
	}
	b.Screenshot("exists-ja")
	b.CheckAccessibility()
	b.Theme("light")
	b.Resize(uitest.DeskWidth)
	b.Open(w.settings + "?lang=en")

	// The browser offers it beside the email: this device takes every offer.
	b.Click("form[action='" + w.base + "/sign-out'] button")
	b.Await(w.home)
	all := w.SignInRecords(t, w.audience)
	if r := all[len(all)-1]; r.Code != shop.SignInCodes[w.audience]["in"] || r.UserID != w.who.ID || r.Agent != userAgent {
		t.Errorf("recorded %+v", r)
	}

	// Sign in with the button, in a browser that makes no offers.
	b.Before("PublicKeyCredential.isConditionalMediationAvailable = async () => false")
	signOut := func() {
		b.Follow("form[action='" + w.base + "/sign-out'] button")
		b.Await("form[data-passkey-get] button")
	}
	signOut()
	b.Screenshot("signin")
	b.CheckAccessibility()
	b.Follow("form[data-passkey-get] button")
	b.Await(w.home)

	// A device that does not recognise its user is of no use.
	signOut()
	authenticator.Verifies(false)
	b.Click("form[data-passkey-get] button")
	b.AwaitTrue("document.querySelector('.passkey-problem').textContent !== ''")
	b.Screenshot("signin-failed")
	b.CheckAccessibility()
	authenticator.Verifies(true)
	b.Follow("form[data-passkey-get] button")
	b.Await(w.home)

	// Remove it.
	b.Open(w.settings)
	b.Follow(".passkeys table a")
	b.Screenshot("passkey")
	b.CheckAccessibility()
	b.Fill("form[action$='/remove'] input[type=password]", password)
	w.Clock.Advance(time.Minute) // no code is accepted twice
	b.Fill("form[action$='/remove'] input[name=current_code]", w.code(t, secret))
	b.Follow("form[action$='/remove'] button")
	b.Await(".passkeys")
	if n := b.Count(".passkeys table"); n != 0 {
		t.Errorf("the passkey is still listed")
	}
	signOut()
	b.Follow("form[data-passkey-get] button") // the device still has it
	if text := b.Text(".alert"); text != "This passkey is not accepted." {
		t.Errorf("the page says %q", text)
	}
	b.Screenshot("refused")

	// Without scripts there is nothing to press that would do nothing.
	b.Scripts(false)
	b.Open(w.base + "/sign-in")
	b.Await(".signin .primary")
	if uitest.Eval[bool](b, "document.querySelector('form[data-passkey-get]').checkVisibility()") {
		t.Error("the button for passkeys is shown without scripts")
	}
	b.Screenshot("no-script")
}

// TestPages opens the pages that only a flow leads to, in both themes and languages on all screens.
func TestPages(t *testing.T) {
	requires.Engine(t, "a browser")
	each(t, func(t *testing.T, w *world) {
		w.Clock.Set(time.Now())
		w.Reconfigure(t, shop.WithMail)
		w.addPasskey(w.as(t, w.who), w.device(), "Laptop").Want(t, http.StatusSeeOther)
		w.mail(t)
		w.Visit(t).Post(w.base+"/forgot", "email", w.who.Email).Want(t, http.StatusOK)
		path := w.pathIn(t, w.mail(t)["reset-requested to "+w.who.Email])
		b := uitest.NewBrowser(t, w.Service.Address())
		b.Allow("404")
		b.CheckPages(map[string]string{
			"forgot": w.base + "/forgot", "reset": path, "link-gone": w.base + "/reset?token=x",
		})
		b.Open(path)
		b.Fill("#f-new_password", chosen)
		b.Fill("#f-repeat", chosen)
		b.Follow("main .primary")
		b.Await(".remaining")
		b.CheckPages(map[string]string{"reset-passkeys": w.base + "/reset/passkeys"})
		b.Follow("button[name=all]")
		b.Fill("#f-email", w.who.Email)
		b.Fill("#f-password", chosen)
		b.Follow(".signin .primary")
		b.Await(w.home)
		b.CheckPages(map[string]string{"settings": w.settings})
	})
}
