package server

import (
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/openid"
	"github.com/assayhq/assay/internal/service"
)

// AccessSettings are the settings about who is let in, what is called, and how much of everything somebody may have.
type AccessSettings struct {
	TrustedProxies Networks
	MaxClaims      int
	MaxTokenClaims int
	MaxKeys        int
	MaxStoredBytes ByteSize
	SecondFactor   string
	DeskRateLimit  int
	DeskNetworks   Networks
	StaffTokenAge  time.Duration
	FourEyes       bool
	FourEyesCredit int64
	WebhookPorts   netguard.Ports
	WebhookDeny    Networks
	Pprof          bool

	MaxConnections           int
	MaxConnectionsPerAddress int

	// Demo is set for serve --demo.
	Demo bool
}

func (s *AccessSettings) bind(fs *flag.FlagSet) {
	s.WebhookPorts = netguard.Ports{{First: 443, Last: 443}, {First: 1024, Last: 65535}}

	fs.Var(&s.TrustedProxies, "trusted-proxies",
		"`networks` of reverse proxies: the client is the right-most other hop of X-Forwarded-For or Forwarded")
	fs.IntVar(&s.MaxClaims, "max-claims", 5,
		"orders that a staff user may hold who takes another one at the pages; 0: no limit")
	fs.IntVar(&s.MaxTokenClaims, "max-token-claims", 100,
		"orders that a staff user may hold who takes another one with a desk token; 0: no limit")
	fs.IntVar(&s.MaxKeys, "max-keys", 200,
		"API keys of an account that are not revoked, made by its own users; 0: no limit")
	fs.Var(&s.MaxStoredBytes, "max-stored-bytes", "`size` of all photos of an account; 0: no limit")
	fs.StringVar(&s.SecondFactor, "require-second-factor", "",
		"`who` must have a second factor: staff, all or none; empty: staff, with --demo none")
	fs.IntVar(&s.DeskRateLimit, "desk-rate-limit", 30_000,
		"requests per minute of one desk token; 0: no limit")
	fs.Var(&s.DeskNetworks, "desk-networks",
		"`networks` that the desk and the pages of administrators can be used from; empty: anywhere")
	fs.DurationVar(&s.StaffTokenAge, "staff-token-expiry", 2160*time.Hour,
		"how long a desk token works; 0: until it is replaced")
	fs.BoolVar(&s.FourEyes, "four-eyes", false,
		"credits over --four-eyes-credits, roles of staff, further administrators and "+
			"revocations of certificates need a second administrator")
	fs.Int64Var(&s.FourEyesCredit, "four-eyes-credits", 1000,
		"Live credits up to which one administrator changes a balance alone, with --four-eyes")
	fs.Var(&s.WebhookPorts, "webhook-ports", "`ports` that webhooks may be sent to")
	fs.Var(&s.WebhookDeny, "webhook-deny-network", "`networks` that webhooks are never sent to")
	fs.IntVar(&s.MaxConnections, "max-connections", 0,
		"connections of clients at a time; 0: as many as the descriptor limit leaves, 20000 at most")
	fs.IntVar(&s.MaxConnectionsPerAddress, "max-connections-per-address", 256,
		"connections from one address at a time, those of --trusted-proxies not counted; 0: no limit")
	fs.BoolVar(&s.Pprof, "pprof", false, "serve /debug/pprof at --ops-listen")
}

// check tells what cannot work.
func (s *AccessSettings) check(refuse func(format string, args ...any)) {
	for _, n := range []named[int]{
		{"max-claims", s.MaxClaims},
		{"max-token-claims", s.MaxTokenClaims},
		{"desk-rate-limit", s.DeskRateLimit},
		{"max-connections", s.MaxConnections},
		{"max-connections-per-address", s.MaxConnectionsPerAddress},
		{"max-keys", s.MaxKeys},
	} {
		if n.value < 0 {
			refuse("--%s must not be negative", n.name)
		}
	}
	if !slices.Contains([]string{"", "staff", "all", "none"}, s.SecondFactor) {
		refuse("--require-second-factor must be staff, all or none")
	}
	if s.FourEyesCredit < 0 {
		refuse("--four-eyes-credits must not be negative")
	}
	if s.StaffTokenAge < 0 {
		refuse("--staff-token-expiry must not be negative")
	}
}

// Networks is a list of networks in CIDR notation or addresses, written with commas.
type Networks []netip.Prefix

// Set reads a list.
func (n *Networks) Set(s string) error {
	var list Networks
	for _, text := range access.SplitNetworks(s) {
		network, ok := access.ParseNetwork(text)
		if !ok {
			return fmt.Errorf("%q is no address and no network in CIDR notation", text)
		}
		list = append(list, network)
	}
	*n = list
	return nil
}

// String writes the list.
func (n *Networks) String() string { return strings.Join(access.Networks(*n).Texts(), ",") }

// serviceLimits are those that use cases keep.
func (s *AccessSettings) serviceLimits() service.Limits {
	required := s.SecondFactor
	if required == "" && !s.Demo {
		required = "staff"
	}
	return service.Limits{
		Claims: s.MaxClaims, TokenClaims: s.MaxTokenClaims, Keys: s.MaxKeys, StoredBytes: int64(s.MaxStoredBytes),
		SecondFactor: map[access.Audience]bool{
			access.Desk: required == "staff" || required == "all", access.Portal: required == "all",
		},
		FourEyes:      service.FourEyes{On: s.FourEyes, Credits: s.FourEyesCredit},
		StaffTokenAge: s.StaffTokenAge, DeskNetworks: access.Networks(s.DeskNetworks),
	}
}

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
