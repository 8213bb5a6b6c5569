package netguard

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// world is what the test resolver knows: hostile names and a few legitimate ones.
var world = answers{
	"localhost":                 "127.0.0.1,::1",
	"localhost.":                "127.0.0.1,::1",
	"LOCALHOST":                 "127.0.0.1",
	"intranet":                  "10.1.2.3",
	"loopback.example":          "127.0.0.1",
	"loopback.example.":         "127.0.0.1",
	"other-loopback.example":    "127.8.8.8",
	"loopback6.example":         "::1",
	"private10.example":         "10.0.0.1",
	"private172.example":        "172.20.1.1",
	"private192.example":        "192.168.1.1",
	"metadata.example":          "169.254.169.254",
	"metadata6.example":         "fd00:ec2::254",
	"linklocal6.example":        "fe80::1",
	"zone.example":              "fe80::1%eth0",
	"cgnat.example":             "100.100.100.200",
	"ula.example":               "fd12:3456::1",
	"sitelocal.example":         "fec0::1",
	"multicast.example":         "224.0.0.251",
	"multicast6.example":        "ff02::fb",
	"broadcast.example":         "255.255.255.255",
	"zero.example":              "0.0.0.0",
	"zero6.example":             "::",
	"thisnetwork.example":       "0.1.2.3",
	"classe.example":            "250.1.2.3",
	"docs.example":              "203.0.113.7",
	"docs6.example":             "2001:db8::7",
	"bench.example":             "198.18.0.1",
	"mapped.example":            "::ffff:127.0.0.1",
	"mapped-private.example":    "::ffff:192.168.0.1",
	"compatible.example":        "::10.0.0.1",
	"translated.example":        "::ffff:0:10.0.0.1",
	"nat64.example":             "64:ff9b::7f00:1",
	"nat64-public.example":      "64:ff9b::808:808",
	"nat64-local.example":       "64:ff9b:1::a00:1",
	"sixtofour.example":         "2002:7f00:1::1",
	"sixtofour-private.example": "2002:c0a8:101::1",
	"teredo.example":            "2001:0:102:304::1",
	"isatap.example":            "2606:4700::5efe:a00:1",
	"unassigned.example":        "4000::1",
	"mixed-first.example":       "10.0.0.1,93.184.215.14",
	"mixed-last.example":        "93.184.215.14,10.0.0.1",
	"mixed-middle.example":      "93.184.215.14,169.254.169.254,1.1.1.1",
	"mixed-families.example":    "93.184.215.14,::1",
	"mixed-other.example":       "127.0.0.1,2606:4700:4700::1111",
	"empty.example":             "",
	"7f000001.example":          "127.0.0.1",

	"example.com":                    "93.184.215.14",
	"example.com.":                   "93.184.215.14",
	"EXAMPLE.com":                    "93.184.215.14",
	"dual.example.com":               "93.184.215.14,2606:2800:21f:cb07:6820:80da:af6b:8b2c",
	"v6.example.com":                 "2606:4700:4700::1111",
	"plain-a-in-mapped-form.example": "::ffff:93.184.215.14",
	"xn--r8jz45g.jp":                 "93.184.215.14",
	"under_score.example.com":        "93.184.215.14",
	"10.0.0.1.example.com":           "93.184.215.14",
	"0x7f.example.com":               "93.184.215.14",
	"1and1.example.com":              "93.184.215.14",
	"many.example.com":               "1.1.1.1,8.8.8.8,9.9.9.9",
	strings.Repeat("a", 63) + ".com": "93.184.215.14",
}

func hostOf(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u.Hostname()
}

