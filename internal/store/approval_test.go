package store_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestExpireApprovals_WhileDecided expires a request while another node, whose clock is a little behind, decides it: it
// stays decided.
func TestExpireApprovals_WhileDecided(t *testing.T) {
	target := pgtest.Database(t) // SQLite has one writer: there is no "while"
	s := storetest.Open(t, target)
	ctx := t.Context()
	people := make([]*access.Staff, 2)
	must.NoError(t, s.Update(ctx, func(tx *store.Tx) error {
		for i := range people {
			id := uuid7.New()
			people[i] = &access.Staff{ID: id, Email: id + "@assay.example", Name: id, Role: access.Admin, CreatedAt: noon}
			if err := tx.InsertStaff(people[i], store.StaffToken{}); err != nil {
				return err
			}
		}
		return nil
	}))
	asked := &access.Approval{
		ID: uuid7.New(), Kind: access.ApproveRole, TargetID: people[0].ID, RequestedBy: people[0].ID,
		RequestedAt: noon, ExpiresAt: noon.Add(time.Hour), Status: access.ApprovalOpen,
	}
	must.NoError(t, s.Update(ctx, func(tx *store.Tx) error { return tx.InsertApproval(asked) }))
	var expired []*access.Approval
	ended := make(chan error, 1)
	must.NoError(t, s.Update(ctx, func(tx *store.Tx) error {
		by := people[1]
		if _, err := tx.DecideApproval(asked.ID, access.ApprovalApproved, by.ID, by.Name, noon); err != nil {
			return err
		}
		go func() {
			ended <- s.Update(ctx, func(tx *store.Tx) (err error) {
				expired, err = tx.ExpireApprovals(asked.ExpiresAt, 10)
				return err
			})
		}()
		rawsql.AwaitLock(t, target, 1)
		return nil
	}))
	must.NoError(t, <-ended)
	now, err := s.Approval(ctx, asked.ID)
	if err != nil || now.Status != access.ApprovalApproved || len(expired) != 0 {
		t.Errorf("the request is %+v, %v, and %d have expired", now, err, len(expired))
	}
}
