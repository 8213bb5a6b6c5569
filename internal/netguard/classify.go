package netguard

import (
	"net/netip"

	"code.dny.dev/ssrf"
)

// Reasons of a refusal. They are stable: integrators see them in error details.
const (
	ReasonUnresolvable  = "unresolvable"  // the name has no address
	ReasonInvalidHost   = "invalid-host"  // not a host name or IP address in ASCII
	ReasonNumericHost   = "numeric-host"  // an IPv4 address that is not four decimal numbers
	ReasonZone          = "zone-id"       // an IPv6 address with a zone
	ReasonUnspecified   = "unspecified"   // 0.0.0.0, ::
	ReasonLoopback      = "loopback"      // this machine
	ReasonPrivate       = "private"       // RFC 1918
	ReasonShared        = "shared"        // carrier-grade NAT
	ReasonLinkLocal     = "link-local"    // includes cloud metadata services
	ReasonUniqueLocal   = "unique-local"  // private IPv6 addresses
	ReasonSiteLocal     = "site-local"    // deprecated private IPv6 addresses
	ReasonMulticast     = "multicast"     // no single receiver
	ReasonBroadcast     = "broadcast"     // no single receiver
	ReasonDocumentation = "documentation" // for examples only
	ReasonBenchmarking  = "benchmarking"  // for benchmarks only
	ReasonEmbeddedIPv4  = "embedded-ipv4" // an IPv6 address that is translated to IPv4
	ReasonReserved      = "reserved"      // everything else that is not assigned to ordinary hosts
	ReasonNetwork       = "network"       // not TCP
	ReasonPort          = "port"          // not one of the ports that may be called
	ReasonDenied        = "denied"        // a network that the operator has excluded
)

type block struct {
	prefix netip.Prefix
	reason string
}

// specialBlocks are the IANA special-purpose registries of both families, with older assignments that systems still
// honour. The first match counts, so narrow blocks come before wide ones.
var specialBlocks = parseBlocks([][2]string{
	{"0.0.0.0/32", ReasonUnspecified},
	{"0.0.0.0/8", ReasonReserved}, // this network
	{"10.0.0.0/8", ReasonPrivate},
	{"100.64.0.0/10", ReasonShared},
	{"127.0.0.0/8", ReasonLoopback},
	{"169.254.0.0/16", ReasonLinkLocal},
	{"172.16.0.0/12", ReasonPrivate},
	{"192.0.0.0/24", ReasonReserved}, // protocol assignments
	{"192.0.2.0/24", ReasonDocumentation},
	{"192.31.196.0/24", ReasonReserved}, // AS112
	{"192.52.193.0/24", ReasonReserved}, // automatic multicast tunnelling
	{"192.88.99.0/24", ReasonReserved},  // 6to4 relays
	{"192.168.0.0/16", ReasonPrivate},
	{"192.175.48.0/24", ReasonReserved}, // AS112
	{"198.18.0.0/15", ReasonBenchmarking},
	{"198.51.100.0/24", ReasonDocumentation},
	{"203.0.113.0/24", ReasonDocumentation},
	{"224.0.0.0/4", ReasonMulticast},
	{"255.255.255.255/32", ReasonBroadcast},
	{"240.0.0.0/4", ReasonReserved},

	{"::/128", ReasonUnspecified},
	{"::1/128", ReasonLoopback},
	{"::/96", ReasonEmbeddedIPv4},           // IPv4-compatible
	{"::ffff:0:0/96", ReasonEmbeddedIPv4},   // IPv4-mapped
	{"::ffff:0:0:0/96", ReasonEmbeddedIPv4}, // IPv4-translated
	{"64:ff9b::/96", ReasonEmbeddedIPv4},    // NAT64
	{"64:ff9b:1::/48", ReasonEmbeddedIPv4},  // NAT64, local use
	{"2001::/32", ReasonEmbeddedIPv4},       // Teredo
	{"2002::/16", ReasonEmbeddedIPv4},       // 6to4
	{"2001:2::/48", ReasonBenchmarking},
	{"2001:db8::/32", ReasonDocumentation},
	{"3fff::/20", ReasonDocumentation},
	{"2001::/23", ReasonReserved},         // protocol assignments: ORCHID, AMT, port control, …
	{"2620:4f:8000::/48", ReasonReserved}, // AS112
	{"fc00::/7", ReasonUniqueLocal},
	{"fe80::/10", ReasonLinkLocal},
	{"fec0::/10", ReasonSiteLocal},
	{"ff00::/8", ReasonMulticast},
})

// globalUnicast is the only IPv6 block from which public hosts get addresses. Discard (100::/64), segment routing
// (5f00::/16) and unassigned blocks are outside.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// secondOpinion is a third-party list of the same registries. What it refuses is refused too, even if ours is out
// of date.
var secondOpinion = ssrf.New(ssrf.WithAnyPort())

// Classify reports whether an address is public, and if not, why. IPv4 embedded in IPv6 is never public, whatever
// the inner address: legitimate endpoints are not published that way.
func Classify(addr netip.Addr) (reason string, public bool) {
	if !addr.IsValid() {
		return ReasonInvalidHost, false
	}
	if addr.Zone() != "" {
		return ReasonZone, false
	}
	for _, b := range specialBlocks {
		if b.prefix.Contains(addr) {
			return b.reason, false
		}
	}
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return ReasonReserved, false
	}
	if isISATAP(addr) {
		return ReasonEmbeddedIPv4, false
	}
	if secondOpinion.SafeAddr(addr) != nil {
		return ReasonReserved, false
	}
	return "", true
}

// isISATAP recognises addresses that a tunnel translates to the IPv4 address in their last four bytes (RFC 5214).
func isISATAP(addr netip.Addr) bool {
	if !addr.Is6() {
		return false
	}
	b := addr.As16()
	return b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

func parseBlocks(table [][2]string) []block {
	blocks := make([]block, len(table))
	for i, row := range table {
		blocks[i] = block{netip.MustParsePrefix(row[0]), row[1]}
	}
	return blocks
}
