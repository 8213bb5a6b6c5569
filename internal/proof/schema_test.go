package proof_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestSchema: a table, an index or a constraint that is missing, or is not what the migrations make, is a problem that
// names it, whatever else can still be checked.
func TestSchema(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		engine := "sqlite"
		if store.IsPostgres(target) {
			engine = "postgres"
		}
		s := shop.New(t, target)
		rawsql.Exec(t, target, `CREATE TABLE notes_of_the_operator (id TEXT); ANALYZE;
			ALTER TABLE orders ADD COLUMN zz text; ALTER TABLE ledger_entries ADD COLUMN "of us" TEXT DEFAULT 'a,(b';
			CREATE INDEX orders_of_the_operator ON orders (zz)`) // nobody's business
		wantProblems(t, check(t, s))
		for _, c := range []struct{ name, change, object, says, engine string }{
			{"Index", "DROP INDEX orders_desk", "orders_desk", "missing", ""},
			{"IndexOfParts", "DROP INDEX deliveries_of_order", "deliveries_of_order", "missing", ""},
			{
				"UniqueIndex", "DROP INDEX ledger_refund_of_charge; " +
					"CREATE INDEX ledger_refund_of_charge ON ledger_entries (charge_id) WHERE charge_id IS NOT NULL",
				"ledger_refund_of_charge", "", "",
			},
			{
				"OtherColumns", "DROP INDEX users_by_account; CREATE INDEX users_by_account ON users (created_at)",
				"users_by_account", "", "",
			},
			{"Table", "DROP TABLE queue_samples", "queue_samples", "missing", ""},
			{
				"ColumnReplaced", "ALTER TABLE staff DROP COLUMN deactivated_at; ALTER TABLE staff ADD COLUMN other BIGINT",
				"staff", "", "",
			},
			{"Column", "ALTER TABLE api_keys DROP COLUMN last_used_at", "api_keys", "", ""},
			{"PrimaryKey", "ALTER TABLE write_probes DROP CONSTRAINT write_probes_pkey", "write_probes", "(id)", "postgres"},
			{"Null", "ALTER TABLE mails ALTER COLUMN kind DROP NOT NULL", "mails", "kind", "postgres"},
			{"ForeignKey", "ALTER TABLE users DROP CONSTRAINT users_account_id_fkey", "users", "foreign", "postgres"},
			{"Check", "ALTER TABLE users DROP CONSTRAINT users_role_check", "users", "checks", "postgres"},
			{
				"Invalid", "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'portal_events_by_age'::regclass",
				"portal_events_by_age", "valid", "postgres",
			},
			{"TableThatIsChecked", "DROP TABLE photo_totals", "photo_totals", "missing", ""},
		} {
			if c.engine != "" && c.engine != engine {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				rawsql.Exec(t, target, c.change)
				o := s.Proof()
				o.Deep = true
				r, err := proof.Check(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				wantProblems(t, r, proof.Schema)
				if !slices.ContainsFunc(r.Problems, func(p proof.Problem) bool {
					return p.ID == c.object && strings.Contains(p.Message, c.says)
				}) {
					t.Errorf("no problem names %s: %+v", c.object, r.Problems)
				}
			})
		}
	})
}
