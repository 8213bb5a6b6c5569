package store

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// exports is what an account is given of what is known of it: for each file the columns and where they come from. No
// secret is among them. What there is much of comes in the sequence of an index, so that nothing has to be sorted.
var exports = []struct{ name, columns, from string }{
	{"account", "id, name, locale, created_at", "accounts WHERE id = $1"},
	{"users", "id, email, role, created_at, removed_at", "users WHERE account_id = $1 ORDER BY id"},
	{
		"sessions", "id, user_id, ip, user_agent, created_at, last_seen_at, expires_at",
		"sessions WHERE audience = 'portal' AND user_id" + usersOf + " ORDER BY id",
	},
	{
		"passkeys", "id, user_id, name, created_at, last_used_at",
		"passkeys WHERE audience = 'portal' AND user_id" + usersOf + " ORDER BY id",
	},
	{"invitations", "id, kind, email, role, created_at, expires_at, used_at", "links WHERE account_id = $1 ORDER BY id"},
	{
		"api_keys",
		"id, environment, name, hint, scopes, networks, created_by, created_at, expires_at, revoked_at, last_used_at",
		"api_keys WHERE account_id = $1 ORDER BY id",
	},
	{
		"webhook_endpoints", "id, environment, api_key_id, name, url, events, auth_type, token_url, client_id, created_at",
		"webhook_endpoints WHERE account_id = $1 ORDER BY id",
	},
	{"balances", "environment, credits, orders, entries", "balances WHERE account_id = $1 ORDER BY environment"},
	{"ledger", exportedEntry, "ledger_entries WHERE " + ofLiveTenant + " ORDER BY seq"},
	{"ledger", exportedEntry, "ledger_entries WHERE " + ofTestTenant + " ORDER BY seq"},
	{"orders", exportedOrder, "orders WHERE " + ofLiveTenant + " ORDER BY seq"},
	{"orders", exportedOrder, "orders WHERE " + ofTestTenant + " ORDER BY seq"},
	{
		"order_notes", "order_id, round, note, created_at",
		"order_notes WHERE order_id" + ordersOf + " ORDER BY order_id, round",
	},
	{
		"order_photos", "order_id, round, position, index_code, photo",
		"order_photos WHERE order_id" + ordersOf + " ORDER BY order_id, round, position",
	},
	{
		"order_events", "order_id, seq, at, event, actor_type, details",
		"order_events WHERE order_id" + ordersOf + " ORDER BY order_id, seq",
	},
	{
		"certificates", "id, order_id, document, signature, key_id, issued_at, revoked_at, revoked_reason",
		"certificates WHERE order_id" + ordersOf + " ORDER BY id",
	},
	{
		"deliveries", "id, endpoint_id, environment, order_id, event, body, created_at",
		"deliveries WHERE account_id = $1 ORDER BY id",
	},
	{
		"delivery_attempts", "delivery_id, number, at, duration, http_status, failure, answer, headers, ended, next_at",
		"delivery_attempts WHERE kept = 1 AND delivery_id IN (SELECT id FROM deliveries WHERE account_id = $1)" +
			" ORDER BY delivery_id, number",
	},
	{"deleted_endpoints", "id, environment, deleted_at", "deleted_endpoints WHERE account_id = $1 ORDER BY id"},
	{
		"events", "api_key_id, seq, order_id, event, body, created_at",
		"events WHERE api_key_id IN (SELECT id FROM api_keys WHERE account_id = $1) ORDER BY api_key_id, seq",
	},
	{
		"idempotency_keys", "environment, key, answer, created_at",
		"idempotency_keys JOIN balances USING (tenant) WHERE account_id = $1 ORDER BY environment, key",
	},
	{
		"capture_links", "id, environment, made_by_kind, made_by_id, made_by_name, category_code, brand_code, model_code, " +
			"external_id, order_id, round, locale, return_url, created_at, expires_at, submitted_at, revoked_at",
		"capture_links WHERE account_id = $1 ORDER BY id",
	},
	{
		"capture_photos", "link_id, seq, index_code, name",
		"capture_photos WHERE link_id IN (SELECT id FROM capture_links WHERE account_id = $1) ORDER BY link_id, seq",
	},
	{
		"audit_events", "id, seq, user_id, at, code, actor_type, actor_id, actor_name, source, target_type, target_id, ip, " +
			"user_agent, metadata", "audit_events WHERE account_id = $1 ORDER BY seq",
	},
	{
		"portal_events", "id, seq, user_id, at, code, actor_type, actor_id, actor_name, source, target_type, " +
			"target_id, ip, user_agent, metadata", "portal_events WHERE account_id = $1 ORDER BY seq",
	},
	{
		"photos", "name, environment, sha256, bytes, width, height, original_name, created_at, erased_at",
		"photos WHERE account_id = $1 ORDER BY name",
	},
}

