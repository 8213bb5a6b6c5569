package access

import (
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

// StaffRole is the role of a staff user.
type StaffRole string

// The roles of staff users. An administrator may do all that a reviewer may, on any order.
const (
	Reviewer StaffRole = "reviewer"
	Admin    StaffRole = "admin"
)

// StaffRoles lists every staff role.
var StaffRoles = []StaffRole{Reviewer, Admin}

// Staff is a person or a program that reviews orders. Staff belong to the service, not to an account.
type Staff struct {
	ID            string
	Email         string
	Name          string
	Role          StaffRole
	PasswordHash  string
	CreatedAt     time.Time
	DeactivatedAt *time.Time
}

// StaffMember is a staff user as administrators see them.
type StaffMember struct {
	Staff
	SecondFactor   bool
	Passkeys       int
	HasToken       bool
	Sessions       int
	InReview       int64 // Live orders they review
	AwaitingPhotos int64 // Live orders for which they wait for photos
}

// Active reports whether the staff user may sign in and be assigned orders.
func (s *Staff) Active() bool { return s.DeactivatedAt == nil }

// Allows reports whether the staff user has the role. Everybody has the empty role, and an administrator has all.
func (s *Staff) Allows(role StaffRole) bool {
	return role == "" || s.Role == role || s.Role == Admin
}

const staffTokenPrefix = "assay_staff_"

// NewStaffToken returns a new token for the desk API, in the form of an API key: assay_staff_, 32 random base62
// characters and a 6-character checksum. It is stored as HashSecretKey.
func NewStaffToken() string { return newSecret(staffTokenPrefix) }

// ValidStaffToken reports whether s has the form and checksum of a staff token.
func ValidStaffToken(s string) bool { return validSecret(staffTokenPrefix, s) }

// StaffUnauthenticated is the error for a desk API request without a valid staff token. It does not say why.
var StaffUnauthenticated = fault.New(fault.Unauthorized, Unauthenticated.Code,
	"The request needs a valid staff token in the Authorization header: Bearer <TOKEN>.")
