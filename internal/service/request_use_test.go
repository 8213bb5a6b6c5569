package service_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestRequestUse counts the requests of one key by minute and operation, and looks no further than it may.
func TestRequestUse(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		actor := owner.Actor("", portalOrigin)
		begin := s.Clock.Now().Truncate(time.Minute)
		record := func(at time.Time, n int, keyID, route string) {
			t.Helper()
			block := requestlog.NewBlock(s.Test.Tenant)
			for range n {
				e := requestAt(s.Test.Tenant, at, 200)
				e.KeyID, e.Route = keyID, route
				block.Add(e)
			}
			must.NoError(t, s.Service.RecordRequests(t.Context(), []*requestlog.Block{block}))
		}
		record(begin.Add(-time.Hour), 5, s.Test.ID, "GET /a") // too long ago
		record(begin.Add(-2*time.Minute), 3, s.Test.ID, "GET /a")
		record(begin.Add(-2*time.Minute+59*time.Second), 4, s.Test.ID, "GET /a")
		record(begin, 2, s.Test.ID, "POST /b")
		record(begin, 7, s.Live.ID, "POST /b") // another key
		record(begin, 1, s.Test.ID, "")        // no operation: it counts nowhere
		u, err := s.Service.RequestUse(t.Context(), actor, s.Test, 10)
		must.NoError(t, err)
		if len(u.Minutes) != 10 || !u.Begin.Equal(begin.Add(-9*time.Minute)) || u.Minutes[7]["GET /a"] != 7 ||
			u.Minutes[9]["POST /b"] != 2 || len(u.Minutes[9]) != 1 {
			t.Errorf("counted from %v %v", u.Begin, u.Minutes)
		}
		stranger := access.Actor{Kind: access.ByUser, Role: access.Owner, Tenant: access.Tenant{AccountID: "x"}}
		if _, err := s.Service.RequestUse(t.Context(), stranger, s.Test, 10); err == nil {
			t.Error("another account sees the use of the key")
		}
		for n := range 52 { // more requests than are looked through
			record(begin.Add(-time.Duration(51-n)*10*time.Second), requestlog.MaxBlock, s.Live.ID, "POST /b")
		}
		u, err = s.Service.RequestUse(t.Context(), actor, s.Test, 10)
		must.NoError(t, err)
		if n := len(u.Minutes); n != 8 || !u.Begin.Equal(begin.Add(-7*time.Minute)) || u.Minutes[n-1]["POST /b"] != 2 {
			t.Errorf("counted from %v %v", u.Begin, u.Minutes)
		}
	})
}
