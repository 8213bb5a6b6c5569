// Package access holds who may do what: accounts and their users, API keys with scopes, and the principal that an
// authenticated request acts as.
package access

// Environment separates rehearsal from business. Nothing of one environment exists in the other.
type Environment string

// The environments.
const (
	Test Environment = "test"
	Live Environment = "live"
)

// Environments lists both, in the order they are shown.
var Environments = []Environment{Test, Live}

// ParseEnvironment returns the environment named by s.
func ParseEnvironment(s string) (Environment, bool) {
	switch e := Environment(s); e {
	case Test, Live:
		return e, true
	}
	return "", false
}

// InitialTestCredits is the Test balance of a new account.
const InitialTestCredits = 100_000
