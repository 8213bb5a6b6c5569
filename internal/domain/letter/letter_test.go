package letter_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/domain/text"
)

const link = "https://assay.example/portal/join?token=abc_DEF-123&x=1"

// all renders a letter of every kind.
func all(l text.Locale) map[letter.Kind]letter.Letter {
	at := time.Date(2026, time.March, 2, 10, 30, 0, 0, time.FixedZone("JST", 9*60*60))
	const day = 24 * time.Hour
	toBefore, toAfter := letter.ChangedEmail(l, "old@acme.example", "new@acme.example", at, link)
	user := &access.Person{Audience: access.Portal, Email: "hana@acme.example"}
	staff := &access.Person{Audience: access.Desk, Email: "mika@example.com"}
	letters := make(map[letter.Kind]letter.Letter)
	for _, x := range []letter.Letter{
		letter.Invite(l, "Acme", access.Developer, "owner@acme.example", link, 7*day),
		letter.RequestedReset(l, access.Portal, "hana@acme.example", link, day),
		letter.MadeReset(l, "hana@acme.example", "", link, day),
		letter.Notice(letter.PasswordChanged, l, user, at, link, nil),
		letter.BecameAdministrator(l, "mika@example.com", link, day),
		toBefore, toAfter,
		letter.Notice(letter.PasskeyAdded, l, user, at, link, map[string]string{"name": "Phone"}),
		letter.Notice(letter.PasskeyRemoved, l, user, at, link, map[string]string{"name": "Phone"}),
		letter.Notice(letter.CodesRenewed, l, user, at, link, nil),
		letter.RequestApproval(l, access.ApproveCredits, "Aoi", "Acme", link, access.ApprovalLife),
		letter.Notice(letter.TokenMade, l, staff, at, link, nil),
		letter.Notice(letter.TokenRevoked, l, staff, at, link, nil),
		letter.Notice(letter.NewDevice, l, user, at, link, map[string]string{"address": "192.0.2.7", "agent": "Firefox"}),
		letter.Notice(letter.WrongCodes, l, user, at, link, map[string]string{"address": "192.0.2.7", "agent": "Firefox"}),
		letter.ConfirmEmail(l, "hana@acme.example", "boss@acme.example", link, access.ResetLife),
		letter.FewCredits(l, "Acme", 1234, 1500, link),
		letter.EndpointFails(l, "Acme", access.Live, "https://shop.example/hook", at, link),
		letter.InviteStaff(l, access.Reviewer, "Aoi Mori", link, 7*day),
		letter.Notice(letter.FactorOn, l, user, at, link, nil),
		letter.Notice(letter.FactorOff, l, staff, at, link, nil),
	} {
		letters[x.Kind] = x
	}
	return letters
}

var (
	unfilled = regexp.MustCompile(`\{\w*\}`)
	japanese = regexp.MustCompile(`[ぁ-んァ-ヶ]`)
)