const (
	exportedEntry = "id, environment, seq, kind, amount, balance_after, order_id, charge_id, note, created_at"
	exportedOrder = "id, environment, api_key_id, seq, number, external_id, status, outcome, answer_time, price, " +
		"due_at, created_at, updated_at, ended_at, round, certificate_id, category_code, brand_code, facts, creation"
)

const ordersOf = " IN (SELECT id FROM orders WHERE " + ofAccount + ")"

// Export calls each for every row that is known of an account, with the name of its kind, and columns by name. Times
// are RFC 3339.
func (q Queries) Export(ctx context.Context, accountID string, each func(kind string, row map[string]any) error) error {
	for _, x := range exports {
		columns := strings.Split(x.columns, ", ")
		var total int64
		if progress.On(ctx) {
			var err error
			total, err = db.Value[int64](ctx, q.db, "SELECT COUNT(*) FROM (SELECT 1 FROM "+x.from+") AS found", accountID)
			if err != nil {
				return err
			}
		}
		done := progress.Begin(ctx, "rows of "+x.name, progress.Items, total)
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := q.db.Rows(ctx, "SELECT "+x.columns+" FROM "+x.from, []any{accountID}, func(scan db.Scanner) error {
			if err := scan(dest...); err != nil {
				return err
			}
			row := make(map[string]any, len(columns))
			for i, name := range columns {
				row[name] = exported(name, values[i])
			}
			done(1)
			if x.name == "order_events" {
				if shown, err := forCustomer(row); err != nil || !shown {
					return err
				}
			}
			return each(x.name, row)
		}); err != nil {
			return err
		}
	}
	return q.exportRequests(ctx, accountID, each)
}

// forCustomer leaves of an entry of a timeline what customers see; false: they do not see it. Details that cannot be
// read may be anything: nobody sees them.
func forCustomer(row map[string]any) (shown bool, err error) {
	event, _ := row["event"].(string)
	by, _ := row["actor_type"].(string)
	text, _ := row["details"].(string)
	details, err := decodeDetails(text)
	if err != nil {
		details = nil
	}
	e, shown := order.TimelineEntry{
		Event: event, Actor: access.Actor{Kind: access.ActorKind(by)}, Details: details,
	}.ForCustomer()
	if !shown {
		return false, nil
	}
	seen, err := json.Marshal(e.Details)
	row["details"] = string(seen)
	return true, err
}

// exportRequests calls each for every request in the log of an account.
func (q Queries) exportRequests(
	ctx context.Context, accountID string, each func(kind string, row map[string]any) error,
) error {
	return q.db.Rows(ctx, "SELECT environment, body FROM request_log WHERE account_id = $1 ORDER BY environment, id",
		[]any{accountID}, func(scan db.Scanner) error {
			tenant := access.Tenant{AccountID: accountID}
			var body string
			if err := scan(&tenant.Environment, &body); err != nil {
				return err
			}
			var failed error
			return cmp.Or(requestlog.Read(tenant, body, func(e *requestlog.Entry) bool {
				failed = each("request_log", map[string]any{
					"id": e.ID.String(), "at": e.At().UTC().Format(time.RFC3339Nano), "environment": string(e.Environment),
					"api_key_id": e.KeyID, "method": e.Method, "path": e.Path(), "order_id": e.OrderID, "status": e.Status,
					"code": e.Code, "duration_ms": e.Duration.Milliseconds(), "refusal": e.Refusal,
				})
				return failed == nil
			}), failed)
		})
}

func exported(name string, value any) any {
	switch v := value.(type) {
	case []byte:
		return string(v)
	case int64:
		if name == "at" || strings.HasSuffix(name, "_at") {
			return column.TimeOf(v).Format(time.RFC3339Nano)
		}
	}
	return value
}
