package access

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
)

// MaxNetworks is the maximum number of networks per key.
const MaxNetworks = 20

// Networks are the networks that a key may be used from, in normal form; empty means any.
type Networks []netip.Prefix

// CheckNetworks parses IPv4 and IPv6 addresses and networks in CIDR notation. Host bits are cleared, IPv4-mapped
// IPv6 becomes IPv4, and duplicates are dropped.
func CheckNetworks(field string, texts []string) (Networks, *fault.Problem) {
	var networks Networks
	for _, text := range texts {
		network, ok := ParseNetwork(text)
		if !ok {
			return nil, &fault.Problem{
				Field: field, Code: "network",
				Message: strconv.Quote(text) + " is no IPv4 or IPv6 address and no network in CIDR notation",
			}
		}
		if !slices.Contains(networks, network) {
			networks = append(networks, network)
		}
	}
	if len(networks) > MaxNetworks {
		return nil, &fault.Problem{
			Field: field, Code: "max_items", Message: "must name at most " + strconv.Itoa(MaxNetworks) + " networks",
		}
	}
	return networks, nil
}

const mappedBits = 96 // prefix of an IPv4-mapped IPv6 address

// ParseNetwork reads an address or a network in CIDR notation.
func ParseNetwork(text string) (netip.Prefix, bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		if address.Zone() != "" {
			return netip.Prefix{}, false
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), true
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	if network.Addr().Is4In6() {
		if network.Bits() < mappedBits { // wider than the IPv4-mapped range: a mistake
			return netip.Prefix{}, false
		}
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-mappedBits)
	}
	return network.Masked(), true
}

// SplitNetworks splits user input at spaces, commas and line breaks.
func SplitNetworks(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r == ' ' || r == ',' || r == '\n' || r == '\r' || r == '\t'
	})
}

// Allow reports whether the address is in one of the networks. An invalid address is allowed only if any is.
func (n Networks) Allow(address string) bool {
	if len(n) == 0 {
		return true
	}
	at, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	at = at.Unmap().WithZone("")
	return slices.ContainsFunc(n, func(network netip.Prefix) bool { return network.Contains(at) })
}

// Texts returns the networks for display: a network of one address is that address.
func (n Networks) Texts() []string {
	texts := make([]string, len(n))
	for i, network := range n {
		texts[i] = network.String()
		if network.IsSingleIP() {
			texts[i] = network.Addr().String()
		}
	}
	return texts
}

// String returns the stored form, separated by spaces.
func (n Networks) String() string { return strings.Join(n.Texts(), " ") }

// WrongStaffNetwork is the error for staff, or their valid token, outside of the networks of the desk or the token.
func WrongStaffNetwork(address string) *fault.Error {
	return fault.New(fault.Forbidden, "forbidden", "The desk may not be used from this address.").With("address", address)
}

// WrongNetwork is the error for a valid key that is used from outside its networks.
func WrongNetwork(address string) *fault.Error {
	return fault.New(fault.Forbidden, "forbidden", "This API key may not be used from this address.").
		With("address", address)
}