func TestCheckHostRefuses(t *testing.T) {
	long := strings.Repeat(strings.Repeat("a", 49)+".", 5) + "com."
	for raw, want := range map[string]string{
		// Plain addresses.
		"https://127.0.0.1/":                   ReasonLoopback,
		"https://127.0.0.1:8443/":              ReasonLoopback,
		"https://127.255.255.254/":             ReasonLoopback,
		"https://0.0.0.0/":                     ReasonUnspecified,
		"https://10.0.0.1/":                    ReasonPrivate,
		"https://172.16.0.1/":                  ReasonPrivate,
		"https://192.168.1.1/":                 ReasonPrivate,
		"https://169.254.169.254/latest/":      ReasonLinkLocal,
		"https://100.64.0.1/":                  ReasonShared,
		"https://192.0.2.1/":                   ReasonDocumentation,
		"https://198.18.0.1/":                  ReasonBenchmarking,
		"https://224.0.0.1/":                   ReasonMulticast,
		"https://240.0.0.1/":                   ReasonReserved,
		"https://255.255.255.255/":             ReasonBroadcast,
		"https://[::1]/":                       ReasonLoopback,
		"https://[::1]:8443/":                  ReasonLoopback,
		"https://[0:0:0:0:0:0:0:1]/":           ReasonLoopback,
		"https://[::]/":                        ReasonUnspecified,
		"https://[fe80::1]/":                   ReasonLinkLocal,
		"https://[fe80::1%25eth0]/":            ReasonZone,
		"https://[2606:4700::1%25eth0]/":       ReasonZone,
		"https://[fd00::1]/":                   ReasonUniqueLocal,
		"https://[fec0::1]/":                   ReasonSiteLocal,
		"https://[ff02::1]/":                   ReasonMulticast,
		"https://[2001:db8::1]/":               ReasonDocumentation,
		"https://[4000::1]/":                   ReasonReserved,
		"https://[::ffff:127.0.0.1]/":          ReasonEmbeddedIPv4,
		"https://[::ffff:7f00:1]/":             ReasonEmbeddedIPv4,
		"https://[::ffff:8.8.8.8]/":            ReasonEmbeddedIPv4,
		"https://[::127.0.0.1]/":               ReasonEmbeddedIPv4,
		"https://[64:ff9b::127.0.0.1]/":        ReasonEmbeddedIPv4,
		"https://[64:ff9b:1::127.0.0.1]/":      ReasonEmbeddedIPv4,
		"https://[2002:7f00:1::]/":             ReasonEmbeddedIPv4,
		"https://[2001::7f00:1]/":              ReasonEmbeddedIPv4,
		"https://[2606:4700::5efe:127.0.0.1]/": ReasonEmbeddedIPv4,

		// Spellings of addresses that only some systems accept.
		"https://2130706433/":                    ReasonNumericHost,
		"https://017700000001/":                  ReasonNumericHost,
		"https://0x7f000001/":                    ReasonNumericHost,
		"https://0X7F000001/":                    ReasonNumericHost,
		"https://0x7f.1/":                        ReasonNumericHost,
		"https://0x7f.0x0.0x0.0x1/":              ReasonNumericHost,
		"https://0177.0.0.1/":                    ReasonNumericHost,
		"https://0177.0.0.01/":                   ReasonNumericHost,
		"https://127.1/":                         ReasonNumericHost,
		"https://127.0.1/":                       ReasonNumericHost,
		"https://127.000.000.001/":               ReasonNumericHost,
		"https://0/":                             ReasonNumericHost,
		"https://0x/":                            ReasonNumericHost,
		"https://127.0.0.1.1/":                   ReasonNumericHost,
		"https://127.0.0.256/":                   ReasonNumericHost,
		"https://4294967296/":                    ReasonNumericHost,
		"https://99999999999999999999/":          ReasonNumericHost,
		"https://2130706433./":                   ReasonNumericHost,
		"https://127.1./":                        ReasonNumericHost,
		"https://0x7f.1./":                       ReasonNumericHost,
		"https://127.0.0.1./":                    ReasonLoopback,
		"https://169.254.169.254./":              ReasonLinkLocal,
		"https://8.8.8.8./":                      ReasonNumericHost,
		"https://example.com.123/":               ReasonNumericHost,
		"https://127.0.0.1../":                   ReasonInvalidHost,
		"https://１２７.０.０.１/":                     ReasonInvalidHost, // full-width digits
		"https://①②⑦.⓪.⓪.①/":                     ReasonInvalidHost, // circled digits
		"https://127。0。0。1/":                     ReasonInvalidHost, // ideographic full stops
		"https://%EF%BC%91%EF%BC%92%EF%BC%97.1/": ReasonInvalidHost,
		"https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/":                     ReasonInvalidHost,
		"https://loc\u00adalhost/":               ReasonInvalidHost, // soft hyphen
		"https://例え.jp/":                         ReasonInvalidHost, // must be xn--r8jz45g.jp

		// Invalid hosts.
		"https:///":              ReasonInvalidHost,
		"https://./":             ReasonInvalidHost,
		"https://../":            ReasonInvalidHost,
		"https://a..example/":    ReasonInvalidHost,
		"https://.example.com/":  ReasonInvalidHost,
		"https://a,b.example/":   ReasonInvalidHost,
		"https://(a).example/":   ReasonInvalidHost,
		"https://*.example.com/": ReasonInvalidHost,
		"https://" + strings.Repeat("a", 64) + ".com/": ReasonInvalidHost,
		"https://" + long + long[:4] + "/":             ReasonInvalidHost,

		// Names.
		"https://localhost/":                 ReasonLoopback,
		"https://localhost./":                ReasonLoopback,
		"https://LOCALHOST/":                 ReasonLoopback,
		"https://intranet/":                  ReasonPrivate,
		"https://loopback.example/":          ReasonLoopback,
		"https://loopback.example./":         ReasonLoopback,
		"https://other-loopback.example/":    ReasonLoopback,
		"https://loopback6.example/":         ReasonLoopback,
		"https://private10.example/":         ReasonPrivate,
		"https://private172.example/":        ReasonPrivate,
		"https://private192.example/":        ReasonPrivate,
		"https://metadata.example/":          ReasonLinkLocal,
		"https://metadata6.example/":         ReasonUniqueLocal,
		"https://linklocal6.example/":        ReasonLinkLocal,
		"https://zone.example/":              ReasonZone,
		"https://cgnat.example/":             ReasonShared,
		"https://ula.example/":               ReasonUniqueLocal,
		"https://sitelocal.example/":         ReasonSiteLocal,
		"https://multicast.example/":         ReasonMulticast,
		"https://multicast6.example/":        ReasonMulticast,
		"https://broadcast.example/":         ReasonBroadcast,
		"https://zero.example/":              ReasonUnspecified,
		"https://zero6.example/":             ReasonUnspecified,
		"https://thisnetwork.example/":       ReasonReserved,
		"https://classe.example/":            ReasonReserved,
		"https://docs.example/":              ReasonDocumentation,
		"https://docs6.example/":             ReasonDocumentation,
		"https://bench.example/":             ReasonBenchmarking,
		"https://mapped.example/":            ReasonLoopback,
		"https://mapped-private.example/":    ReasonPrivate,
		"https://compatible.example/":        ReasonEmbeddedIPv4,
		"https://translated.example/":        ReasonEmbeddedIPv4,
		"https://nat64.example/":             ReasonEmbeddedIPv4,
		"https://nat64-public.example/":      ReasonEmbeddedIPv4,
		"https://nat64-local.example/":       ReasonEmbeddedIPv4,
		"https://sixtofour.example/":         ReasonEmbeddedIPv4,
		"https://sixtofour-private.example/": ReasonEmbeddedIPv4,
		"https://teredo.example/":            ReasonEmbeddedIPv4,
		"https://isatap.example/":            ReasonEmbeddedIPv4,
		"https://unassigned.example/":        ReasonReserved,
		"https://mixed-first.example/":       ReasonPrivate,
		"https://mixed-last.example/":        ReasonPrivate,
		"https://mixed-middle.example/":      ReasonLinkLocal,
		"https://mixed-families.example/":    ReasonLoopback,
		"https://mixed-other.example/":       ReasonLoopback,
		"https://empty.example/":             ReasonUnresolvable,
		"https://7f000001.example/":          ReasonLoopback,
		"https://nowhere.example/":           ReasonUnresolvable,
		"https://localhost.localdomain/":     ReasonUnresolvable,
	} {
		t.Run(raw, func(t *testing.T) {
			host := hostOf(t, raw)
			err := (&Guard{Resolver: world}).CheckHost(t.Context(), host)
			refused, ok := errors.AsType[*RefusedError](err)
			if !ok || refused.Reason != want || ReasonOf(err) != want || refused.Host != host {
				t.Errorf("CheckHost(%q) = %v, want %s", host, err, want)
			}
			if ok && !strings.Contains(err.Error(), want) {
				t.Errorf("the message does not say the reason: %v", err)
			}
		})
	}
}

