package access_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
)

// networks parses valid networks.
func networks(t *testing.T, texts ...string) access.Networks {
	t.Helper()
	n, problem := access.CheckNetworks("networks", texts)
	if problem != nil {
		t.Fatal(problem)
	}
	return n
}

// TestNetworks checks which networks are valid, their normal form, and which addresses they allow.
func TestNetworks(t *testing.T) {
	t.Run("NormalForm", func(t *testing.T) {
		for text, want := range map[string]string{
			"192.0.2.7":            "192.0.2.7",
			"192.0.2.7/32":         "192.0.2.7",
			"192.0.2.7/24":         "192.0.2.0/24",
			"0.0.0.0/0":            "0.0.0.0/0",
			"2001:DB8::1":          "2001:db8::1",
			"2001:db8:1:2:3::/64":  "2001:db8:1:2::/64",
			"::/0":                 "::/0",
			"2001:db8::1/128":      "2001:db8::1",
			"::ffff:192.0.2.7":     "192.0.2.7",
			"::ffff:192.0.2.7/120": "192.0.2.0/24",
		} {
			if got := networks(t, text).String(); got != want {
				t.Errorf("%s becomes %s, want %s", text, got, want)
			}
		}
	})
	t.Run("Refused", func(t *testing.T) {
		for _, text := range []string{
			"", "example.com", "192.0.2", "192.0.2.7/33", "192.0.2.7/-1", "192.0.2.7:80", "192.0.2.1-192.0.2.9",
			"fe80::1%eth0", "fe80::%eth0/64", "2001:db8::/129", "192.0.2.7/24 ", "010.0.0.1", "::ffff:192.0.2.7/90",
			"[2001:db8::1]",
		} {
			if n, problem := access.CheckNetworks("networks", []string{"192.0.2.1", text}); problem == nil ||
				problem.Field != "networks" || problem.Code != "network" {
				t.Errorf("%q: %v %v", text, n, problem)
			}
		}
	})
	t.Run("Once", func(t *testing.T) {
		if got := networks(t, "192.0.2.7/24", "192.0.2.0/24", "192.0.2.9", "::ffff:192.0.2.9").Texts(); !slices.Equal(got,
			[]string{"192.0.2.0/24", "192.0.2.9"}) {
			t.Errorf("the networks are %q", got)
		}
	})
	t.Run("AtMostTwenty", func(t *testing.T) {
		var texts []string
		for i := range access.MaxNetworks {
			texts = append(texts, fmt.Sprintf("192.0.2.%d", i))
		}
		networks(t, append(texts, "192.0.2.0")...)
		if _, problem := access.CheckNetworks("networks", append(texts, "192.0.2.99")); problem == nil ||
			problem.Code != "max_items" {
			t.Errorf("21 networks: %v", problem)
		}
	})
	t.Run("Typed", func(t *testing.T) {
		got := access.SplitNetworks(" 192.0.2.7,2001:db8::/32\r\n\n 198.51.100.0/24\t")
		if !slices.Equal(got, []string{"192.0.2.7", "2001:db8::/32", "198.51.100.0/24"}) {
			t.Errorf("typed are %q", got)
		}
		if got := access.SplitNetworks(" \r\n"); len(got) != 0 {
			t.Errorf("typed are %q", got)
		}
	})
	t.Run("Allow", func(t *testing.T) {
		n := networks(t, "192.0.2.0/24", "2001:db8::/32", "198.51.100.9")
		for address, want := range map[string]bool{
			"192.0.2.0":        true,
			"192.0.2.255":      true,
			"192.0.3.0":        false,
			"198.51.100.9":     true,
			"198.51.100.8":     false,
			"2001:db8:ffff::1": true,
			"2001:db9::1":      false,
			"::ffff:192.0.2.5": true,
			"":                 false,
			"192.0.2.1:80":     false,
		} {
			if got := n.Allow(address); got != want {
				t.Errorf("%q is allowed: %v", address, got)
			}
		}
		for _, address := range []string{"203.0.113.1", "2001:db9::1", ""} {
			if !access.Networks(nil).Allow(address) {
				t.Errorf("a key for anywhere refuses %q", address)
			}
		}
		if all := networks(t, "0.0.0.0/0"); !all.Allow("203.0.113.1") || all.Allow("2001:db8::1") {
			t.Error("0.0.0.0/0 is not all of IPv4 and nothing else")
		}
	})
	t.Run("Refusal", func(t *testing.T) {
		if e := access.WrongNetwork("203.0.113.1"); e.Code != "forbidden" || e.Details["address"] != "203.0.113.1" ||
			e.Details["required_scope"] != nil {
			t.Errorf("the refusal is %+v", e)
		}
	})
}
