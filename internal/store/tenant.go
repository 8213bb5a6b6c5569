package store

import (
	"context"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store/db"
)

// Orders, ledger entries and idempotency keys are found by the number of their tenant, which is short in an index.
// The account is the first argument of a statement with one of these conditions, and the environment the second.
const (
	numberOf     = "SELECT tenant FROM balances WHERE account_id = $1 AND environment = "
	ofTenant     = "tenant = (" + numberOf + "$2)"
	ofLiveTenant = "tenant = (" + numberOf + "'live')"
	ofTestTenant = "tenant = (" + numberOf + "'test')"
	ofAccount    = "tenant IN (SELECT tenant FROM balances WHERE account_id = $1)"
)

// insertBalance adds the balance of a tenant, which gets the next number. Where another transaction has taken that one
// meanwhile, the insertion waits for its end and is repeated.
func (t *Tx) insertBalance(tenant access.Tenant) error {
	for {
		done, err := t.changed(`INSERT INTO balances (account_id, environment, credits, tenant)
			SELECT $1, $2, 0, COALESCE(MAX(tenant), 0) + 1 FROM balances WHERE TRUE ON CONFLICT (tenant) DO NOTHING`,
			tenant.AccountID, string(tenant.Environment))
		if done || err != nil {
			return err
		}
	}
}

// tenantNumber returns the number of a tenant.
func (q Queries) tenantNumber(ctx context.Context, tenant access.Tenant) (int64, error) {
	return db.Value[int64](ctx, q.db, numberOf+"$2", tenant.AccountID, string(tenant.Environment))
}

// tenantNumber is that of Queries, which never changes: it is read once.
func (s *Store) tenantNumber(ctx context.Context, tenant access.Tenant) (int64, error) {
	if n, ok := s.tenants.Load(tenant); ok {
		return n.(int64), nil
	}
	n, err := s.Queries.tenantNumber(ctx, tenant)
	if err == nil {
		s.tenants.Store(tenant, n)
	}
	return n, err
}
