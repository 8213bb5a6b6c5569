package portal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/pages/ui/uitest"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/need"
	"github.com/pquerna/otp/totp"
)

// TestPasskeyInABrowser takes a passkey through its life in a real browser with a device of its own.
func TestPasskeyInABrowser(t *testing.T) {
	need.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	secret, _ := enrol(t, w, w.Developer)
	w.Clock.Advance(time.Minute)
	b := uitest.NewBrowser(t, w.Service.PublicURL)
	b.Allow("422")
	authenticator := b.Authenticator(true)
	userAgent := uitest.Eval[string](b, "navigator.userAgent")

	// With a password there is a code to give.
	b.Open("/portal/sign-in?lang=en")
	b.Fill("#f-email", w.Developer.Email)
	b.Fill("#f-password", password)
	b.Follow(".signin .primary")
	code, err := totp.GenerateCode(secret, w.Clock.Now())
	must.NoError(t, err)
	b.Fill("#f-code", code)
	b.Follow(".signin .primary")
	b.Await(".env-switch")

	// Add a passkey.
	b.Open("/portal/settings")
	b.Click(".passkeys summary")
	b.Fill("#f-passkey-name", "Work laptop")
	b.Fill("#f-passkey_password", password)
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
		string(kept[0].UserHandle) != w.Developer.ID {
		t.Errorf("the device keeps %+v", kept)
	}
	b.Screenshot("settings")

	// The same device makes no second one: in the dark, on a phone, in Japanese.
	b.Theme("dark")
	b.Resize(uitest.PhoneWidth)
	b.Open("/portal/settings?lang=ja")
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
	b.Open("/portal/settings?lang=en")

	// The browser offers it beside the email: this device takes every offer.
	b.Click("form[action='/portal/sign-out'] button")
	b.Await(".env-switch")
	if e := w.lastEvent(t); e.Code != audit.LoginSucceeded || e.UserID != w.Developer.ID ||
		e.Actor.UserAgent != userAgent {
		t.Errorf("event %+v", e)
	}

	// Sign in with the button, in a browser that makes no offers.
	b.Before("PublicKeyCredential.isConditionalMediationAvailable = async () => false")
	signOut := func() {
		b.Follow("form[action='/portal/sign-out'] button")
		b.Await("form[data-passkey-get] button")
	}
	signOut()
	b.Screenshot("signin")
	b.CheckAccessibility()
	b.Follow("form[data-passkey-get] button")
	b.Await(".env-switch")

	// A device that does not recognise its user is of no use.
	signOut()
	authenticator.Verifies(false)
	b.Click("form[data-passkey-get] button")
	b.AwaitTrue("document.querySelector('.passkey-problem').textContent !== ''")
	b.Screenshot("signin-failed")
	b.CheckAccessibility()
	authenticator.Verifies(true)
	b.Follow("form[data-passkey-get] button")
	b.Await(".env-switch")

	// Remove it.
	b.Open("/portal/settings")
	b.Follow(".passkeys table a")
	b.Screenshot("passkey")
	b.CheckAccessibility()
	b.Fill("form[action$='/remove'] input", password)
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
	b.Open("/portal/sign-in")
	b.Await(".signin .primary")
	if uitest.Eval[bool](b, "document.querySelector('form[data-passkey-get]').checkVisibility()") {
		t.Error("the button for passkeys is shown without scripts")
	}
	b.Screenshot("no-script")
}
