// Package access defines who may do what: accounts and their users, staff, API keys with scopes, sessions, and the
// actor of a request with its permissions.
package access

import (
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
)

// Account is a customer of the service: the owner of orders, credits, keys and users.
type Account struct {
	ID        string
	Name      string
	Locale    text.Locale // of webhook payloads and mail
	CreatedAt time.Time
}

// Tenant returns the account in one environment.
func (a *Account) Tenant(env Environment) Tenant { return Tenant{AccountID: a.ID, Environment: env} }

// Role is the role of an account user in the portal.
type Role string

// The roles of account users.
const (
	Owner     Role = "owner"
	Developer Role = "developer"
	Viewer    Role = "viewer"
)

// User is a person who signs in to the portal of one account.
type User struct {
	ID           string
	AccountID    string
	Email        string
	Role         Role
	PasswordHash string
	CreatedAt    time.Time
}

// CheckName checks that a name is not empty, not too long and printable; what is its description in the error.
func CheckName(what, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("%s must not be empty", what)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s must be valid UTF-8", what)
	case utf8.RuneCountInString(name) > 100:
		return fmt.Errorf("%s must have at most 100 characters", what)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%s must not hold control characters", what)
	}
	return nil
}

// NormalizeEmail validates an address and returns it in the form in which it is unique. Letters that would become
// others of ASCII, such as the sign for kelvin, are refused: the mailbox is not that of the address without them.
func NormalizeEmail(s string) (string, error) {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > 254 || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r >= utf8.RuneSelf && unicode.ToLower(r) < utf8.RuneSelf
	}) {
		return "", fmt.Errorf("%q is not an email address", s)
	}
	return strings.ToLower(s), nil
}

// Environment separates Test from Live. Nothing is shared between them.
type Environment string

// The environments.
const (
	Test Environment = "test"
	Live Environment = "live"
)

// Environments lists both, in the order they are shown.
var Environments = []Environment{Test, Live}

// ParseEnvironment returns the environment named by s.
func ParseEnvironment(s string) (Environment, bool) { return enum.Parse(s, Environments) }

// InitialTestCredits is the Test balance of a new account.
const InitialTestCredits = 100_000

// CheckNameField adds what is wrong with a name that a person gives to something: see CheckName.
func CheckNameField(p *fault.Problems, field, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		p.Add(field, "required", "must not be empty")
	case CheckName(field, name) != nil:
		p.Add(field, "name", "must have at most 100 characters and no control characters")
	}
}

// CheckEmailField adds what is wrong with an email address and returns the form under which it is unique.
func CheckEmailField(p *fault.Problems, field, email string) string {
	normal, err := NormalizeEmail(email)
	switch {
	case email == "":
		p.Add(field, "required", "is required")
	case err != nil:
		p.Add(field, "email", fmt.Sprintf("%q is not an email address", email))
	}
	return normal
}

// AccountSummary is an account in the list of all accounts.
type AccountSummary struct {
	Account
	LiveCredits, TestCredits int64
	LiveOrders               int64
	ActiveKeys               int64
}
