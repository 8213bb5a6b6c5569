// Package access defines who may do what: accounts and their users, staff, API keys with scopes, sessions, and the
// actor of a request with its permissions.
package access

import "github.com/assayhq/assay/internal/domain/enum"

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
