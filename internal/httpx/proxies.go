package httpx

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
)

// Proxies are the networks of reverse proxies whose word about the client is taken.
type Proxies []netip.Prefix

// Trust returns a handler for which ClientIP is the client that the proxies in front tell of: the right-most hop of
// X-Forwarded-For or Forwarded that is no proxy of these. What stands to the left of it was sent by that client and is
// not believed. A request of any other peer is left as it is, whatever its headers say.
func (p Proxies) Trust(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer := peerAddr(r); p.contain(peer) {
			told := *r // the request belongs to the server
			told.RemoteAddr = remoteAddr(p.client(peer, r.Header))
			r = &told
		}
		next.ServeHTTP(w, r)
	})
}

func (p Proxies) contain(a netip.Addr) bool {
	return a.IsValid() && slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(a) })
}

// client returns the address of the client behind a trusted peer. It is invalid, so that it is in no network, where the
// proxies hide it, or where two headers tell of two clients: one of them was sent by the client itself.
func (p Proxies) client(peer netip.Addr, h http.Header) netip.Addr {
	var told []netip.Addr
	if lines := h["X-Forwarded-For"]; len(lines) > 0 {
		told = append(told, p.rightmost(lines, func(hop string) string { return hop }))
	}
	if lines := h["Forwarded"]; len(lines) > 0 {
		told = append(told, p.rightmost(lines, forwardedFor))
	}
	switch {
	case len(told) == 0:
		return peer
	case len(told) == 2 && told[0] != told[1]:
		return netip.Addr{}
	}
	return told[0]
}

// rightmost walks the hops from the nearest one to the first that is no trusted proxy. When all are, it is the
// farthest.
func (p Proxies) rightmost(lines []string, node func(hop string) string) (client netip.Addr) {
	for i := len(lines) - 1; i >= 0; i-- {
		rest, more := lines[i], true
		for more {
			var hop string
			hop, rest, more = lastHop(rest)
			client = parseHop(node(hop))
			if !p.contain(client) {
				return client
			}
		}
	}
	return client
}

// lastHop cuts the last element from a list; commas inside of quotes do not count.
func lastHop(s string) (hop, rest string, more bool) {
	quoted := false
	for i := len(s) - 1; i >= 0; i-- {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return strings.TrimSpace(s[i+1:]), s[:i], true
		}
	}
	return strings.TrimSpace(s), "", false
}

// forwardedFor returns the parameter "for" of an element of Forwarded (RFC 7239).
func forwardedFor(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseHop reads an address with or without port and brackets; it is invalid for everything else.
func parseHop(s string) netip.Addr {
	if a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")); err == nil {
		return plainAddr(a)
	}
	if end, err := netip.ParseAddrPort(s); err == nil {
		return plainAddr(end.Addr())
	}
	return netip.Addr{}
}

func remoteAddr(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return net.JoinHostPort(a.String(), "0")
}

// WarnForwarded calls warn, once, when a peer of a private network that is not trusted tells of a client: then
// everybody seems to come from that peer.
func (p Proxies) WarnForwarded(warn func(r *http.Request), next http.Handler) http.Handler {
	var told atomic.Bool
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !told.Load() && (len(r.Header["X-Forwarded-For"]) > 0 || len(r.Header["Forwarded"]) > 0) {
			peer := peerAddr(r)
			if (peer.IsPrivate() || peer.IsLoopback()) && !p.contain(peer) && told.CompareAndSwap(false, true) {
				warn(r)
			}
		}
		next.ServeHTTP(w, r)
	})
}
