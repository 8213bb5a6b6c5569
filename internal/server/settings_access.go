package server

import "flag"

// AccessSettings are the settings about who is let in, and how much of everything one of them may have.
type AccessSettings struct {
	MaxClaims      int
	MaxTokenClaims int
	DeskRateLimit  int
}

func (s *AccessSettings) bind(fs *flag.FlagSet) {
	fs.IntVar(&s.MaxClaims, "max-claims", 5,
		"orders that a staff user may hold who takes another one at the pages; 0: no limit")
	fs.IntVar(&s.MaxTokenClaims, "max-token-claims", 100,
		"orders that a staff user may hold who takes another one with a desk token; 0: no limit")
	fs.IntVar(&s.DeskRateLimit, "desk-rate-limit", 30_000,
		"requests per minute of one desk token; 0: no limit")
}

// check tells what cannot work.
func (s *AccessSettings) check(refuse func(format string, args ...any)) {
	for name, n := range map[string]int{
		"max-claims": s.MaxClaims, "max-token-claims": s.MaxTokenClaims, "desk-rate-limit": s.DeskRateLimit,
	} {
		if n < 0 {
			refuse("--%s must not be negative", name)
		}
	}
}
