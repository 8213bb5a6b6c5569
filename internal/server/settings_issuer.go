package server

import (
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/assayhq/assay/internal/domain/certificate"
)

// IssuerSettings are who issues certificates, as people read it on certificates, in mails and on pages.
type IssuerSettings struct {
	IssuerName    string
	IssuerAddress string
	IssuerLogo    string
}

const maxIssuerText = 200

func (s *IssuerSettings) bind(fs *flag.FlagSet) {
	fs.StringVar(&s.IssuerName, "issuer-name", "", "`name` of the issuer, on certificates, mails and pages")
	fs.StringVar(&s.IssuerAddress, "issuer-address", "", "postal `address` of the issuer, in one line")
	fs.StringVar(&s.IssuerLogo, "issuer-logo", "", "PNG or JPEG `file` with the logo of the issuer")
}

func (s *IssuerSettings) check(refuse func(format string, args ...any)) {
	for _, v := range []named[string]{{"issuer-name", s.IssuerName}, {"issuer-address", s.IssuerAddress}} {
		if len([]rune(v.value)) > maxIssuerText || strings.ContainsFunc(v.value, unicode.IsControl) {
			refuse("--%s must be one line of at most %d characters", v.name, maxIssuerText)
		}
	}
	if s.IssuerName == "" && (s.IssuerAddress != "" || s.IssuerLogo != "") {
		refuse("--issuer-address and --issuer-logo need --issuer-name")
	}
	if _, err := s.issuer(); err != nil {
		refuse("--issuer-logo: %w", err)
	}
}

// issuer reads the logo.
func (s *IssuerSettings) issuer() (certificate.Issuer, error) {
	i := certificate.Issuer{Name: s.IssuerName, Address: s.IssuerAddress}
	if s.IssuerLogo == "" {
		return i, nil
	}
	f, err := os.Open(filepath.Clean(s.IssuerLogo))
	if err != nil {
		return i, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, certificate.MaxLogoBytes+1))
	if err != nil {
		return i, err
	}
	if i.Logo, err = certificate.NewLogo(content); err != nil {
		return i, fmt.Errorf("%s: %w", s.IssuerLogo, err)
	}
	return i, nil
}

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
