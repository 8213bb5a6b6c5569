package netguard

import (
	"net/netip"
	"strings"
)

const (
	maxName  = 253 // characters of a name without its trailing dot
	maxLabel = 63
)

// parseHost returns the IP address that a host spells, or the zero address for a name. It refuses invalid hosts,
// and everything that some systems read as an IPv4 address although it is not four decimal numbers (2130706433,
// 0177.0.0.1, 0x7f.1, 127.1), because the dialled address would depend on the resolver.
func parseHost(host string) (netip.Addr, error) {
	refuse := func(reason string) (netip.Addr, error) {
		return netip.Addr{}, &RefusedError{Host: host, Reason: reason}
	}
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return refuse(ReasonInvalidHost)
		}
		return addr, nil
	}
	name := strings.TrimSuffix(host, ".")
	if !isName(name) {
		return refuse(ReasonInvalidHost)
	}
	if !endsInNumber(name) {
		return netip.Addr{}, nil
	}
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return refuse(ReasonNumericHost)
	}
	if name != host { // an address with a trailing dot: some systems resolve it, others dial it
		if reason, public := Classify(addr); !public {
			return refuse(reason)
		}
		return refuse(ReasonNumericHost)
	}
	return addr, nil
}

// isName reports whether s can be a name in the DNS or a hosts file: labels of letters, digits, hyphens and
// underscores. Internationalised names must be in ASCII form (xn--…), because other forms can be normalised to
// digits.
func isName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > maxLabel || strings.Trim(label, nameCharacters) != "" {
			return false
		}
	}
	return true
}

const (
	digits         = "0123456789"
	hexDigits      = digits + "abcdefABCDEF"
	nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + digits + "-_"
)

// endsInNumber reports whether the last label is a decimal or hexadecimal number, which no top-level domain is.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if len(last) >= 2 && last[0] == '0' && (last[1] == 'x' || last[1] == 'X') {
		return strings.Trim(last[2:], hexDigits) == ""
	}
	return strings.Trim(last, digits) == ""
}
