package access

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// MaxPasskeys is how many passkeys a user may have.
const MaxPasskeys = 20

// Passkey is a key pair that a device of an account user holds: the user unlocks the device, which then proves that
// it has the private key. That is something they have and something they know or are, so it needs no second factor
// beside it.
type Passkey struct {
	ID             string
	UserID         string
	Name           string
	CredentialID   []byte // by which the device knows it
	PublicKey      []byte // as a COSE key
	SignCount      uint32 // of the last use; 0 at devices that do not count
	BackupEligible bool   // the device may copy it to others of its owner; this never changes
	BackedUp       bool   // and has done so
	Transports     []string
	AAGUID         string // model of the device, as a UUID; all zeros when it does not tell
	CreatedAt      time.Time
	LastUsedAt     *time.Time
}

// UserHandle is what devices keep of the user: it tells nothing about the person, and stays when their email changes.
func UserHandle(userID string) []byte { return []byte(userID) }

// RelyingParty is the portal as devices know it. A passkey works at this origin and nowhere else.
type RelyingParty struct {
	ID     string // the domain
	Origin string
}

// NewRelyingParty returns what the portal at an address is for devices. It is false where browsers offer no
// passkeys: without a domain name, and without a secure connection unless the portal is on this very machine.
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

// isDomain tells names from addresses. Names in other scripts are given in their ASCII form.
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
	// Browsers take a name that ends in a number for an address, in one of its many forms.
	return strings.ContainsFunc(labels[len(labels)-1], func(r rune) bool { return r >= 'a' && r <= 'z' })
}
