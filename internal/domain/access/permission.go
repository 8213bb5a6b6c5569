package access

import (
	"slices"

	"github.com/assayhq/assay/internal/domain/fault"
)

// Permission is what an actor may be allowed to do. The table below is the one place that says who may do what.
type Permission int

// The permissions.
const (
	ViewAccount    Permission = iota // read orders, keys, endpoints, deliveries, ledger and audit log of an account
	ManageOrders                     // create, change and cancel orders of an account, upload photos, use the sandbox
	ManageKeys                       // create, change and revoke API keys
	LimitKeys                        // set the rate limits of API keys
	ManageWebhooks                   // create, test and delete endpoints
	Redeliver                        // send deliveries again
	ManageTeam                       // invite, change and remove account users
	ManageAccount                    // change the settings of an account
	ViewPortalLog                    // read what everybody has done in the portal of an account
	ReviewOrders                     // claim orders and judge them
	Administer                       // accounts, credits, staff, catalog, certificates, statistics, any order
)

// permissions says which role of account users and which role of staff a permission needs; empty: nobody of that kind.
// A key may have it too where key is set: its scope is checked with its route.
var permissions = map[Permission]struct {
	user  Role
	staff StaffRole
	key   bool
}{
	ViewAccount:    {user: Viewer, staff: Admin, key: true},
	ManageOrders:   {user: Developer, staff: Admin, key: true},
	ManageKeys:     {user: Developer, staff: Admin},
	LimitKeys:      {staff: Admin},
	ManageWebhooks: {user: Developer, key: true},
	Redeliver:      {user: Developer, staff: Admin},
	ManageTeam:     {user: Owner, staff: Admin},
	ManageAccount:  {user: Owner},
	ViewPortalLog:  {user: Owner, staff: Admin},
	ReviewOrders:   {staff: Reviewer},
	Administer:     {staff: Admin},
}

// Roles lists the roles of account users, the least powerful first: each may do all that those before it may.
var Roles = []Role{Viewer, Developer, Owner}

// Includes reports whether the role may do all that the other may.
func (r Role) Includes(other Role) bool { return slices.Index(Roles, r) >= slices.Index(Roles, other) }

// Includes reports whether the role may do all that the other may.
func (r StaffRole) Includes(other StaffRole) bool { return r == other || r == Admin }

// RequireRole returns the refusal of an account user whose role does not include the other, or nil.
func RequireRole(has, needs Role) error {
	if has.Includes(needs) {
		return nil
	}
	return missingRole("This needs the role ", string(needs))
}

// AdminOnly refuses staff users who are not administrators.
func AdminOnly(who *Staff) error {
	if !who.Allows(Admin) {
		return MissingRole(Admin)
	}
	return nil
}

// MissingRole is the refusal of a staff user who lacks the role that an operation needs.
func MissingRole(role StaffRole) *fault.Error {
	return missingRole("This operation needs the role ", string(role))
}

func missingRole(message, role string) *fault.Error {
	return fault.New(fault.Forbidden, "forbidden", message+role+".").With("required_role", role)
}
