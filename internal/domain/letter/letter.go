// Package letter holds what the service writes to people by mail, in every language: one structure for each kind, from
// which the plain text and the HTML are made, so that both say the same.
package letter

import (
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
)

// Kind says what a letter is about.
type Kind string

// The kinds of letters.
const (
	Invitation      Kind = "invitation"        // to join an account
	ResetRequested  Kind = "reset-requested"   // a link to choose a new password, which its user asked for
	ResetMade       Kind = "reset-made"        // such a link that somebody else made for the user
	PasswordChanged Kind = "password-changed"  // to the user
	EmailChangedOld Kind = "email-changed-old" // to the address that the user had
	EmailChangedNew Kind = "email-changed-new" // to the address that the user has
	PasskeyAdded    Kind = "passkey-added"     // to the user
	LowBalance      Kind = "low-balance"       // to the owners of an account
)

// Kinds lists every kind.
var Kinds = []Kind{
	Invitation, ResetRequested, ResetMade, PasswordChanged, EmailChangedOld, EmailChangedNew, PasskeyAdded, LowBalance,
}

// Letter is a mail without its addresses.
type Letter struct {
	Kind    Kind        `json:"kind"`
	Locale  text.Locale `json:"locale"`
	Subject string      `json:"subject"`
	Text    string      `json:"text"`
	HTML    string      `json:"html"`
}

// Invite asks somebody to join an account; by is who invites.
func Invite(l text.Locale, account string, role access.Role, by, link string, life time.Duration) Letter {
	return write(Invitation, l, link, facts{"account": account, "role": roleName(role, l), "by": by, "days": days(life)})
}

// RequestedReset gives a user the link that they have asked for.
func RequestedReset(l text.Locale, email, link string, life time.Duration) Letter {
	return write(ResetRequested, l, link, facts{"email": email, "hours": hours(life)})
}

// MadeReset gives a user a link that somebody has made for them: by names an owner of the account, or is empty for the
// operator of the service.
func MadeReset(l text.Locale, email, by, link string, life time.Duration) Letter {
	if by == "" {
		by = texts().Operator.In(l)
	}
	return write(ResetMade, l, link, facts{"email": email, "by": by, "hours": hours(life)})
}

// ChangedPassword tells a user that their password is another one; link is where one that is forgotten is asked for.
func ChangedPassword(l text.Locale, email string, at time.Time, link string) Letter {
	return write(PasswordChanged, l, link, facts{"email": email, "time": moment(at)})
}

// ChangedEmail tells a user at the address they had, and at the one they have, that it was changed.
func ChangedEmail(l text.Locale, before, after string, at time.Time, link string) (toBefore, toAfter Letter) {
	f := facts{"before": before, "after": after, "time": moment(at)}
	return write(EmailChangedOld, l, "", f), write(EmailChangedNew, l, link, f)
}

// AddedPasskey tells a user that there is another way to sign in as them; link is where it can be removed.
func AddedPasskey(l text.Locale, email, name string, at time.Time, link string) Letter {
	return write(PasskeyAdded, l, link, facts{"email": email, "name": name, "time": moment(at)})
}

// FewCredits tells an owner that a balance fell below what they have set; link is where both are shown.
func FewCredits(l text.Locale, account string, credits, below int64, link string) Letter {
	return write(LowBalance, l, link, facts{"account": account, "credits": number(credits), "below": number(below)})
}

func roleName(r access.Role, l text.Locale) string { return texts().Roles[r].In(l) }

func days(d time.Duration) string  { return strconv.Itoa(int(d / (24 * time.Hour))) }
func hours(d time.Duration) string { return strconv.Itoa(int(d / time.Hour)) }

// moment is written so that it needs no knowledge of where the reader is.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }

// number writes a number with commas, as both languages do.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}
