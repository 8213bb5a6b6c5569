package audit

import "time"

// ActionCode is the kind of an action that a staff user or an operator performed.
type ActionCode string

// The actions of the log of administration.
const (
	StaffSignedIn         ActionCode = "staff.signed-in"
	StaffSignInFailed     ActionCode = "staff.sign-in-failed" // for the email of a staff user
	StaffPasswordChanged  ActionCode = "staff.password-changed"
	StaffFactorAdded      ActionCode = "staff.second-factor-added"
	StaffCodesRenewed     ActionCode = "staff.recovery-codes-renewed"
	StaffFactorRemoved    ActionCode = "staff.second-factor-removed"
	StaffPasskeyAdded     ActionCode = "staff.passkey-added"
	StaffPasskeyRemoved   ActionCode = "staff.passkey-removed"
	StaffInvited          ActionCode = "staff.invited"
	StaffUninvited        ActionCode = "staff.invitation-withdrawn"
	StaffCreated          ActionCode = "staff.created"
	StaffRoleChanged      ActionCode = "staff.role-changed"
	StaffDeactivated      ActionCode = "staff.deactivated"
	StaffReactivated      ActionCode = "staff.reactivated"
	StaffPasswordReset    ActionCode = "staff.password-reset"
	StaffFactorReset      ActionCode = "staff.second-factor-reset"
	StaffTokenMade        ActionCode = "staff.token-made"
	StaffTokenRevoked     ActionCode = "staff.token-revoked"
	AccountCreated        ActionCode = "account.created"
	UserPasswordReset     ActionCode = "user.password-reset"
	UserFactorReset       ActionCode = "user.second-factor-reset"
	CreditsGranted        ActionCode = "credits.granted"
	ActionKeyCreated      ActionCode = "api-key.created"
	ActionKeyRenamed      ActionCode = "api-key.renamed"
	ActionKeyLimited      ActionCode = "api-key.limits-set"
	ActionKeyNetworks     ActionCode = "api-key.networks-set"
	ActionKeyRevoked      ActionCode = "api-key.revoked"
	CatalogImported       ActionCode = "catalog.imported"
	AnswerTimePaused      ActionCode = "answer-time.paused"
	AnswerTimeResumed     ActionCode = "answer-time.resumed"
	DeliveryRedelivered   ActionCode = "delivery.redelivered"
	DeliveriesRedelivered ActionCode = "deliveries.redelivered"
	CertificateRevoked    ActionCode = "certificate.revoked"
	OrderCanceled         ActionCode = "order.canceled"
	OrderReassigned       ActionCode = "order.reassigned"
	AccountExported       ActionCode = "account.exported"
	AccountErased         ActionCode = "account.erased"
	OrderErased           ActionCode = "order.erased"
	ApprovalRequested     ActionCode = "approval.requested"
	ApprovalApproved      ActionCode = "approval.approved"
	ApprovalRefused       ActionCode = "approval.refused"
	ApprovalWithdrawn     ActionCode = "approval.withdrawn"
	ApprovalExpired       ActionCode = "approval.expired"
)

// ActionCodes lists every action.
var ActionCodes = []ActionCode{
	StaffSignedIn, StaffSignInFailed, StaffPasswordChanged, StaffFactorAdded, StaffCodesRenewed, StaffFactorRemoved,
	StaffPasskeyAdded, StaffPasskeyRemoved, StaffInvited, StaffUninvited, StaffCreated,
	StaffRoleChanged, StaffDeactivated, StaffReactivated, StaffPasswordReset, StaffFactorReset, StaffTokenMade,
	StaffTokenRevoked, AccountCreated, UserPasswordReset, UserFactorReset, CreditsGranted, ActionKeyCreated,
	ActionKeyRenamed, ActionKeyLimited, ActionKeyNetworks, ActionKeyRevoked, CatalogImported, AnswerTimePaused,
	AnswerTimeResumed, DeliveryRedelivered, DeliveriesRedelivered, CertificateRevoked, OrderCanceled, OrderReassigned,
	AccountExported, AccountErased, OrderErased, ApprovalRequested, ApprovalApproved, ApprovalRefused, ApprovalWithdrawn,
	ApprovalExpired,
}

// Action is an entry of the log of administration: who did what, when and from where. Entries are never changed or
// deleted.
type Action struct {
	ID        string
	Seq       int64 // dense
	At        time.Time
	Code      ActionCode
	StaffID   string // empty: an operator on the command line
	StaffName string // at that moment
	AccountID string // empty: not about an account
	Target    ActionTarget
	IP        string // empty: there was no network request
	UserAgent string
	Details   map[string]any // no secrets
	Hash      string         // over the predecessor's hash and this entry
	Personal  Personal
}

// ActionTarget is what an action was performed on.
type ActionTarget struct {
	Type ActionTargetType
	ID   string // empty: all of that type
	Name string // at that moment, for people
}

// ActionTargetType is the kind of an action's target.
type ActionTargetType string

// The kinds of things.
const (
	ActionTargetStaff       ActionTargetType = "staff"
	ActionTargetAccount     ActionTargetType = "account"
	ActionTargetUser        ActionTargetType = "user"
	ActionTargetKey         ActionTargetType = "api-key"
	ActionTargetCatalog     ActionTargetType = "catalog"
	ActionTargetAnswerTime  ActionTargetType = "answer-time"
	ActionTargetDelivery    ActionTargetType = "delivery"
	ActionTargetCertificate ActionTargetType = "certificate"
	ActionTargetOrder       ActionTargetType = "order"
	ActionTargetApproval    ActionTargetType = "approval"
)

// ActionFilter chooses entries of the log of administration; zero values choose all.
type ActionFilter struct {
	From, To  *time.Time // From inclusive, To exclusive
	Code      ActionCode
	StaffID   string
	Operator  bool // what was done at the command line; StaffID is empty then
	AccountID string
	TargetID  string
}

// ActionCursor is a position in the log of administration: a page begins with the entry after it. The zero value is the
// beginning, before the newest entry.
type ActionCursor struct {
	At time.Time
	ID string
}

// Cursor returns the position of the entry.
func (a *Action) Cursor() ActionCursor { return ActionCursor{a.At, a.ID} }
