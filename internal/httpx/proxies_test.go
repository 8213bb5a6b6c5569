package httpx

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// TestTrustedProxies checks who the client is, behind which proxies, whatever the client itself has sent.
func TestTrustedProxies(t *testing.T) {
	trusted := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	tests := map[string]struct {
		peer      string
		xff       []string
		forwarded []string
		want      string
	}{
		"NoHeader":   {peer: "10.0.0.1:5", want: "10.0.0.1"},
		"Client":     {peer: "10.0.0.1:5", xff: []string{"203.0.113.7"}, want: "203.0.113.7"},
		"Spoofed":    {peer: "10.0.0.1:5", xff: []string{"198.51.100.1, 203.0.113.7"}, want: "203.0.113.7"},
		"TwoProxies": {peer: "10.0.0.1:5", xff: []string{"1.2.3.4, 203.0.113.7, 10.9.9.9"}, want: "203.0.113.7"},
		"TwoLines": {
			peer: "10.0.0.1:5", xff: []string{"1.2.3.4", "203.0.113.7, 10.1.1.1", "10.2.2.2"}, want: "203.0.113.7",
		},
		"WithPort":       {peer: "10.0.0.1:5", xff: []string{"203.0.113.7:4711"}, want: "203.0.113.7"},
		"IPv6":           {peer: "[2001:db8:1::1]:5", xff: []string{"2001:db8:2::7"}, want: "2001:db8:2::7"},
		"IPv6InBrackets": {peer: "10.0.0.1:5", xff: []string{"[2001:db8:2::7]:80"}, want: "2001:db8:2::7"},
		"IPv4InsideIPv6": {peer: "[::ffff:10.0.0.1]:5", xff: []string{"::ffff:203.0.113.7"}, want: "203.0.113.7"},
		"AllTrusted":     {peer: "10.0.0.1:5", xff: []string{"10.5.5.5, 10.6.6.6"}, want: "10.5.5.5"},
		"Untrusted":      {peer: "192.0.2.1:5", xff: []string{"203.0.113.7"}, want: "192.0.2.1"},
		"Garbage":        {peer: "10.0.0.1:5", xff: []string{"203.0.113.7, nonsense"}, want: ""},
		"Empty":          {peer: "10.0.0.1:5", xff: []string{""}, want: ""},
		"Forwarded": {
			peer: "10.0.0.1:5", forwarded: []string{"for=203.0.113.7;proto=https;by=10.0.0.1"}, want: "203.0.113.7",
		},
		"ForwardedQuoted": {
			peer: "10.0.0.1:5", forwarded: []string{`for="a,b", For="[2001:db8:2::7]:4711"`}, want: "2001:db8:2::7",
		},
		"ForwardedChain": {
			peer: "10.0.0.1:5", forwarded: []string{"for=1.2.3.4, for=203.0.113.7, for=10.3.3.3"}, want: "203.0.113.7",
		},
		"ForwardedHidden":     {peer: "10.0.0.1:5", forwarded: []string{"for=_secret"}, want: ""},
		"ForwardedWithoutFor": {peer: "10.0.0.1:5", forwarded: []string{"proto=https"}, want: ""},
		"BothAgree": {
			peer: "10.0.0.1:5", xff: []string{"203.0.113.7"}, forwarded: []string{"for=203.0.113.7"}, want: "203.0.113.7",
		},
		"OneSentByTheClient": {
			peer: "10.0.0.1:5", xff: []string{"203.0.113.7"}, forwarded: []string{"for=10.0.0.8"}, want: "",
		},
		"TheOtherSentByAClient": {
			peer: "10.0.0.1:5", xff: []string{"192.0.2.9"}, forwarded: []string{"for=203.0.113.7"}, want: "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.RemoteAddr = tt.peer
			if tt.xff != nil {
				r.Header["X-Forwarded-For"] = tt.xff
			}
			if tt.forwarded != nil {
				r.Header["Forwarded"] = tt.forwarded
			}
			got := "not called"
			trusted.Trust(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = ClientIP(r) })).
				ServeHTTP(httptest.NewRecorder(), r)
			if got != tt.want {
				t.Errorf("client %q, want %q", got, tt.want)
			}
			if r.RemoteAddr != tt.peer {
				t.Error("the server's request was changed")
			}
		})
	}
}

func TestWarnForwarded(t *testing.T) {
	for name, trusted := range map[string]Proxies{
		"None": nil, "Others": {netip.MustParsePrefix("172.30.97.0/24")},
	} {
		t.Run(name, func(t *testing.T) {
			warnings := 0
			h := trusted.WarnForwarded(func(*http.Request) { warnings++ }, http.NotFoundHandler())
			send := func(peer, header string) {
				r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
				r.RemoteAddr = peer
				if header != "" {
					r.Header.Set(header, "203.0.113.7")
				}
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
			send("10.0.0.1:5", "")
			send("203.0.113.9:5", "X-Forwarded-For")
			if trusted != nil {
				send("172.30.97.4:5", "X-Forwarded-For")
			}
			if warnings != 0 {
				t.Fatalf("%d warnings", warnings)
			}
			send("127.0.0.1:5", "Forwarded")
			send("10.0.0.1:5", "X-Forwarded-For")
			if warnings != 1 {
				t.Errorf("%d warnings, want one", warnings)
			}
		})
	}
}

// TestTrustOneConnection sends requests of several clients over one connection of a proxy: each is told apart, although
// what is known of a client is kept with the connection.
func TestTrustOneConnection(t *testing.T) {
	trusted := Proxies{netip.MustParsePrefix("127.0.0.0/8")}
	handler := func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, ClientIP(r)) }
	served := trusted.Trust(RequestID(http.HandlerFunc(handler)))
	eachServer(t, served, func(t *testing.T, address string) {
		connections := 0
		dialer := new(net.Dialer)
		client := &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				connections++
				return dialer.DialContext(ctx, network, address)
			},
		}}
		t.Cleanup(client.CloseIdleConnections)
		for _, want := range []string{"203.0.113.7", "203.0.113.7", "203.0.113.8", "127.0.0.1", "", "203.0.113.7"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			switch want {
			case "":
				r.Header.Set("Forwarded", "for=_hidden")
			case "127.0.0.1": // nothing is told
			default:
				r.Header.Set("X-Forwarded-For", want)
			}
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || string(got) != want {
				t.Errorf("client %q (%v), want %q", got, err, want)
			}
		}
		if connections != 1 {
			t.Errorf("%d connections, want one", connections)
		}
	})
}
