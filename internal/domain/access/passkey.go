package access

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// MaxPasskeys is the maximum number of passkeys per user.
const MaxPasskeys = 20

// Passkey is a WebAuthn credential of a user. The device verifies its owner before it signs, so that a passkey
// counts as two factors.
type Passkey struct {
	ID             string
	Audience       Audience
	UserID         string
	Name           string
	CredentialID   []byte // chosen by the device
	PublicKey      []byte // as a COSE key
	SignCount      uint32 // of the last use; 0 if the device does not count
	BackupEligible bool   // may be synced to other devices; never changes
	BackedUp       bool   // is synced to other devices
	Transports     []string
	AAGUID         string // model of the device, as a UUID; may be all zeros
	CreatedAt      time.Time
	LastUsedAt     *time.Time
}

// UserHandle returns the user id that devices store. It reveals nothing about the person and survives a change of
// email.
func UserHandle(userID string) []byte { return []byte(userID) }

// RelyingParty identifies the website to devices. A passkey works at this origin only.
type RelyingParty struct {
	ID     string // the domain
	Origin string
}

// NewRelyingParty returns the relying party for a public address. ok is false where browsers do not support
// passkeys: without a domain name, and without HTTPS except on localhost.
func NewRelyingParty(address string) (RelyingParty, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return RelyingParty{}, false
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	if !isDomain(host) || u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return RelyingParty{}, false
	}
	origin := u.Scheme + "://" + host
	if port != "" && (u.Scheme != "https" || port != "443") && (u.Scheme != "http" || port != "80") {
		origin += ":" + port
	}
	return RelyingParty{ID: host, Origin: origin}, true
}

// isDomain distinguishes domain names from IP addresses. Internationalised names are in ASCII form.
func isDomain(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil || len(host) > 253 {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
		}) {
			return false
		}
	}
	// Browsers parse a name that ends in a number as an IPv4 address.
	return strings.ContainsFunc(labels[len(labels)-1], func(r rune) bool { return r >= 'a' && r <= 'z' })
}
