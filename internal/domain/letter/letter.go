// Package letter defines the content of mails in every language. Each kind is one structure from which both the
// plain text and the HTML are rendered, so that they agree.
package letter

import (
	"cmp"
	"maps"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
)

// Kind is the subject of a letter.
type Kind string

// The kinds of letters.
const (
	Invitation      Kind = "invitation"        // to join an account
	StaffInvitation Kind = "staff-invitation"  // to become a staff user
	ResetRequested  Kind = "reset-requested"   // link to choose a new password, requested by the user
	ResetMade       Kind = "reset-made"        // the same link, created by somebody else
	PasswordChanged Kind = "password-changed"  // to the user
	EmailChangedOld Kind = "email-changed-old" // to the old address
	EmailChangedNew Kind = "email-changed-new" // to the new address
	PasskeyAdded    Kind = "passkey-added"     // to the user
	FactorOn        Kind = "second-factor-on"  // to the user
	FactorOff       Kind = "second-factor-off" // to the user
	PasskeyRemoved  Kind = "passkey-removed"   // to the user
	CodesRenewed    Kind = "recovery-codes"    // to the user
	ApprovalAsked   Kind = "approval-asked"    // to an administrator
	TokenMade       Kind = "token-made"        // to a staff user
	TokenRevoked    Kind = "token-revoked"     // to a staff user
	NewDevice       Kind = "new-device"        // to the user
	WrongCodes      Kind = "wrong-codes"       // to the user
	EmailChange     Kind = "email-change"      // link to the new address, to confirm it
	LowBalance      Kind = "low-balance"       // to the owners of an account
	Promoted        Kind = "promoted"          // link to choose a new password, to a new administrator
	EndpointFailing Kind = "endpoint-failing"  // to the owners of an account
)

// Kinds lists every kind.
var Kinds = []Kind{
	Invitation, StaffInvitation, ResetRequested, ResetMade, PasswordChanged, EmailChangedOld, EmailChangedNew,
	PasskeyAdded, PasskeyRemoved, FactorOn, FactorOff, CodesRenewed, ApprovalAsked, TokenMade, TokenRevoked, NewDevice,
	WrongCodes, EmailChange, LowBalance, Promoted, EndpointFailing,
}

// Letter is a rendered mail without addresses.
type Letter struct {
	Kind    Kind        `json:"kind"`
	Locale  text.Locale `json:"locale"`
	Subject string      `json:"subject"`
	Text    string      `json:"text"`
	HTML    string      `json:"html"`
}

// Invite invites somebody to join an account; by is the name of the inviting user.
func Invite(l text.Locale, account string, role access.Role, by, link string, life time.Duration) Letter {
	return write(Invitation, l, link, facts{
		"account": account, "role": roleName(string(role), l), "by": by, "days": days(life),
	})
}

// InviteStaff asks somebody to become a staff user; by is who invites.
func InviteStaff(l text.Locale, role access.StaffRole, by, link string, life time.Duration) Letter {
	by = cmp.Or(by, texts().Operator.In(l))
	return write(StaffInvitation, l, link, facts{"role": roleName(string(role), l), "by": by, "days": days(life)})
}

// RequestedReset has the password reset link that a user requested.
func RequestedReset(l text.Locale, a access.Audience, email, link string, life time.Duration) Letter {
	return write(ResetRequested, l, link, facts{"email": email, "hours": hours(life), "place": place(a, l)})
}

// MadeReset has a password reset link that somebody else created: by is an owner of the account, or empty for the
// operator of the service.
func MadeReset(l text.Locale, email, by, link string, life time.Duration) Letter {
	by = cmp.Or(by, texts().Operator.In(l))
	return write(ResetMade, l, link, facts{"email": email, "by": by, "hours": hours(life)})
}

// BecameAdministrator has the link with which a staff user who has become an administrator chooses a new password: what
// they signed in with before has ended.
func BecameAdministrator(l text.Locale, email, link string, life time.Duration) Letter {
	return write(Promoted, l, link, facts{"email": email, "hours": hours(life)})
}

// ChangedEmail tells a user at the old and at the new address that their address was changed.
func ChangedEmail(l text.Locale, before, after string, at time.Time, link string) (toBefore, toAfter Letter) {
	f := facts{"before": before, "after": after, "time": moment(at)}
	return write(EmailChangedOld, l, "", f), write(EmailChangedNew, l, link, f)
}

// RequestApproval asks an administrator to look at what another one wants to do; link leads to the requests.
func RequestApproval(
	l text.Locale, kind access.ApprovalKind, by, target, link string, life time.Duration,
) Letter {
	return write(ApprovalAsked, l, link, facts{
		"by": by, "what": texts().Approvals[kind].In(l), "target": target, "days": days(life),
	})
}

// ConfirmEmail has the link that makes an address the new one of a user. It goes to that address.
func ConfirmEmail(l text.Locale, before, after, link string, life time.Duration) Letter {
	return write(EmailChange, l, link, facts{"before": before, "after": after, "hours": hours(life)})
}

// Notice tells a person that how they sign in has changed, or was used anew; link leads to where they can do something
// about it. more are the facts that only some kinds have: the name of a passkey, the address and agent of a device.
func Notice(
	kind Kind, l text.Locale, who *access.Person, at time.Time, link string, more map[string]string,
) Letter {
	f := facts{
		"email": who.Email, "time": moment(at), "place": place(who.Audience, l),
		"contact": texts().Contacts[who.Audience].In(l),
	}
	maps.Copy(f, more)
	return write(kind, l, link, f)
}

func place(a access.Audience, l text.Locale) string { return texts().Places[a].In(l) }

// FewCredits tells an owner that the balance fell below the configured threshold; link leads to both.
func FewCredits(l text.Locale, account string, credits, below int64, link string) Letter {
	return write(LowBalance, l, link, facts{"account": account, "credits": number(credits), "below": number(below)})
}

// EndpointFails tells an owner that a webhook endpoint has acknowledged nothing since a time; link leads to it.
func EndpointFails(
	l text.Locale, account string, env access.Environment, url string, since time.Time, link string,
) Letter {
	return write(EndpointFailing, l, link, facts{
		"account": account, "environment": texts().Environments[env].In(l), "url": url, "since": moment(since),
	})
}

func roleName(r string, l text.Locale) string { return texts().Roles[r].In(l) }

func days(d time.Duration) string  { return strconv.Itoa(int(d / (24 * time.Hour))) }
func hours(d time.Duration) string { return strconv.Itoa(int(d / time.Hour)) }

// moment formats a time in UTC, because the reader's time zone is unknown.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }

// number formats a number with thousands separators, which both languages use.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// Retry schedule of mails. A password reset link is valid for at most a day, so retrying longer is useless.
const (
	Life       = 24 * time.Hour
	firstDelay = time.Minute
	longDelay  = 30 * time.Minute

	// Farthest is more than any delay: what is due after it was put off by a clock that was wrong.
	Farthest = time.Hour
)

// NextAttempt returns when to retry a mail after a temporary failure, or false to give up. attempts is the number
// made so far; jitter in [0,1) spreads mails that failed together.
func NextAttempt(attempts int, created, now time.Time, jitter float64) (time.Time, bool) {
	delay := longDelay
	if doublings := attempts - 1; doublings < 5 {
		delay = firstDelay << max(0, doublings)
	}
	next := now.Add(delay + time.Duration(jitter*float64(delay)/10))
	return next, next.Before(created.Add(Life))
}
