package service_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestFindForReview_NoText looks for what is no text, which databases refuse: nothing is found.
func TestFindForReview_NoText(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, reviewer, _ *access.Staff) {
		id := s.Order(t, s.Live, "")
		found, err := s.Service.FindForReview(t.Context(), reviewer.Actor(access.Origin{}), id)
		must.NoError(t, err)
		if len(found) != 1 || found[0].ID != id {
			t.Errorf("the id finds %+v", found)
		}
		for _, text := range []string{"\x00", "a\x00b", "\xff", strings.Repeat("x", 1<<20)} {
			found, err := s.Service.FindForReview(t.Context(), reviewer.Actor(access.Origin{}), text)
			if len(found) != 0 || err != nil {
				t.Errorf("%.10q finds %+v, %v", text, found, err)
			}
		}
	})
}
