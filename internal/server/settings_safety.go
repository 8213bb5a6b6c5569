package server

import (
	"flag"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// SafetySettings are what protects people: those whose photos are sent, and those who report holes.
type SafetySettings struct {
	StripLocation   bool
	SecurityContact string
}

func (s *SafetySettings) bind(fs *flag.FlagSet) {
	fs.BoolVar(&s.StripLocation, "strip-location", false, "remove from photos, at upload, where they were taken")
	fs.StringVar(&s.SecurityContact, "security-contact", "",
		"`address` for reports of security holes (mailto:, https: or tel:), served at "+securityTextPath)
}

func (s *SafetySettings) check(refuse func(format string, args ...any)) {
	if s.SecurityContact == "" {
		return
	}
	u, err := url.Parse(s.SecurityContact)
	if err != nil || !slices.Contains([]string{"mailto", "https", "tel"}, u.Scheme) || u.Opaque+u.Host == "" ||
		strings.ContainsFunc(s.SecurityContact, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		refuse("--security-contact must be an address such as mailto:security@example.org or https://example.org/report")
	}
}
