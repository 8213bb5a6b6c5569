package httpx

import (
	"net/http"
	"net/netip"
)

// ClientIP returns the address of the connection's other end, or "" when it is not an IP address. Headers set by
// proxies are not trusted: any client can send them. IPv4 inside IPv6 is shown as IPv4, without a zone.
func ClientIP(r *http.Request) string {
	x := exchangeFrom(r.Context())
	if x == nil {
		return addressOf(r.RemoteAddr)
	}
	if x.remote != r.RemoteAddr {
		x.remote, x.ip = r.RemoteAddr, addressOf(r.RemoteAddr)
	}
	return x.ip
}

func addressOf(remote string) string {
	end, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	return end.Addr().Unmap().WithZone("").String()
}
