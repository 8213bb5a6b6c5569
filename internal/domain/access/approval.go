package access

import (
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

// ApprovalKind is what a second administrator is asked for.
type ApprovalKind string

// The kinds.
const (
	ApproveCredits    ApprovalKind = "credits"
	ApproveRole       ApprovalKind = "staff-role"
	ApproveInvitation ApprovalKind = "staff-invitation" // of an administrator
	ApproveRevocation ApprovalKind = "certificate-revocation"
)

// ApprovalStatus is where a request for approval is.
type ApprovalStatus string

// The statuses. Only an open one can be decided.
const (
	ApprovalOpen      ApprovalStatus = "open"
	ApprovalApproved  ApprovalStatus = "approved"
	ApprovalRefused   ApprovalStatus = "refused"
	ApprovalWithdrawn ApprovalStatus = "withdrawn" // by who asked, or because they are no administrator any more
	ApprovalExpired   ApprovalStatus = "expired"
)

// ApprovalLife is how long a request can be decided.
const ApprovalLife = 7 * 24 * time.Hour

// Approval is something that an administrator wants to do and that another one has to approve first.
type Approval struct {
	ID          string
	Kind        ApprovalKind
	AccountID   string // empty: not about an account
	TargetID    string // of an account, a staff user or a certificate; empty: there is none yet
	TargetName  string // for people
	Payload     ApprovalPayload
	RequestedBy string // id of a staff user
	Requester   string // their name at that moment
	RequestedAt time.Time
	ExpiresAt   time.Time
	Status      ApprovalStatus
	DecidedBy   string // id of a staff user; empty: nobody
	Decider     string
	DecidedAt   *time.Time
}

// ApprovalPayload has the parameters of what is done after the approval; which are set depends on the kind.
type ApprovalPayload struct {
	Environment Environment `json:"environment,omitempty"`
	Amount      int64       `json:"amount,omitempty"`
	Note        string      `json:"note,omitempty"`   // of credits
	Email       string      `json:"email,omitempty"`  // of an invitation
	Name        string      `json:"name,omitempty"`   // of an invitation
	Role        StaffRole   `json:"role,omitempty"`   // to be
	From        StaffRole   `json:"from,omitempty"`   // the role when it was asked for
	Reason      string      `json:"reason,omitempty"` // of a revocation
}

// StatusAt is the status at a time: an open request expires by itself.
func (a *Approval) StatusAt(now time.Time) ApprovalStatus {
	if a.Status == ApprovalOpen && !now.Before(a.ExpiresAt) {
		return ApprovalExpired
	}
	return a.Status
}

// Refusals about approvals.
var (
	// ApprovalRequested tells that nothing is done yet: another administrator has been asked.
	ApprovalRequested = fault.New(fault.Conflict, "approval-requested",
		"Another administrator has to approve this. They have been asked.")

	ApprovalNotFound = fault.New(fault.NotFound, fault.CodeNotFound,
		"There is no such request.").With("entity", "approval")
	ApprovalDecided = fault.New(fault.Conflict, "approval-decided", "This request is decided, or has ended.")
	OwnApproval     = fault.New(fault.Conflict, "own-approval", "Somebody else has to approve what you have asked for.")
	NotYourApproval = fault.New(fault.Conflict, "not-your-approval", "Only who has asked can withdraw a request.")
	RequesterGone   = fault.New(fault.Conflict, "requester-gone",
		"Who has asked for this is no administrator any more.")

	// FourEyesCredentials is for changes with which one administrator could act as another.
	FourEyesCredentials = fault.New(fault.Conflict, "four-eyes-credentials",
		"Where a second administrator has to approve, administrators are not created, and their passwords and "+
			"second factors not reset, by one of them. Invite them, let them reset their password by mail, or ask the operator.")
	// FourEyesMail is for new administrators where there is no mail server.
	FourEyesMail = fault.New(fault.Conflict, "four-eyes-mail",
		"Without a mail server the link would pass through the hands of one administrator. Ask the operator.")
)
