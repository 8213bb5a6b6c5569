package portal_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// fill gives the account copies of its first Test order and audit event, one each minute until now.
func fill(t testing.TB, w *world, n int) {
	t.Helper()
	first := w.Clock.Now().Add(-time.Duration(n) * time.Minute).UnixMicro()
	const numbers = "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
	rawsql.Exec(t, w.Target, fmt.Sprintf(numbers+`INSERT INTO orders (id, account_id, environment, api_key_id, seq, number, external_id, status, outcome, answer_time,
		price, due_at, created_at, updated_at, ended_at, round, facts, category_code, brand_code)
		SELECT printf('00000000-0000-7000-8000-%%012x', i), account_id, environment, api_key_id, i, printf('AS-%%08d', i), printf('SKU-%%d', i %% 1000), status, outcome,
		answer_time, price, due_at, %d + i * 60000000, updated_at, ended_at, round, facts, category_code, brand_code FROM orders, n WHERE seq = 1 AND environment = 'test'`, n, first))
	rawsql.Exec(t, w.Target, fmt.Sprintf("UPDATE balances SET orders = %d WHERE environment = 'test' AND account_id = '%s'", n, w.Account.ID))
	rawsql.Exec(t, w.Target, fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "+`INSERT INTO audit_events (id, account_id, seq, user_id, at, code, actor_type, actor_id, actor_name, source,
		target_type, target_id, metadata, hash)
		SELECT printf('00000000-0000-7000-8001-%%012x', i), account_id, i, user_id, %d + i * 60000000, 'auth.login.succeeded', 'user', user_id, 'x', 'portal-web', 'user', user_id,
		metadata, hash FROM audit_events, n WHERE seq = 1 AND account_id = '%s'`, n, first, w.Account.ID))
	rawsql.Exec(t, w.Target, fmt.Sprintf("UPDATE accounts SET audit_count = %d WHERE id = '%s'", n, w.Account.ID))
}

// BenchmarkSize shows what pages cost with few and with many orders and events: the same.
func BenchmarkSize(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		w := newWorld(b)
		w.Order(b, w.Test, order.MockAuthentic)
		fill(b, w, n)
		_, token, err := w.Service.StartSession(b.Context(), access.Portal, w.Owner.ID, origin)
		check(b, err)
		day := func(past int) string {
			return w.Clock.Now().Add(-time.Duration(past) * time.Minute).Format(time.DateOnly)
		}
		for name, path := range map[string]string{
			"overview": "/portal/test", "orders": "/portal/test/orders", "orders-last": fmt.Sprintf("/portal/test/orders?page=%d", n/25), "orders-waiting": "/portal/test/orders?view=waiting",
			"orders-found": "/portal/test/orders?q=SKU-none", "audit": "/portal/audit", "audit-last": "/portal/audit?below=30",
			"audit-rare": "/portal/audit?code=api-key.created", "audit-days": "/portal/audit?from=" + day(900) + "&to=" + day(600),
			"audit-actor": "/portal/audit?actor=" + w.Test.ID, "audit-rare-days": "/portal/audit?code=api-key.created&from=" + day(900),
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
					r.AddCookie(&http.Cookie{Name: "assay_portal", Value: token})
					rec := httptest.NewRecorder()
					w.Server.Config.Handler.ServeHTTP(rec, r)
					if rec.Code != http.StatusOK {
						b.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
					}
				}
			})
		}
	}
}
