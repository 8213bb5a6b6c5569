package server

import (
	"flag"

	"github.com/assayhq/assay/internal/openid"
)

// OpenIDSettings are the settings about signing staff in with a provider of OpenID Connect.
type OpenIDSettings struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	TrustFactor  bool
}

func (s *Settings) bindOpenID(fs *flag.FlagSet) {
	fs.StringVar(&s.OpenID.Issuer, "oidc-issuer", "",
		"`URL` of a provider of OpenID Connect with which staff can sign in, too; empty: none")
	fs.StringVar(&s.OpenID.ClientID, "oidc-client-id", "", "what the provider knows this service as")
	s.bindSecret(fs, &s.OpenID.ClientSecret, "oidc-client-secret", "secret that the provider knows this service by")
	fs.BoolVar(&s.OpenID.TrustFactor, "oidc-trust-second-factor", false,
		"the provider always asks for a second factor: its sign-ins count as such also where they do not say so")
}

// check tells what cannot work.
func (s *OpenIDSettings) check(refuse func(format string, args ...any)) {
	if s.Issuer == "" {
		if s.ClientID != "" || s.ClientSecret != "" || s.TrustFactor {
			refuse("--oidc-client-id, --oidc-client-secret and --oidc-trust-second-factor need --oidc-issuer")
		}
		return
	}
	if err := openid.CheckIssuer(s.Issuer); err != nil {
		refuse("--oidc-issuer %w", err)
	}
	if s.ClientID == "" || s.ClientSecret == "" {
		refuse("--oidc-issuer needs --oidc-client-id and --oidc-client-secret")
	}
}

// config is what the use cases get.
func (s *OpenIDSettings) config() openid.Config {
	return openid.Config{
		Issuer: s.Issuer, ClientID: s.ClientID, ClientSecret: s.ClientSecret, TrustFactor: s.TrustFactor,
	}
}
