package access

import "time"

// LinkKind is what a link is for.
type LinkKind string

// The kinds of links.
const (
	Invitation    LinkKind = "invitation"     // to become a user of an account, or a staff user
	PasswordReset LinkKind = "password-reset" // to choose a new password
	EmailChange   LinkKind = "email-change"   // to make the mailbox that it was sent to that of a user
)

// How long links can be used.
const (
	InvitationLife = 7 * 24 * time.Hour
	ResetLife      = 24 * time.Hour
)

// Link lets somebody in once, without a password.
type Link struct {
	ID        string
	Kind      LinkKind
	Audience  Audience
	AccountID string // of account users
	Account   string // its name
	UserID    string // of a password reset or a new email
	Email     string
	Name      string // of an invitation of staff: what others see
	Role      string // of an invitation: a Role or a StaffRole
	CreatedBy string // id of a user or staff user, or "operator"
	CreatedAt time.Time
	ExpiresAt time.Time

	MailWaiting bool // its mail is in the queue
	MailFailed  bool // its mail could not be delivered
}
