// Package hostile lists destinations that webhooks must not reach: internal hosts in every spelling, names that
// resolve to internal addresses, and malformed URLs.
package hostile

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// Hosts are hosts that must not be called, with brackets as in URLs.
var Hosts = []string{
	// Plain addresses.
	"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
	"169.254.169.254",
	"100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
	"240.0.0.1", "255.255.255.255",
	"[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[fe80::1]", "[fe80::1%25eth0]", "[fd00::1]", "[fec0::1]", "[ff02::1]",
	"[2001:db8::1]", "[100::1]",
	// IPv4 inside IPv6.
	"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:8.8.8.8]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]",
	"[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]",
	"[2001::7f00:1]",
	// Spellings that only some systems accept.
	"2130706433", "017700000001", "0x7f000001", "0x7f.1", "0x7f.0x0.0x0.0x1", "0177.0.0.1", "127.1", "127.0.1",
	"127.000.000.001", "0",
	"127.0.0.1.", "169.254.169.254.", "2130706433.", "127.1.",
	// Names.
	"localhost", "localhost.", "LOCALHOST", "loopback.example", "loopback.example.", "loopback6.example",
	"private10.example", "private172.example",
	"private192.example", "metadata.example", "cgnat.example", "ula.example", "linklocal6.example", "multicast.example",
	"zero.example",
	"mapped.example", "nat64.example", "sixtofour.example", "mixed-first.example", "mixed-last.example",
	"mixed-families.example",
	"nowhere.example",
}

// URLs are malformed: %s stands for the host and port of a server that would respond.
var URLs = []string{
	"http://%s/", "HTTP://%s/", "ftp://%s/", "file:///etc/passwd", "gopher://%s/", "//%s/", "%s", "/hook", "", "https:",
	"https:/%s", "https:%s", "https://", "https:///hook", "https://user@%s/", "https://user:password@%s/",
	"https://example.com@%s/", "https://@%s/", "https://%s/#fragment", "https://%s#", "https://%s\\@example.com/",
	"https://example.com\\@%s/", "https://%s /", " https://%s/", "https://%s/\r\nX-Injected: yes", "https://%s/\x00",
	"https://example.com:0/", "https://example.com:65536/", "https://example.com:443x/", "https://[::1/",
	"https://::1/", "javascript:alert(1)", "data:text/html,hello",
}

var answers = map[string]string{
	"localhost":              "127.0.0.1,::1",
	"loopback.example":       "127.0.0.1",
	"loopback6.example":      "::1",
	"private10.example":      "10.0.0.1",
	"private172.example":     "172.20.1.1",
	"private192.example":     "192.168.1.1",
	"metadata.example":       "169.254.169.254",
	"cgnat.example":          "100.100.100.200",
	"ula.example":            "fd12:3456::1",
	"linklocal6.example":     "fe80::1",
	"multicast.example":      "224.0.0.251",
	"zero.example":           "0.0.0.0",
	"mapped.example":         "::ffff:127.0.0.1",
	"nat64.example":          "64:ff9b::7f00:1",
	"sixtofour.example":      "2002:7f00:1::1",
	"mixed-first.example":    "127.0.0.1,93.184.215.14",
	"mixed-last.example":     "93.184.215.14,127.0.0.1",
	"mixed-families.example": "93.184.215.14,::1",
	"example.com":            "93.184.215.14",
}

// Resolver resolves the names in Hosts, and example.com, which is public.
type Resolver struct{}

// LookupNetIP implements netguard.Resolver.
func (Resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	list, ok := answers[strings.ToLower(strings.TrimSuffix(host, "."))]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return parse(list), nil
}

// Rebinding is a resolver for DNS rebinding: the first lookup of a name returns the first answer, every later one
// the second; both are comma-separated addresses.
type Rebinding struct {
	First, Then string

	mu    sync.Mutex
	asked int
}

// LookupNetIP implements netguard.Resolver.
func (r *Rebinding) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if r.asked == 1 {
		return parse(r.First), nil
	}
	return parse(r.Then), nil
}

func parse(list string) []netip.Addr {
	var addrs []netip.Addr
	for text := range strings.SplitSeq(list, ",") {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs
}
