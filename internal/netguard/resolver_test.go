package netguard

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// answers is a resolver with fixed, comma-separated addresses per name.
type answers map[string]string

func (a answers) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	list, ok := a[host]
	if !ok || network != "ip" {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return parseAddrs(list), nil
}

// script is a resolver whose results change from call to call; the last one stays.
type script struct {
	mu    sync.Mutex
	lists []string
	asked int
}

func (s *script) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.lists[min(s.asked, len(s.lists)-1)]
	s.asked++
	return parseAddrs(list), nil
}

func parseAddrs(list string) []netip.Addr {
	var addrs []netip.Addr
	for text := range strings.SplitSeq(list, ",") {
		if text != "" {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
	}
	return addrs
}
