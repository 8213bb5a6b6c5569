package access

import (
	"fmt"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
)

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

// KeyNotFound is the refusal of a key that does not exist for the actor.
var KeyNotFound = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such API key.").With("entity", "api-key")

// KeyRevoked is the refusal to change a key that has ended.
var KeyRevoked = fault.New(fault.Conflict, "key-revoked", "The key is revoked; it cannot be changed any more.")

// AccountSummary is an account in the list of all accounts.
type AccountSummary struct {
	Account
	LiveCredits, TestCredits int64
	LiveOrders               int64
	ActiveKeys               int64
}
