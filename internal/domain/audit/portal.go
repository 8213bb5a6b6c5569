package audit

import "slices"

// Log names one of the two logs of an account.
type Log string

// The logs.
const (
	AuditLog  Log = ""       // the one of the integration API, with its eight codes
	PortalLog Log = "portal" // everything that people do in the portal, and that programs set up
)

// The further codes of the log of the portal.
const (
	SignedOut        Code = "auth.signed-out"
	SessionsEnded    Code = "auth.sessions-ended"
	FactorAdded      Code = "auth.second-factor.added"
	FactorRemoved    Code = "auth.second-factor.removed"
	CodesRenewed     Code = "auth.recovery-codes.renewed"
	PasskeyAdded     Code = "auth.passkey.added"
	PasskeyRenamed   Code = "auth.passkey.renamed"
	PasskeyRemoved   Code = "auth.passkey.removed"
	Confirmed        Code = "auth.confirmed" // proved again who they are
	ResetRequested   Code = "auth.password.reset-requested"
	EmailRequested   Code = "auth.email.change-requested"
	UserInvited      Code = "team.invited"
	UserUninvited    Code = "team.invitation-withdrawn"
	UserJoined       Code = "team.joined"
	RoleChanged      Code = "team.role-changed"
	UserRemoved      Code = "team.removed"
	UserReset        Code = "team.password-reset"
	UserFactorsReset Code = "team.second-factor-reset"
	LocaleChanged    Code = "account.language-changed"
	LowCreditsSet    Code = "account.low-credits-set"
	CreditsChanged   Code = "credits.changed"
	KeyLimited       Code = "api-key.limits-set"
	KeyNetworksSet   Code = "api-key.networks-set"
	WebhookDeleted   Code = "webhook.deleted"
	WebhookPaused    Code = "webhook.paused"
	WebhookResumed   Code = "webhook.resumed"
	SecretRotated    Code = "webhook.secret-rotated"
	WebhookTested    Code = "webhook.tested"
	Redelivered      Code = "delivery.redelivered"
	OrderCreated     Code = "order.created" // in the sandbox, by a person
	OrderCancel      Code = "order.canceled"
	OrderPhotos      Code = "order.photos-submitted"
	OrderSimulated   Code = "order.simulated"
	CaptureCreated   Code = "capture-link.created"
	CaptureRevoked   Code = "capture-link.revoked"
	DataExported     Code = "data.exported"
	LogTrimmed       Code = "log.trimmed" // what was too old to be kept is gone
)

// PortalCodes lists every code of the log of the portal: those of the audit log are among them.
var PortalCodes = slices.Concat(Codes, []Code{
	SignedOut, SessionsEnded, FactorAdded, FactorRemoved, CodesRenewed, PasskeyAdded, PasskeyRenamed, PasskeyRemoved,
	Confirmed, ResetRequested, EmailRequested, UserInvited, UserUninvited, UserJoined, RoleChanged, UserRemoved, UserReset,
	UserFactorsReset, LocaleChanged, LowCreditsSet, CreditsChanged, KeyLimited, KeyNetworksSet, WebhookDeleted,
	WebhookPaused, WebhookResumed, SecretRotated, WebhookTested, Redelivered, OrderCreated, OrderCancel, OrderPhotos,
	OrderSimulated, CaptureCreated, CaptureRevoked, DataExported, LogTrimmed,
})

// CodesOf lists the codes of a log.
func CodesOf(l Log) []Code {
	if l == PortalLog {
		return PortalCodes
	}
	return Codes
}

// The further kinds of targets in the log of the portal.
const (
	TargetAccount     TargetType = "account"
	TargetInvitation  TargetType = "invitation"
	TargetCaptureLink TargetType = "capture-link"
	TargetLog         TargetType = "log"
)

// PortalSeed is what the first entry of a log of the portal is chained to, so that no entry can be taken for one of
// another log.
const PortalSeed = "portal"
