package httpx

import (
	"net/http"
	"net/netip"
)

// ClientIP returns the address of the client, or "" when it is not known: that of the connection's other end, or behind
// Proxies.Trust the one that trusted proxies tell of. IPv4 inside IPv6 is shown as IPv4, without a zone.
func ClientIP(r *http.Request) string {
	x := exchangeFrom(r.Context())
	if x == nil {
		return addressOf(r)
	}
	x.client.update(r)
	return x.client.ip
}

// clientAddress is the address for a RemoteAddr. Unless a proxy tells of clients, all requests of a connection have the
// same.
type clientAddress struct{ remote, ip string }

func (c *clientAddress) update(r *http.Request) {
	if c.remote != r.RemoteAddr {
		*c = clientAddress{r.RemoteAddr, addressOf(r)}
	}
}

func addressOf(r *http.Request) string {
	a := peerAddr(r)
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func peerAddr(r *http.Request) netip.Addr {
	end, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return plainAddr(end.Addr())
}

func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