func TestLetters(t *testing.T) {
	for _, l := range text.Locales {
		letters := all(l)
		for _, kind := range letter.Kinds {
			x, ok := letters[kind]
			if !ok {
				t.Fatalf("the test writes no letter %s", kind)
			}
			for part, s := range map[string]string{"subject": x.Subject, "text": x.Text, "HTML": x.HTML} {
				if s == "" || part != "HTML" && unfilled.MatchString(s) { // there are braces in its styles
					t.Errorf("%s %s: the %s is %q", kind, l, part, s)
				}
				if japanese.MatchString(s) != (l == text.Japanese) {
					t.Errorf("%s %s: the %s is in the other language: %q", kind, l, part, s)
				}
			}
			if linked := kind != letter.EmailChangedOld; strings.Contains(x.Text, "\n"+link+"\n") != linked ||
				strings.Contains(x.HTML, `href="https://assay.example/portal/join?token=abc_DEF-123&amp;x=1"`) != linked {
				t.Errorf("%s %s: the link is not in both, or should not be\n%s\n%s", kind, l, x.Text, x.HTML)
			}
			if strings.ContainsAny(x.Subject, "\r\n") || x.Locale != l ||
				!strings.Contains(x.HTML, `<html lang="`+string(l)+`">`) {
				t.Errorf("%s %s: %+v", kind, l, x)
			}
		}
		for kind, words := range map[letter.Kind][]string{
			letter.Invitation:      {"Acme", "owner@acme.example", "7"},
			letter.ResetMade:       {"hana@acme.example", "24"},
			letter.PasswordChanged: {"2026-03-02 01:30 UTC"},
			letter.EmailChangedOld: {"old@acme.example", "new@acme.example"},
			letter.LowBalance:      {"1,234", "1,500"},
			letter.EndpointFailing: {"Acme", "https://shop.example/hook", "2026-03-02 01:30 UTC"},
			letter.PasskeyAdded:    {"hana@acme.example", "Phone", "2026-03-02 01:30 UTC"},
			letter.PasskeyRemoved:  {"hana@acme.example", "Phone", "2026-03-02 01:30 UTC"},
			letter.CodesRenewed:    {"hana@acme.example", "2026-03-02 01:30 UTC"},
			letter.ApprovalAsked:   {"Aoi", "Acme"},
			letter.TokenMade:       {"mika@example.com", "2026-03-02 01:30 UTC"},
			letter.TokenRevoked:    {"mika@example.com", "2026-03-02 01:30 UTC"},
			letter.NewDevice:       {"hana@acme.example", "192.0.2.7", "Firefox", "2026-03-02 01:30 UTC"},
			letter.WrongCodes:      {"hana@acme.example", "192.0.2.7", "Firefox", "2026-03-02 01:30 UTC"},
			letter.EmailChange:     {"hana@acme.example", "boss@acme.example", "24"},
			letter.StaffInvitation: {"Aoi Mori", "7"},
			letter.FactorOn:        {"hana@acme.example", "2026-03-02 01:30 UTC"},
			letter.FactorOff:       {"mika@example.com", "2026-03-02 01:30 UTC"},
		} {
			for _, w := range words {
				if x := letters[kind]; !strings.Contains(x.Text, w) || !strings.Contains(x.HTML, w) {
					t.Errorf("%s %s does not say %q:\n%s", kind, l, w, x.Text)
				}
			}
		}
	}
}

// TestHostileFacts checks that user input cannot add lines or markup.
func TestHostileFacts(t *testing.T) {
	x := letter.Invite(text.English, "A\r\nBcc: v@x.example\u2028<img src=x onerror=alert(1)> {by}", access.Viewer,
		`"><b>`, "javascript:alert(1)", time.Hour)
	if strings.ContainsAny(x.Subject, "\r\n\u2028") || strings.Contains(x.Text, "\nBcc") ||
		!strings.Contains(x.Subject, "{by}") {
		t.Errorf("%q\n%s", x.Subject, x.Text)
	}
	for _, markup := range []string{"<img", "<b>", `href="javascript:`} {
		if strings.Contains(x.HTML, markup) {
			t.Errorf("the HTML has %s:\n%s", markup, x.HTML)
		}
	}
}

// TestPlaceAndContact checks that staff are told of the desk and of an administrator, account users of the portal and
// an owner.
func TestPlaceAndContact(t *testing.T) {
	for a, words := range map[access.Audience][]string{
		access.Portal: {"the Assay portal", "an owner of your account"}, access.Desk: {"the Assay desk", "an administrator"},
	} {
		x := letter.Notice(letter.PasswordChanged, text.English, &access.Person{Audience: a}, time.Now(), link, nil)
		for _, w := range words {
			if !strings.Contains(x.Text, w) {
				t.Errorf("%s: the letter does not say %q:\n%s", a, w, x.Text)
			}
		}
	}
}

func TestSigned(t *testing.T) {
	l := letter.Notice(letter.PasswordChanged, text.English, &access.Person{Audience: access.Desk, Email: "a@example.com"},
		time.Unix(0, 0), "https://x.test/", nil)
	if l.Signed("", "1-2 Nakagyo") != l {
		t.Error("without a name something is added")
	}
	got := l.Signed("Kyoto <Appraisal>", "1-2 Nakagyo\nKyoto")
	if !strings.HasSuffix(got.Text, "Replies are not read.\nKyoto <Appraisal>\n1-2 Nakagyo Kyoto\n") {
		t.Errorf("the text ends in %q", got.Text[len(got.Text)-90:])
	}
	if !strings.Contains(got.HTML, "Replies are not read.<br>Kyoto &lt;Appraisal&gt;<br>1-2 Nakagyo Kyoto</p>") {
		t.Errorf("the HTML is %s", got.HTML)
	}
}
