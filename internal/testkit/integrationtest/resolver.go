package integrationtest

import (
	"context"
	"net"
	"net/netip"
	"strings"
)

// Hosts that the world's resolver knows, beside every *.public.example.
const (
	PrivateHost  = "private.example" // only a private address
	MixedHost    = "mixed.example"   // a public and a loopback address
	MappedHost   = "mapped.example"  // a private IPv4 address inside an IPv6 address
	UnknownHost  = "unknown.example" // does not resolve
	publicSuffix = ".public.example"
)

// resolver answers for the names above without a network.
type resolver struct{}

func (resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	switch host = strings.ToLower(strings.TrimSuffix(host, ".")); {
	case host == PrivateHost:
		return addresses("10.1.2.3"), nil
	case host == MixedHost:
		return addresses("8.8.8.8", "127.0.0.1"), nil
	case host == MappedHost:
		return addresses("::ffff:192.168.1.1"), nil
	case strings.HasSuffix(host, publicSuffix):
		return addresses("8.8.8.8", "2606:4700:4700::1111"), nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func addresses(texts ...string) []netip.Addr {
	list := make([]netip.Addr, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParseAddr(text)
	}
	return list
}
