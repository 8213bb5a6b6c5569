package access

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
)

// MaxNetworks is how many networks a key may be restricted to.
const MaxNetworks = 20

// Networks are where a key may be used from, in normal form; none: anywhere.
type Networks []netip.Prefix

// CheckNetworks reads networks as people write them: addresses of IPv4 or IPv6, and networks in CIDR notation. Bits
// of a network that stand for its hosts are dropped, IPv4 inside IPv6 becomes IPv4, and what stands twice counts
// once.
func CheckNetworks(field string, texts []string) (Networks, *fault.Problem) {
	var networks Networks
	for _, text := range texts {
		network, ok := parseNetwork(text)
		if !ok {
			return nil, &fault.Problem{
				Field:   field,
				Code:    "network",
				Message: strconv.Quote(text) + " is no IPv4 or IPv6 address and no network in CIDR notation",
			}
		}
		if !slices.Contains(networks, network) {
			networks = append(networks, network)
		}
	}
	if len(networks) > MaxNetworks {
		return nil, &fault.Problem{
			Field:   field,
			Code:    "max_items",
			Message: "must name at most " + strconv.Itoa(MaxNetworks) + " networks",
		}
	}
	return networks, nil
}

const mappedBits = 96 // before the IPv4 address inside an IPv6 address

func parseNetwork(text string) (netip.Prefix, bool) {
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
		if network.Bits() < mappedBits { // IPv4 and more: nobody means that
			return netip.Prefix{}, false
		}
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-mappedBits)
	}
	return network.Masked(), true
}

// SplitNetworks separates what somebody typed: by spaces, commas and lines.
func SplitNetworks(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r == ' ' || r == ',' || r == '\n' || r == '\r' || r == '\t'
	})
}

// Allow reports whether a client at the address may come. An address that is none may come only where anybody may.
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

// Texts are the networks as people read them: a network of one address is that address.
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

// String is the stored form: space-separated.
func (n Networks) String() string { return strings.Join(n.Texts(), " ") }

// WrongNetwork is the refusal of a valid key that is used from an address outside its networks.
func WrongNetwork(address string) *fault.Error {
	return fault.New(fault.Forbidden, "forbidden", "This API key may not be used from this address.").With("address",
		address)
}
