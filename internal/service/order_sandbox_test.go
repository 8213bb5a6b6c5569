package service_test

import (
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

func TestPortalMoveTestOrder(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		id := s.Order(t, s.Test, order.MockAuthentic)
		for _, from := range order.SandboxStates {
			for _, to := range order.SandboxStates {
				for _, stage := range []order.SandboxState{from, to} {
					if _, err := s.Service.SimulateState(t.Context(), owner.Actor(access.Test, access.Origin{}), id, stage,
						nil); err != nil {
						t.Fatalf("%s to %s: %v", from, to, err)
					}
				}
			}
		}
		must.NoError(t, s.Service.SimulateDelay(t.Context(), owner.Actor(access.Test, access.Origin{}), id, true))
		must.NoError(t, s.Service.SetTestBalance(t.Context(), owner.Actor(access.Test, access.Origin{}), 7))
		if balance, err := s.Store.Balance(t.Context(), s.Account.Tenant(access.Test)); err != nil || balance != 7 {
			t.Errorf("balance %d, %v", balance, err)
		}
		live := s.Order(t, s.Live, "")
		if _, err := s.Service.SimulateState(t.Context(), owner.Actor(access.Test, access.Origin{}), live,
			order.SandboxState(order.Failed), nil); err == nil {
			t.Error("a Live order was moved")
		}
		report, err := proof.Check(t.Context(), s.Proof())
		must.NoError(t, err)
		if !report.OK {
			t.Errorf("the books do not prove: %+v", report)
		}
	})
}

// TestSandboxDeadlocks: creations and submissions that end in the same result at the same time lock what they share in
// one order.
func TestSandboxDeadlocks(t *testing.T) {
	target := pgtest.Database(t)
	s := shop.New(t, target)
	actor := s.Test.Actor(access.Origin{})
	const rounds, at = 40, 4
	var waiting []string
	for range rounds * at {
		waiting = append(waiting, s.Order(t, s.Test, order.MockUpdatePhotos))
	}
	o, err := s.Store.Order(t.Context(), waiting[0])
	must.NoError(t, err)
	url, sub := s.Photo(t, s.Test), new(order.Submission)
	for i := range o.Requested {
		sub.Entries = append(sub.Entries, order.SubmissionEntry{IndexCode: o.Requested[i].IndexCode, URL: &url})
	}
	var all errgroup.Group
	for worker := range at {
		all.Go(func() error {
			for _, id := range waiting[worker*rounds : (worker+1)*rounds] {
				if _, err := s.Service.SubmitPhotos(t.Context(), actor, id, sub); err != nil {
					return err
				}
			}
			return nil
		})
		all.Go(func() error {
			for range rounds {
				if _, err := s.Service.CreateOrder(t.Context(), actor, &order.Draft{
					CategoryCode: "bags", BrandCode: "prada", Mock: order.MockAuthentic, MockGiven: true,
					Photos: []order.DraftPhoto{{URL: url, IndexCode: "overall-picture"}},
				}, nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must.NoError(t, all.Wait())
	results := rawsql.Rows(t, target, "SELECT result, orders FROM order_results")
	if len(results) != 1 {
		t.Errorf("they have no result in common: %v", results)
	}
	wantNoDeadlocks(t, s.Store, target)
}

// wantNoDeadlocks closes a PostgreSQL database and looks at what it has counted.
func wantNoDeadlocks(t *testing.T, s *store.Store, target string) {
	t.Helper()
	// A session reports what it has counted when it ends.
	must.NoError(t, s.Close())
	must.Eventually(t, time.Minute, "the sessions have ended", func() bool {
		return rawsql.Rows(t, target, `SELECT COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`)[0][0] == "0"
	})
	const deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
	if n := rawsql.Rows(t, target, deadlocks)[0][0]; n != "0" {
		t.Errorf("%s deadlocks", n)
	}
}
