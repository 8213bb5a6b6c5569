package netguard

import (
	"net/netip"
	"testing"

	"code.dny.dev/ssrf"
)

func TestClassify(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0":         ReasonUnspecified,
		"0.0.0.1":         ReasonReserved,
		"0.255.255.255":   ReasonReserved,
		"10.0.0.0":        ReasonPrivate,
		"10.255.255.255":  ReasonPrivate,
		"100.64.0.0":      ReasonShared,
		"100.127.255.255": ReasonShared,
		"127.0.0.1":       ReasonLoopback,
		"127.255.255.254": ReasonLoopback,
		"169.254.0.1":     ReasonLinkLocal,
		"169.254.169.254": ReasonLinkLocal,
		"172.16.0.1":      ReasonPrivate,
		"172.31.255.255":  ReasonPrivate,
		"192.0.0.1":       ReasonReserved,
		"192.0.0.170":     ReasonReserved,
		"192.0.2.1":       ReasonDocumentation,
		"192.31.196.1":    ReasonReserved,
		"192.52.193.1":    ReasonReserved,
		"192.88.99.1":     ReasonReserved,
		"192.168.0.1":     ReasonPrivate,
		"192.175.48.1":    ReasonReserved,
		"198.18.0.1":      ReasonBenchmarking,
		"198.19.255.255":  ReasonBenchmarking,
		"198.51.100.1":    ReasonDocumentation,
		"203.0.113.255":   ReasonDocumentation,
		"224.0.0.1":       ReasonMulticast,
		"239.255.255.255": ReasonMulticast,
		"240.0.0.1":       ReasonReserved,
		"255.255.255.254": ReasonReserved,
		"255.255.255.255": ReasonBroadcast,

		"::":                          ReasonUnspecified,
		"::1":                         ReasonLoopback,
		"::2":                         ReasonEmbeddedIPv4,
		"::127.0.0.1":                 ReasonEmbeddedIPv4,
		"::8.8.8.8":                   ReasonEmbeddedIPv4,
		"::ffff:127.0.0.1":            ReasonEmbeddedIPv4,
		"::ffff:8.8.8.8":              ReasonEmbeddedIPv4,
		"::ffff:0:10.0.0.1":           ReasonEmbeddedIPv4,
		"64:ff9b::127.0.0.1":          ReasonEmbeddedIPv4,
		"64:ff9b::8.8.8.8":            ReasonEmbeddedIPv4,
		"64:ff9b:1::10.0.0.1":         ReasonEmbeddedIPv4,
		"64:ff9b:1:ffff:ffff::1":      ReasonEmbeddedIPv4,
		"64:ff9b:2::1":                ReasonReserved,
		"2002:7f00:1::":               ReasonEmbeddedIPv4,
		"2002:808:808::1":             ReasonEmbeddedIPv4,
		"2001::1":                     ReasonEmbeddedIPv4,
		"2001:0:4136:e378::80ff:fffe": ReasonEmbeddedIPv4,
		"2606:4700::5efe:7f00:1":      ReasonEmbeddedIPv4,
		"2606:4700::200:5efe:a00:1":   ReasonEmbeddedIPv4,
		"2001:2::1":                   ReasonBenchmarking,
		"2001:10::1":                  ReasonReserved,
		"2001:20::1":                  ReasonReserved,
		"2001:1ff:ffff::1":            ReasonReserved,
		"2001:db8::1":                 ReasonDocumentation,
		"3fff::1":                     ReasonDocumentation,
		"3fff:fff::1":                 ReasonDocumentation,
		"2620:4f:8000::1":             ReasonReserved,
		"100::1":                      ReasonReserved,
		"100:0:0:1::1":                ReasonReserved,
		"200::1":                      ReasonReserved,
		"4000::1":                     ReasonReserved,
		"5f00::1":                     ReasonReserved,
		"8000::1":                     ReasonReserved,
		"fbff::1":                     ReasonReserved,
		"fc00::1":                     ReasonUniqueLocal,
		"fd00:ec2::254":               ReasonUniqueLocal,
		"fe00::1":                     ReasonReserved,
		"fe80::1":                     ReasonLinkLocal,
		"febf::1":                     ReasonLinkLocal,
		"fe80::1%eth0":                ReasonZone,
		"2606:4700::1%eth0":           ReasonZone,
		"fec0::1":                     ReasonSiteLocal,
		"ff02::1":                     ReasonMulticast,
		"ff0e::1":                     ReasonMulticast,

		"1.1.1.1":                "",
		"8.8.8.8":                "",
		"9.255.255.255":          "",
		"11.0.0.0":               "",
		"100.63.255.255":         "",
		"100.128.0.0":            "",
		"126.255.255.255":        "",
		"128.0.0.1":              "",
		"169.253.255.255":        "",
		"172.15.255.255":         "",
		"172.32.0.0":             "",
		"192.0.1.1":              "",
		"192.167.255.255":        "",
		"198.17.255.255":         "",
		"198.20.0.0":             "",
		"223.255.255.255":        "",
		"2001:200::1":            "",
		"2001:4860:4860::8888":   "",
		"2606:4700:4700::1111":   "",
		"2a00:1450:4001:80e::1":  "",
		"2003::1":                "",
		"3ffe:ffff:ffff:ffff::1": "",
	} {
		reason, public := Classify(netip.MustParseAddr(addr))
		if reason != want || public != (want == "") {
			t.Errorf("Classify(%s) = %q, %v, want %q", addr, reason, public, want)
		}
	}
	if _, public := Classify(netip.Addr{}); public {
		t.Error("no address is public")
	}
}

// TestClassifyCoversSecondOpinion finds blocks that only the third-party list knows and ours should name.
func TestClassifyCoversSecondOpinion(t *testing.T) {
	for _, denied := range append(append([]netip.Prefix{}, ssrf.IPv4DeniedPrefixes...), ssrf.IPv6DeniedPrefixes...) {
		named := false
		for _, b := range specialBlocks {
			named = named || b.prefix.Bits() <= denied.Bits() && b.prefix.Contains(denied.Addr())
		}
		if !named {
			t.Errorf("%v has no reason of ours", denied)
		}
	}
}
