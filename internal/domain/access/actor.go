package access

import (
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
)

// Tenant is whose data something is: an account in one environment. Nothing of one tenant is visible to another.
type Tenant struct {
	AccountID   string
	Environment Environment
}

// Origin is where a request came from, for logs, mail and the protection of sign-ins.
type Origin struct {
	IP        string
	UserAgent string
	Locale    text.Locale // of the page; empty when the request came from a program
	Device    string      // hash by which the browser is recognised; empty when it is not
	Factor    bool        // at sign-in: more than a password was given
	Method    string      // at sign-in: where somebody else has told who it is; empty: here
	Ticket    string      // at sign-in: ends with the password that was given; empty: none was
	Session   *Session    // of who is signed in; nil when the request came from a program
}

const maxUserAgent = 512

// Agent returns the user agent in a form that every database takes, cut to 512 characters.
func (o Origin) Agent() string { return text.Storable(o.UserAgent, maxUserAgent) }

// SessionID returns the id of the session, or an empty string without one.
func (o Origin) SessionID() string {
	if o.Session == nil {
		return ""
	}
	return o.Session.ID
}

// ActorKind says what kind of actor does something. The values are stored in timelines.
type ActorKind string

// The kinds of actors.
const (
	ByAPIKey   ActorKind = "api-key"  // an integrator's program
	ByUser     ActorKind = "user"     // an account user in the portal
	ByStaff    ActorKind = "staff"    // a reviewer or administrator
	ByOperator ActorKind = "operator" // whoever runs commands on the machine
	BySystem   ActorKind = "system"   // the service itself, such as an expiry
)

// Actor is who does something. It is an argument of every use case that depends on who calls it.
type Actor struct {
	Kind      ActorKind
	ID        string // empty for operators and the system
	Name      string // as shown in logs: the name of a key or staff user, the email of an account user
	Role      Role
	StaffRole StaffRole
	Tenant    Tenant // of keys and account users; an account user has no environment except where a page gives one
	Origin    Origin
	Token     bool // staff through the desk API, with a token, rather than at the pages
}

// The actors without an identity of their own.
var (
	Operator = Actor{Kind: ByOperator, Name: "operator"}
	System   = Actor{Kind: BySystem, Name: "system"}
)

// Actor returns the key as an actor.
func (k *Key) Actor(from Origin) Actor {
	return Actor{Kind: ByAPIKey, ID: k.ID, Name: k.Name, Tenant: k.Tenant, Origin: from}
}

// Actor returns the account user as an actor in an environment of their account.
func (u *User) Actor(env Environment, from Origin) Actor {
	return Actor{
		Kind: ByUser, ID: u.ID, Name: u.Email, Role: u.Role,
		Tenant: Tenant{AccountID: u.AccountID, Environment: env}, Origin: from,
	}
}

// Actor returns the staff user as an actor.
func (s *Staff) Actor(from Origin) Actor {
	return Actor{Kind: ByStaff, ID: s.ID, Name: s.Name, StaffRole: s.Role, Origin: from}
}

// IsStaffOrOperator reports whether the actor runs the service: what they change is recorded in the log of
// administration.
func (a Actor) IsStaffOrOperator() bool { return a.Kind == ByStaff || a.Kind == ByOperator }

// Require returns the refusal of an actor who lacks the permission, or nil.
func (a Actor) Require(p Permission) error {
	needs := permissions[p]
	switch a.Kind {
	case BySystem:
		return nil
	case ByAPIKey:
		if needs.key {
			return nil
		}
	case ByOperator: // may do what an administrator may
		if needs.staff != "" {
			return nil
		}
	case ByUser:
		if needs.user == "" || !a.Role.Includes(needs.user) {
			return missingRole("This needs the role ", string(needs.user))
		}
		return nil
	case ByStaff:
		if needs.staff == "" || !a.StaffRole.Includes(needs.staff) {
			return MissingRole(needs.staff)
		}
		return nil
	}
	return fault.New(fault.Forbidden, "forbidden", "This is not allowed.")
}

// ConfirmationNeeded is the refusal to change how people sign in when who asks has not proved lately who they are.
var ConfirmationNeeded = fault.New(fault.Forbidden, "confirmation-needed",
	"Give your password again before you change how people sign in.")

// RequireConfirmed returns ConfirmationNeeded for somebody at a page who has signed in more than a few minutes ago and
// not proved since then who they are. Programs and the command line have no sessions.
func (a Actor) RequireConfirmed(now time.Time) error {
	if a.Origin.Session == nil || a.Origin.Session.ConfirmedIn(now) {
		return nil
	}
	return ConfirmationNeeded
}

// Sees reports whether data of the tenant exists for the actor: keys and account users see nothing of other accounts,
// and nothing of another environment where they are in one. Fields that are empty are not compared.
func (a Actor) Sees(t Tenant) bool {
	if a.Kind != ByUser && a.Kind != ByAPIKey {
		return true
	}
	env := a.Tenant.Environment
	return a.Tenant.AccountID == t.AccountID && (env == "" || t.Environment == "" || env == t.Environment)
}

// RequireIn is Require for the data of an account: keys and account users reach no other account than their own.
func (a Actor) RequireIn(p Permission, accountID string) error {
	if !a.Sees(Tenant{AccountID: accountID}) {
		return fault.New(fault.Forbidden, "forbidden", "This belongs to another account.")
	}
	return a.Require(p)
}

// Person is somebody who signs in through a browser: an account user or a staff user. How they sign in is the same.
type Person struct {
	Audience     Audience
	ID           string
	AccountID    string // of an account user
	Email        string
	Name         string // as others see it; account users have nothing but their email
	PasswordHash string
	Active       bool // may sign in

	actor Actor
}

// Actor returns the person as an actor.
func (p *Person) Actor(from Origin) Actor {
	by := p.actor
	by.Origin = from
	return by
}

// Person returns what signing in needs to know of the user.
func (u *User) Person() *Person {
	return &Person{
		Audience: Portal, ID: u.ID, AccountID: u.AccountID, Email: u.Email, Name: u.Email,
		PasswordHash: u.PasswordHash, Active: true, actor: u.Actor("", Origin{}),
	}
}

// Person returns what signing in needs to know of the staff user.
func (s *Staff) Person() *Person {
	return &Person{
		Audience: Desk, ID: s.ID, Email: s.Email, Name: s.Name,
		PasswordHash: s.PasswordHash, Active: s.Active(), actor: s.Actor(Origin{}),
	}
}
