package order_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assayhq/assay/internal/domain/order"
)

const symbols = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // Crockford's 32

// TestNumber holds the form of order numbers and what their check character finds.
func TestNumber(t *testing.T) {
	t.Run("Form", func(t *testing.T) {
		form := regexp.MustCompile("^AS-[" + symbols + "]{8}$")
		seen := make(map[string]bool)
		for range 10_000 {
			n := order.NewNumber()
			if !form.MatchString(n) || !order.ValidNumber(n) || seen[n] {
				t.Fatalf("the number is %s", n)
			}
			seen[n] = true
		}
	})
	t.Run("Series", func(t *testing.T) { // neighbours in the index of numbers, but not for long
		shared := make(map[string]int)
		for range 10_000 {
			shared[order.NewNumber()[:7]]++
		}
		if len(shared) < 8 || len(shared) > 12 {
			t.Errorf("10,000 numbers have %d different beginnings: %v", len(shared), shared)
		}
	})
	t.Run("WrongSymbol", func(t *testing.T) {
		n := order.NewNumber()
		for i := 3; i < len(n); i++ {
			for _, c := range symbols {
				if wrong := n[:i] + string(c) + n[i+1:]; wrong != n && order.ValidNumber(wrong) {
					t.Errorf("%s passes for %s", wrong, n)
				}
			}
		}
	})
	t.Run("SwappedNeighbours", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			n := order.NewNumber()
			i := rapid.IntRange(3, 9).Draw(rt, "place")
			swapped := n[:i] + n[i+1:i+2] + n[i:i+1] + n[i+2:]
			if swapped != n && order.ValidNumber(swapped) {
				rt.Fatalf("%s passes for %s", swapped, n)
			}
		})
	})
	t.Run("OtherTexts", func(t *testing.T) {
		n := order.NewNumber()
		for _, text := range []string{
			"", "AS-", n[3:], n + "0", n[:10], strings.ToLower(n), "AT" + n[2:], "AS-IIIIIIII",
			"AS-界界", strings.Repeat("0", 11),
		} {
			if order.ValidNumber(text) {
				t.Errorf("%q is valid", text)
			}
		}
	})
}