func TestCheckHostAllows(t *testing.T) {
	for _, raw := range []string{
		"https://example.com/hook",
		"https://example.com:8443/hook",
		"https://example.com./hook",
		"https://EXAMPLE.com/hook",
		"https://dual.example.com/",
		"https://v6.example.com/",
		"https://plain-a-in-mapped-form.example/",
		"https://xn--r8jz45g.jp/",
		"https://under_score.example.com/",
		"https://10.0.0.1.example.com/",
		"https://0x7f.example.com/",
		"https://1and1.example.com/",
		"https://many.example.com/",
		"https://" + strings.Repeat("a", 63) + ".com/",
		"https://8.8.8.8/",
		"https://1.1.1.1:8443/",
		"https://[2606:4700:4700::1111]/",
		"https://[2001:4860:4860:0:0:0:0:8888]:8443/",
	} {
		if err := (&Guard{Resolver: world}).CheckHost(t.Context(), hostOf(t, raw)); err != nil {
			t.Errorf("CheckHost(%s): %v", raw, err)
		}
	}
}

func TestCheckHostAllowPrivate(t *testing.T) {
	g := &Guard{AllowPrivate: true, Resolver: world}
	for host, want := range map[string]string{
		"localhost":           "",
		"127.0.0.1":           "",
		"::1":                 "",
		"::ffff:127.0.0.1":    "",
		"private10.example":   "",
		"mixed-first.example": "",
		"example.com":         "",
		"nowhere.example":     ReasonUnresolvable,
		"empty.example":       ReasonUnresolvable,
		"127.1":               ReasonNumericHost,
		"2130706433":          ReasonNumericHost,
		"１２７.０.０.１":           ReasonInvalidHost,
	} {
		if err := g.CheckHost(t.Context(), host); ReasonOf(err) != want || (err == nil) != (want == "") {
			t.Errorf("CheckHost(%s) = %v, want %q", host, err, want)
		}
	}
}

