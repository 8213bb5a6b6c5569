package netguard

import (
	"context"
	"net"
	"net/netip"
	"testing"
)

func TestPorts(t *testing.T) {
	for text, want := range map[string]string{
		"443": "443", "1-65535": "1-65535", " 443 , 1024-65535,": "443,1024-65535", "80-80": "80",
	} {
		var p Ports
		if err := p.Set(text); err != nil || p.String() != want {
			t.Errorf("%q is %q, %v", text, p.String(), err)
		}
	}
	for _, text := range []string{"0", "65536", "2-1", "a", "1-", "-1", "1-2-3", "443;444", "", ",", " , "} {
		if err := new(Ports).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	var p Ports
	if err := p.Set("443,1024-65535"); err != nil {
		t.Fatal(err)
	}
	for port, want := range map[uint16]bool{
		22: false, 80: false, 442: false, 443: true, 1023: false, 1024: true, 65535: true,
	} {
		if p.Allow(port) != want {
			t.Errorf("port %d: %t", port, !want)
		}
	}
}

// TestDestinations checks that ports and networks are refused at registration and again when a connection is made, for
// developers with private addresses, too.
func TestDestinations(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	open := netip.MustParseAddrPort(l.Addr().String())
	tests := map[string]struct {
		guard  Guard
		reason string
	}{
		"Allowed": {Guard{AllowPrivate: true, Ports: Ports{{open.Port(), open.Port()}}}, ""},
		"Port":    {Guard{AllowPrivate: true, Ports: Ports{{1, 1}}}, ReasonPort},
		"Denied":  {Guard{AllowPrivate: true, Deny: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, ReasonDenied},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			conn, err := tt.guard.DialContext(context.Background(), "tcp", open.String())
			if conn != nil {
				conn.Close()
			}
			if ReasonOf(err) != tt.reason || (err == nil) != (tt.reason == "") {
				t.Errorf("dial: %v", err)
			}
			if err := tt.guard.Control("tcp", open.String(), nil); ReasonOf(err) != tt.reason {
				t.Errorf("control: %v", err)
			}
		})
	}
	deny := Guard{Deny: []netip.Prefix{netip.MustParsePrefix("93.184.215.0/24")}}
	if err := deny.CheckHost(t.Context(), "93.184.215.14"); ReasonOf(err) != ReasonDenied {
		t.Errorf("a public address of the operator: %v", err)
	}
	if err := deny.CheckHost(t.Context(), "::ffff:93.184.215.14"); ReasonOf(err) != ReasonDenied {
		t.Errorf("the same inside IPv6: %v", err)
	}
}
