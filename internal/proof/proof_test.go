package proof_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/progresstest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

func check(t testing.TB, s *shop.Shop) *proof.Report {
	t.Helper()
	r, err := proof.Check(t.Context(), s.Proof())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheck(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Trade(t)
		if _, err := s.Service.CreateStaff(t.Context(), access.Operator, "a@assay.test", "A", access.Admin); err != nil {
			t.Fatal(err)
		}
		t.Run("Progress", func(t *testing.T) {
			told := &progresstest.Recorder{}
			_, err := proof.Check(told.Context(t.Context()), s.Proof())
			must.NoError(t, err)
			told.WantDone(t, "ledger, orders and logs", "secrets", "photos of orders")
			for _, stage := range []string{"files of the database", "references between rows", "certificates"} {
				if !slices.Contains(told.Parts(), stage) {
					t.Errorf("no word of %s: %q", stage, told.Parts())
				}
			}
		})
		t.Run("OK", func(t *testing.T) {
			got, err := json.Marshal(check(t, s))
			if err != nil {
				t.Fatal(err)
			}
			notes := ""
			if n := check(t, s).Notes; len(n) > 0 { // PostgreSQL without its extension for indexes
				notes = fmt.Sprintf(`"notes":[%q],`, n[0])
			}
			// 8 charges, 2 refunds, the grants of Test and Live; a submission adds a photo to the 8 of the creations.
			want := `{"ok":true,"accounts":1,"orders":8,` +
				`"live_orders":{"completed":1,"error":1,"processing":0,"queued":1,"update-photos":0},` +
				`"ledger_entries":12,"audit_events":2,"portal_events":3,"photos":9,` + notes + `"problem_count":0,"problems":[]}`
			if string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
		t.Run("Rows", func(t *testing.T) { testTamperedRows(t, s) })
		t.Run("Files", func(t *testing.T) { testTamperedFiles(t, s) })
		t.Run("ManyProblems", func(t *testing.T) {
			// More accounts than one page, each without its two balances and the seals of its two logs.
			rawsql.Exec(t, target, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700)
				INSERT INTO accounts (id, name, locale, created_at) SELECT 'a' || i, 'a' || i, 'en', 1 FROM n`)
			r := check(t, s)
			if r.OK || r.Accounts != 701 || r.ProblemCount != 2800 || len(r.Problems) != proof.MaxProblems {
				t.Errorf("ok %v, %d accounts, %d problems, %d listed; want not ok, 701, 2800, %d",
					r.OK, r.Accounts, r.ProblemCount, len(r.Problems), proof.MaxProblems)
			}
			rawsql.Exec(t, target, "DELETE FROM accounts WHERE id LIKE 'a%'")
		})
		if r := check(t, s); !r.OK {
			t.Errorf("problems are left after the tests: %+v", r.Problems)
		}
	})
}

// tampering is a change behind the program's back, what a check says to it, and the way back.
type tampering struct {
	name   string
	change change
	want   []proof.ProblemKind // each at least once, and no other
	id     string              // of one of the problems
	env    access.Environment
	engine string // empty: both

	everywhere bool // some problems are not of one account
}

type change struct{ do, undo string }

// set sets a column to a value, and back to the value before.
func set(table, column, value, before, where string) change {
	to := func(v string) string { return "UPDATE " + table + " SET " + column + " = " + v + " WHERE " + where }
	return change{to(value), to(before)}
}

// hideRows takes rows out of a table, and puts them back.
func hideRows(table, where string) change {
	return change{
		"CREATE TABLE hidden AS SELECT * FROM " + table + " WHERE " + where + "; DELETE FROM " + table + " WHERE " + where,
		"INSERT INTO " + table + " SELECT * FROM hidden; DROP TABLE hidden",
	}
}

var tamperings = []tampering{
	{
		name: "Balance", change: set("balances", "credits", "credits + 5", "credits - 5", "environment = 'live'"),
		want: []proof.ProblemKind{proof.LedgerBalance}, env: access.Live,
	},
	{
		name: "EntryAmount", change: set("ledger_entries", "amount", "amount + 1", "amount - 1", "id = '{grant}'"),
		want: []proof.ProblemKind{proof.LedgerBalance, proof.LedgerRunning}, id: "{grant}", env: access.Live,
	},
	{
		name: "EntryBalanceAfter", change: set("ledger_entries", "balance_after", "7", "1000", "id = '{grant}'"),
		want: []proof.ProblemKind{proof.LedgerRunning}, id: "{grant}", env: access.Live,
	},
	{
		name: "EntrySeq", change: set("ledger_entries", "seq", "1000", "6", "id = '{last}'"),
		want: []proof.ProblemKind{proof.LedgerSequence}, id: "{last}", env: access.Live,
	},
	{
		name: "EntryCount", change: set("balances", "entries", "entries + 1", "entries - 1", "environment = 'live'"),
		want: []proof.ProblemKind{proof.LedgerSequence}, env: access.Live,
	},
	{
		name: "ChargeOfUnknownOrder",
		change: change{
			do:   "UPDATE ledger_entries SET id = 'nowhere', order_id = 'nowhere' WHERE id = '{charge}'",
			undo: "UPDATE ledger_entries SET id = '{charge}', order_id = '{charge}' WHERE id = 'nowhere'",
		},
		want: []proof.ProblemKind{proof.LedgerOrder, proof.OrderCharge}, id: "nowhere", env: access.Live,
	},
	{
		name: "RefundAmount",
		change: change{
			do: `UPDATE ledger_entries SET amount = amount + 1, balance_after = balance_after + 1 WHERE id = '{last}';
			UPDATE balances SET credits = credits + 1 WHERE environment = 'live'`,
			undo: `UPDATE ledger_entries SET amount = amount - 1, balance_after = balance_after - 1 WHERE id = '{last}';
			UPDATE balances SET credits = credits - 1 WHERE environment = 'live'`,
		},
		want: []proof.ProblemKind{proof.LedgerRefund}, id: "{last}", env: access.Live,
	},
	{
		name:   "RefundOfAnotherCharge",
		change: set("ledger_entries", "charge_id", "'{charge}'", "'{failed-charge}'", "id = '{last}'"),
		want:   []proof.ProblemKind{proof.LedgerRefund, proof.OrderRefund}, id: "{last}", env: access.Live,
	},
	{
		name: "OrderSeq", change: set("orders", "seq", "1000", "3", "id = '{failed}'"),
		want: []proof.ProblemKind{proof.OrderSequence}, id: "{failed}", env: access.Live,
	},
	{
		name: "OrderCount", change: set("balances", "orders", "orders + 1", "orders - 1", "environment = 'test'"),
		want: []proof.ProblemKind{proof.OrderSequence}, env: access.Test,
	},
	{
		name: "OrderPrice", change: set("orders", "price", "price + 1", "price - 1", "id = '{open}'"),
		want: []proof.ProblemKind{proof.OrderCharge}, id: "{open}", env: access.Live,
	},
	{
		name: "CanceledWithoutRefund",
		change: change{
			do:   "UPDATE orders SET status = 'completed', outcome = 'canceled', ended_at = 1 WHERE id = '{open}'",
			undo: "UPDATE orders SET status = 'queued', outcome = NULL, ended_at = NULL WHERE id = '{open}'",
		},
		want: []proof.ProblemKind{proof.OrderRefund, proof.OrderCount, proof.OrderOutcome, proof.OrderResults},
		id:   "{open}", env: access.Live,
	},
	{
		name: "RefundedWithoutReason",
		change: change{
			do:   "UPDATE orders SET status = 'completed', outcome = 'fake' WHERE id = '{failed}'",
			undo: "UPDATE orders SET status = 'error', outcome = NULL WHERE id = '{failed}'",
		},
		want: []proof.ProblemKind{proof.OrderRefund, proof.OrderCount, proof.OrderOutcome, proof.OrderResults},
		id:   "{failed}", env: access.Live,
	},
	{
		name: "CountTooHigh", change: set("live_order_counts", "orders", "orders + 1", "orders - 1", "status = 'completed'"),
		want: []proof.ProblemKind{proof.OrderCount}, env: access.Live,
	},
	{
		name: "CountMissing",
		change: change{
			do:   "DELETE FROM live_order_counts WHERE status = 'update-photos'",
			undo: "INSERT INTO live_order_counts (status, slot, orders) VALUES ('update-photos', 0, 0)",
		},
		want: []proof.ProblemKind{proof.OrderCount}, env: access.Live,
	},
	{
		name: "ChargedTwice", engine: "postgres", // SQLite's constraint cannot be dropped
		change: change{
			do: `ALTER TABLE ledger_entries DROP CONSTRAINT ledger_charge_of_order;
			INSERT INTO ledger_entries
				(id, account_id, environment, tenant, seq, kind, amount, balance_after, order_id, note, created_at)
			SELECT 'again', account_id, environment, tenant, entries + 1, 'charge', 0, credits, '{open}', '', 1
			FROM balances WHERE environment = 'live';
			UPDATE balances SET entries = entries + 1 WHERE environment = 'live'`,
			undo: `DELETE FROM ledger_entries WHERE id = 'again';
			UPDATE balances SET entries = entries - 1 WHERE environment = 'live';
			ALTER TABLE ledger_entries ADD CONSTRAINT ledger_charge_of_order
				CHECK ((kind = 'charge') = (order_id IS NOT NULL AND id = order_id))`,
		},
		want: []proof.ProblemKind{proof.OrderCharge, proof.Schema}, id: "{open}", env: access.Live, everywhere: true,
	},
	{
		name: "RefundedTwice",
		change: change{
			do: `DROP INDEX ledger_refund_of_charge;
			INSERT INTO ledger_entries
				(id, account_id, environment, tenant, seq, kind, amount, balance_after, order_id, charge_id, note, created_at)
			SELECT 'again', account_id, environment, tenant, seq + 1, kind, amount, balance_after + amount, order_id,
				charge_id, '', 1
			FROM ledger_entries WHERE id = '{last}';
			UPDATE balances SET entries = entries + 1,
				credits = credits + (SELECT amount FROM ledger_entries WHERE id = 'again') WHERE environment = 'live'`,
			undo: `UPDATE balances SET entries = entries - 1,
				credits = credits - (SELECT amount FROM ledger_entries WHERE id = 'again') WHERE environment = 'live';
			DELETE FROM ledger_entries WHERE id = 'again';
			CREATE UNIQUE INDEX ledger_refund_of_charge ON ledger_entries (charge_id) WHERE charge_id IS NOT NULL`,
		},
		want: []proof.ProblemKind{proof.OrderRefund, proof.Schema}, id: "{failed}", env: access.Live, everywhere: true,
	},
	{
		name: "AuditEvent", change: set("audit_events", "actor_name", "'nobody'", "'system'", "id = '{event}'"),
		want: []proof.ProblemKind{proof.AuditHash}, id: "{event}",
	},
	{
		name:   "AuditMetadata",
		change: set("audit_events", "metadata", "'{' || metadata", "substr(metadata, 2)", "id = '{event}'"),
		want:   []proof.ProblemKind{proof.AuditHash}, id: "{event}",
	},
	{
		name: "AuditHead", change: set("accounts", "audit_head", "'x' || audit_head", "substr(audit_head, 2)", "true"),
		want: []proof.ProblemKind{proof.AuditHead},
	},
	{
		name: "AuditCount", change: set("accounts", "audit_count", "audit_count + 1", "audit_count - 1", "true"),
		want: []proof.ProblemKind{proof.AuditSequence, proof.AuditHead},
	},
	{
		name: "AuditSeq", change: set("audit_events", "seq", "1000", "2", "id = '{last-event}'"),
		want: []proof.ProblemKind{proof.AuditSequence, proof.AuditHash}, id: "{last-event}", // the number is sealed too
	},
	{
		name: "PortalEntry", change: set("portal_events", "actor_name", "'nobody'", "'system'", "seq = 1"),
		want: []proof.ProblemKind{proof.PortalHash}, id: "{portal-entry}",
	},
	{
		name: "PortalHead", change: set("accounts", "portal_head", "'x' || portal_head", "substr(portal_head, 2)", "true"),
		want: []proof.ProblemKind{proof.PortalHead},
	},
	{
		name: "PortalCount", change: set("accounts", "portal_count", "portal_count + 1", "portal_count - 1", "true"),
		want: []proof.ProblemKind{proof.PortalSequence, proof.PortalHead},
	},
	{
		name: "PortalCutShort", // as if the first entry had been too old to be kept
		change: change{
			do: hideRows("portal_events", "seq = 1").do +
				"; UPDATE accounts SET portal_gone = 1, portal_anchor = (SELECT hash FROM hidden WHERE seq = 1)",
			undo: hideRows("portal_events", "").undo +
				"; UPDATE accounts SET portal_gone = 0, portal_anchor = 'portal'",
		},
		want: []proof.ProblemKind{proof.PortalTrimmed},
	},
	{
		name: "StaffAction", change: set("staff_actions", "staff_name", "'nobody'", "'operator'", "seq = 1"),
		want: []proof.ProblemKind{proof.StaffHash}, id: "{action}", everywhere: true,
	},
	{
		name: "StaffLogEmptied", change: hideRows("staff_actions", "seq > 0"),
		want: []proof.ProblemKind{proof.StaffSequence, proof.StaffHead}, everywhere: true,
	},
	{
		name: "StaffHead", change: set("staff_actions_head", "head", "'x' || head", "substr(head, 2)", "id = 1"),
		want: []proof.ProblemKind{proof.StaffHead}, everywhere: true,
	},
	{
		name: "OutcomeFlipped", change: set("orders", "outcome", "'fake'", "'authentic'", "id = '{authentic}'"),
		want: []proof.ProblemKind{proof.OrderOutcome, proof.CertStray}, id: "{authentic}", env: access.Test, everywhere: true,
	},
	{
		name:   "LiveOutcomeFlipped",
		change: set("orders", "outcome", "'unable-to-verify'", "'canceled'", "id = '{canceled}'"),
		want:   []proof.ProblemKind{proof.OrderOutcome, proof.OrderResults, proof.OrderRefund},
		id:     "{canceled}", env: access.Live,
	},
	{
		name: "FactsUnreadable", change: set("orders", "facts", "'{' || facts", "substr(facts, 2)", "id = '{open}'"),
		want: []proof.ProblemKind{proof.OrderFacts}, id: "{open}", env: access.Live,
	},
	{
		name:   "CreationUnreadable",
		change: set("orders", "creation", "'{' || creation", "substr(creation, 2)", "id = '{open}'"),
		want:   []proof.ProblemKind{proof.OrderFacts}, id: "{open}", env: access.Live,
	},
	{
		name:   "TimelineUnreadable",
		change: set("order_events", "details", "'{' || details", "substr(details, 2)", "order_id = '{canceled}'"),
		want:   []proof.ProblemKind{proof.OrderFacts, proof.OrderOutcome}, id: "{canceled}", everywhere: true,
	},
	{
		name: "CertificateEdited",
		change: change{
			do:   "UPDATE certificates SET document = REPLACE(document, 'prada', 'gucci')",
			undo: "UPDATE certificates SET document = REPLACE(document, 'gucci', 'prada')",
		},
		want: []proof.ProblemKind{proof.CertChanged}, id: "{certificate}", env: access.Test,
	},
	{
		name:   "CertificateSignature",
		change: set("certificates", "signature", "'x' || signature", "substr(signature, 2)", "true"),
		want:   []proof.ProblemKind{proof.CertChanged}, id: "{certificate}", env: access.Test,
	},
	{
		name: "CertificateGone", change: set("certificates", "id", "'x' || id", "substr(id, 2)", "true"),
		want: []proof.ProblemKind{proof.CertMissing, proof.CertStray}, id: "{authentic}", env: access.Test, everywhere: true,
	},
	{
		name:   "KeySwapped",
		change: set("sealed_keys", "sealed", "'v2:00000000:' || sealed", "substr(sealed, 13)", "id = 'root'"),
		want:   []proof.ProblemKind{proof.SecretBroken}, id: "root", everywhere: true,
	},
	{
		name: "PhotoNotMarked", change: set("photos", "used", "0", "1", "name = '{photo}'"),
		want: []proof.ProblemKind{proof.PhotoRow}, id: "{photo}", env: access.Live,
	},
	{
		name: "PhotoOfOtherEnvironment", change: set("photos", "environment", "'test'", "'live'", "name = '{photo}'"),
		want: []proof.ProblemKind{proof.PhotoRow}, id: "{photo}", env: access.Live,
	},
	{
		name: "PhotoUnknown",
		change: change{
			do:   "UPDATE photos SET name = 'x' || name WHERE name = '{photo}'",
			undo: "UPDATE photos SET name = '{photo}' WHERE name = 'x{photo}'",
		},
		want: []proof.ProblemKind{proof.PhotoRow}, id: "{photo}", env: access.Live,
	},
}

func testTamperedRows(t *testing.T, s *shop.Shop) {
	one := func(query string) string { return rawsql.Rows(t, s.Target, query)[0][0] }
	open := one("SELECT id FROM orders WHERE environment = 'live' AND status = 'queued'")
	failed := one("SELECT id FROM orders WHERE environment = 'live' AND status = 'error'")
	charge := func(id string) string {
		return one("SELECT id FROM ledger_entries WHERE kind = 'charge' AND order_id = '" + id + "'")
	}
	photos, err := s.Store.OrderPhotos(t.Context(), open)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer(
		"{open}", open, "{failed}", failed, "{charge}", charge(open), "{failed-charge}", charge(failed), "{grant}",
		one("SELECT id FROM ledger_entries WHERE environment = 'live' AND kind = 'grant'"), "{last}",
		one("SELECT id FROM ledger_entries WHERE environment = 'live' AND seq = 6"), "{event}",
		one("SELECT id FROM audit_events WHERE seq = 1"), "{portal-entry}",
		one("SELECT id FROM portal_events WHERE seq = 1"), "{last-event}", one("SELECT id FROM audit_events WHERE seq = 2"),
		"{action}", one("SELECT id FROM staff_actions WHERE seq = 1"),
		"{authentic}", one("SELECT id FROM orders WHERE outcome = 'authentic'"),
		"{canceled}", one("SELECT id FROM orders WHERE outcome = 'canceled'"),
		"{certificate}", one("SELECT id FROM certificates"),
		"{photo}", photos[0].Name,
	)
	engine := "sqlite"
	if store.IsPostgres(s.Target) {
		engine = "postgres"
	}
	for _, c := range tamperings {
		if c.engine != "" && c.engine != engine {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			rawsql.Exec(t, s.Target, names.Replace(c.change.do))
			r := check(t, s)
			rawsql.Exec(t, s.Target, names.Replace(c.change.undo))
			wantProblems(t, r, c.want...)
			if r.OK || int(r.ProblemCount) != len(r.Problems) {
				t.Errorf("ok %v and a count of %d with %d problems", r.OK, r.ProblemCount, len(r.Problems))
			}
			found := false
			for _, p := range r.Problems {
				switch {
				case p.Kind == proof.BrokenReference || c.everywhere:
				// A counter of all accounts.
				case p.Kind == proof.OrderCount && p.AccountID == "" && p.Environment == "live" && p.Message != "":
				case p.AccountID != s.Account.ID || p.Environment != string(c.env) || p.Message == "":
					t.Errorf("the problem does not say where it is: %+v", p)
				}
				found = found || p.ID == names.Replace(c.id)
			}
			if !found {
				t.Errorf("no problem has the id %q: %+v", names.Replace(c.id), r.Problems)
			}
		})
	}
}

// wantProblems checks that the report has these kinds of problems and no others.
func wantProblems(t *testing.T, r *proof.Report, want ...proof.ProblemKind) {
	t.Helper()
	kinds := make(map[proof.ProblemKind]bool)
	for _, p := range r.Problems {
		kinds[p.Kind] = true
	}
	got := slices.Sorted(maps.Keys(kinds))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: %+v", got, want, r.Problems)
	}
}

func testTamperedFiles(t *testing.T, s *shop.Shop) {
	name := rawsql.Rows(t, s.Target, "SELECT photo FROM order_photos WHERE round = 1 AND photo IS NOT NULL")[0][0]
	file := filepath.Join(s.MediaDir, name[:1], name[1:2], name)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Error(err)
		}
	})
	t.Run("Truncated", func(t *testing.T) {
		if err := os.WriteFile(file, content[:len(content)-1], 0o600); err != nil {
			t.Fatal(err)
		}
		r := check(t, s)
		wantProblems(t, r, proof.PhotoSize)
		if p := r.Problems[0]; p.ID != name || p.AccountID != s.Account.ID || p.Environment != "test" {
			t.Errorf("the problem does not name the photo and its owner: %+v", p)
		}
	})
	t.Run("Missing", func(t *testing.T) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		wantProblems(t, check(t, s), proof.PhotoMissing)
	})
	t.Run("StoreOutOfReach", func(t *testing.T) {
		// The folder of the file is a file now: the store fails, which is no verdict on the photo.
		leaf := filepath.Dir(file)
		if err := os.Rename(leaf, leaf+"-away"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(leaf, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := proof.Check(t.Context(), s.Proof()); err == nil {
			t.Errorf("got a report from a store that fails: %+v", r)
		}
		if err := os.Remove(leaf); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(leaf+"-away", leaf); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCheckWhileWriting(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Trade(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		checks := 0
		go func() {
			for ctx.Err() == nil {
				r, err := proof.Check(t.Context(), s.Proof())
				if err == nil && !r.OK {
					err = fmt.Errorf("problems while orders are made: %+v", r.Problems)
				}
				if err != nil {
					done <- err
					return
				}
				checks++
			}
			done <- nil
		}()
		for range 40 {
			s.Order(t, s.Test, order.MockFake)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if r := check(t, s); !r.OK || r.Orders != 48 || checks == 0 {
			t.Errorf("got %+v after %d checks, want 48 orders and no problem", r, checks)
		}
	})
}

// TestRewrittenHistory: whoever has the database but not the secret key cannot make a log that holds, and whoever has
// both cannot make one that leads through a head that was kept elsewhere.
func TestRewrittenHistory(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Trade(t)
		for _, name := range []string{"a", "b", "c"} {
			_, err := s.Service.CreateStaff(t.Context(), access.Operator, name+"@assay.test", name, access.Admin)
			must.NoError(t, err)
		}
		heads, err := s.Service.AuditHeads(t.Context())
		must.NoError(t, err)
		if len(heads) != 3 || heads[0].Number != 3 || heads[1].AccountID != s.Account.ID || heads[1].Number != 2 ||
			heads[2].Chain != audit.OfThePortal || heads[2].AccountID != s.Account.ID {
			t.Fatalf("heads = %+v", heads)
		}
		o := s.Proof()
		o.Heads = heads
		r, err := proof.Check(t.Context(), o)
		must.NoError(t, err)
		wantProblems(t, r)

		rewrite(t, s, audit.NewChain(nil)) // as one without the key would
		wantProblems(t, check(t, s), proof.AuditHash, proof.AuditHead, proof.StaffHash, proof.StaffHead)
		rewrite(t, s, s.Store.Chain())
		wantProblems(t, check(t, s))
		heads[2].Hash = heads[0].Hash // the log of the portal was left as it is
		r, err = proof.Check(t.Context(), o)
		must.NoError(t, err)
		wantProblems(t, r, proof.AuditKept)
		if len(r.Problems) != len(heads) {
			t.Fatalf("problems %+v", r.Problems)
		}
		for i, name := range []string{"the log of administration", "the audit log", "the log of the portal"} {
			if p, h := r.Problems[i], heads[i]; p.ID != h.Chain || p.AccountID != h.AccountID ||
				!strings.Contains(p.Message, fmt.Sprintf("entry %d of %s is not", h.Number, name)) {
				t.Errorf("the problem does not name %s: %+v", name, p)
			}
		}
	})
}

// rewrite forges the first entry of each log and makes a chain that fits.
func rewrite(t *testing.T, s *shop.Shop, seal audit.Chain) {
	t.Helper()
	ctx := t.Context()
	previous := ""
	set := func(text string) { rawsql.Exec(t, s.Target, text) }
	set("UPDATE audit_events SET actor_name = 'nobody' WHERE seq = 1")
	set("UPDATE staff_actions SET staff_name = 'nobody' WHERE seq = 1")
	var texts []string
	must.NoError(t, s.Store.EachEvent(ctx, audit.AuditLog, s.Account.ID, func(e *audit.Event, metadata string) error {
		previous = seal.EventHash(previous, e, metadata)
		texts = append(texts, fmt.Sprintf("UPDATE audit_events SET hash = '%s' WHERE id = '%s'", previous, e.ID))
		return nil
	}))
	heads, err := s.Store.LogHeads(ctx)
	must.NoError(t, err)
	heads[1].Hash = previous
	texts = append(texts, "UPDATE accounts SET audit_head = '"+seal.SealHead(&heads[1])+"'")
	previous = ""
	must.NoError(t, s.Store.EachStaffAction(ctx, func(a *audit.Action, details string) error {
		previous = seal.ActionHash(previous, a, details)
		texts = append(texts, fmt.Sprintf("UPDATE staff_actions SET hash = '%s' WHERE id = '%s'", previous, a.ID))
		return nil
	}))
	heads[0].Hash = previous
	for _, text := range append(texts, "UPDATE staff_actions_head SET head = '"+seal.SealHead(&heads[0])+"'") {
		set(text)
	}
}

// TestDeep: a photo of which a byte was changed has its size still.
func TestDeep(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Trade(t)
		o := s.Proof()
		o.Deep = true
		indexes := true
		if store.IsPostgres(target) {
			indexes = len(rawsql.Rows(t, target, "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'")) > 0
			if indexes {
				rawsql.Exec(t, target, "CREATE EXTENSION amcheck")
			}
		}
		r, err := proof.Check(t.Context(), o)
		must.NoError(t, err)
		wantProblems(t, r)
		if (len(r.Notes) == 0) != indexes {
			t.Errorf("notes: %q", r.Notes)
		}
		name := rawsql.Rows(t, s.Target, "SELECT photo FROM order_photos WHERE round = 1 AND photo IS NOT NULL")[0][0]
		file := filepath.Join(s.MediaDir, name[:1], name[1:2], name)
		content, err := os.ReadFile(file)
		must.NoError(t, err)
		content[len(content)-1] ^= 1
		must.NoError(t, os.WriteFile(file, content, 0o600))
		wantProblems(t, check(t, s))
		r, err = proof.Check(t.Context(), o)
		must.NoError(t, err)
		wantProblems(t, r, proof.PhotoHash)
		if r.Problems[0].ID != name {
			t.Errorf("the problem does not name the photo: %+v", r.Problems)
		}
	})
}

// TestCorruptDatabase: damaged pages are a problem that is reported, whatever else can still be read.
func TestCorruptDatabase(t *testing.T) {
	target := storetest.SQLite(t)
	shop.New(t, target).Trade(t)
	rawsql.Exec(t, target, "PRAGMA wal_checkpoint(TRUNCATE)")
	content, err := os.ReadFile(target)
	must.NoError(t, err)
	for seed := range uint64(20) {
		damaged := slices.Clone(content)
		random := rand.New(rand.NewPCG(seed, 1))
		for range 500 {
			damaged[100+random.IntN(len(damaged)-100)] = byte(random.IntN(256))
		}
		wantDamageFound(t, fmt.Sprint("seed ", seed), damaged)
	}
	found := 0
	for _, index := range rawsql.Rows(t, target, "SELECT name, rootpage FROM sqlite_schema WHERE type = 'index'") {
		page, err := strconv.Atoi(index[1])
		must.NoError(t, err)
		damaged := slices.Clone(content)
		damaged[page*4096-1] ^= 1 // the end of its first entry: the row that it is of
		if wantDamageFound(t, index[0], damaged) {
			found++
		}
	}
	if found < 10 {
		t.Errorf("only %d indexes were damaged", found)
	}
}

// wantDamageFound checks that a damaged database is not opened, or that a check reports it, unless the engine finds
// nothing either. It reports whether a check did.
func wantDamageFound(t *testing.T, what string, damaged []byte) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "assay.db")
	must.NoError(t, os.WriteFile(path, damaged, 0o600))
	if rawsql.Intact(t, path) {
		return false
	}
	s, err := store.Open(t.Context(), path)
	if err != nil {
		return false // noticed
	}
	disk, err := media.NewDisk(t.TempDir())
	must.NoError(t, err)
	r, err := proof.Check(t.Context(), proof.Options{Store: s, Media: disk})
	// What else is wrong with this installation, without its photos and keys, says nothing.
	corrupt := func(p proof.Problem) bool { return p.Kind == proof.DatabaseCorrupt }
	if err == nil && !slices.ContainsFunc(r.Problems, corrupt) {
		t.Errorf("%s: the check finds no damage: %+v", what, r.Problems)
	}
	must.NoError(t, errors.Join(s.Close(), disk.Close()))
	return true
}