func TestZeroGuardIsStrict(t *testing.T) {
	var g Guard
	for _, host := range []string{"127.0.0.1", "::1", "localhost"} {
		if err := g.CheckHost(t.Context(), host); ReasonOf(err) == "" {
			t.Errorf("CheckHost(%s) = %v", host, err)
		}
	}
}

// silence is a resolver that never answers.
type silence struct{}

func (silence) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCheckHostSlowResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := (&Guard{Resolver: silence{}}).CheckHost(t.Context(), "slow.example")
		if ReasonOf(err) != ReasonUnresolvable {
			t.Errorf("CheckHost = %v", err)
		}
		if took := time.Since(start); took != lookupTimeout {
			t.Errorf("took %v, want %v", took, lookupTimeout)
		}
	})
}

func TestCheckHostCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := (&Guard{Resolver: silence{}}).CheckHost(ctx, "slow.example")
		if !errors.Is(err, context.DeadlineExceeded) || ReasonOf(err) != "" {
			t.Errorf("CheckHost = %v, want the caller's deadline and no refusal", err)
		}
	})
}

// lookups is a resolver that finds nothing and records the names.
type lookups struct{ names []string }

func (l *lookups) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	l.names = append(l.names, host)
	return nil, errors.New("no such host")
}

func FuzzCheckHost(f *testing.F) {
	for _, seed := range []string{"127.0.0.1", "0x7f.1", "::ffff:1.2.3.4", "a.b.", "１.1", "fe80::1%eth0", "8.8.8.8"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		var asked lookups
		err := (&Guard{Resolver: &asked}).CheckHost(t.Context(), host)
		if err == nil {
			if reason, public := Classify(netip.MustParseAddr(host)); !public {
				t.Errorf("%q is allowed though it is %s", host, reason)
			}
		}
		for _, name := range asked.names {
			labels := strings.Split(strings.TrimSuffix(name, "."), ".")
			if last := labels[len(labels)-1]; strings.Trim(last, digits) == "" {
				t.Errorf("%q is looked up as a name", name)
			}
		}
	})
}
