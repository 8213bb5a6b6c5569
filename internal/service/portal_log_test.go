package service_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestTrimPortalLogs removes old entries of the log of the portal: what stays is proven as before.
func TestTrimPortalLogs(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		ctx := t.Context()
		actor := access.Actor{Kind: access.ByUser, Name: "owner", Role: access.Owner, Tenant: access.Tenant{
			AccountID: s.Account.ID,
		}}
		export := func() { must.NoError(t, s.Service.RecordExport(ctx, actor, "orders.csv")) }
		check := func(heads ...audit.Head) {
			t.Helper()
			o := s.Proof()
			o.Heads = heads
			r, err := proof.Check(ctx, o)
			must.NoError(t, err)
			if !r.OK {
				t.Errorf("the check says %+v", r.Problems)
			}
		}
		export()
		old, err := s.Service.AuditHeads(ctx)
		must.NoError(t, err)
		const keep = 48 * time.Hour
		trim := func() int {
			t.Helper()
			n, err := s.Service.TrimPortalLogs(ctx, s.Clock.Now().Add(-keep), 100)
			must.NoError(t, err)
			return n
		}
		s.Clock.Advance(keep)
		export()
		if n := trim(); n != 0 { // not a day over the time
			t.Errorf("%d logs are trimmed", n)
		}
		s.Clock.Advance(25 * time.Hour)
		if n := trim(); n != 1 {
			t.Errorf("%d logs are trimmed", n)
		}
		left := rawsql.Rows(t, target, "SELECT code FROM portal_events ORDER BY seq")
		if len(left) != 2 {
			t.Errorf("left is %q", left)
		}
		check(old...)
		if n := trim(); n != 0 {
			t.Errorf("again: %d logs are trimmed", n)
		}
		events, _, err := s.Service.AuditEvents(ctx, actor, audit.Filter{Log: audit.PortalLog}, 0, 10)
		must.NoError(t, err)
		if len(events) != 2 || events[0].Code != audit.LogTrimmed || events[0].Actor.Type != audit.BySystem {
			t.Errorf("the log is %+v", events)
		}
		s.Clock.Advance(30 * 24 * time.Hour) // everything is too old, what says so too
		if n := trim(); n != 1 {
			t.Errorf("%d logs are trimmed", n)
		}
		check()
		export()
		check()
	})
}
