package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/fault"
)

// Scope is one permission of an API key.
type Scope string

// The scopes of the integration API.
const (
	OrdersRead     Scope = "orders:read"
	OrdersWrite    Scope = "orders:write"
	WebhooksManage Scope = "webhooks:manage"
	AuditRead      Scope = "audit:read"
)

// AllScopes lists every scope in display order.
var AllScopes = []Scope{OrdersRead, OrdersWrite, WebhooksManage, AuditRead}

// ParseScopes parses "all" or a comma-separated list of scopes. Duplicates are dropped and the order is canonical.
func ParseScopes(s string) ([]Scope, error) {
	if s == "all" {
		return slices.Clone(AllScopes), nil
	}
	var given []Scope
	for part := range strings.SplitSeq(s, ",") {
		scope := Scope(strings.TrimSpace(part))
		if !slices.Contains(AllScopes, scope) {
			return nil, fmt.Errorf("unknown scope %q: use \"all\" or a comma-separated list of %s",
				scope, strings.Join(enum.Names(AllScopes), ", "))
		}
		given = append(given, scope)
	}
	return slices.DeleteFunc(slices.Clone(AllScopes), func(s Scope) bool { return !slices.Contains(given, s) }), nil
}

// JoinScopes returns the stored form of scopes, separated by spaces.
func JoinScopes(scopes []Scope) string { return strings.Join(enum.Names(scopes), " ") }

// SplitScopes reads the stored form.
func SplitScopes(s string) []Scope {
	scopes := []Scope{}
	for f := range strings.FieldsSeq(s) {
		scopes = append(scopes, Scope(f))
	}
	return scopes
}

// MissingScope is the error for a key that lacks the scope of an operation.
func MissingScope(scope Scope) *fault.Error {
	return fault.New(fault.Forbidden, "forbidden",
		"This API key lacks the scope "+string(scope)+".").With("required_scope", string(scope))
}

// Unauthenticated is the error for a request without a valid key. It does not say why.
var Unauthenticated = fault.New(fault.Unauthorized, "unauthorized",
	"The request needs a valid API key in the Authorization header: Bearer <API_KEY>.")
