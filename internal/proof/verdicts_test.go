package proof_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// judged is a shop with Live orders that a reviewer has judged.
type judged struct {
	*shop.Shop
	admin            access.Actor
	authentic, fake  string // orders
	inForce, revoked string // certificates
}

func newJudged(t *testing.T, target string) *judged {
	t.Helper()
	s := &judged{Shop: shop.New(t, target)}
	s.Trade(t)
	staff, err := s.Service.CreateStaff(t.Context(), access.Operator, "a@assay.test", "A", access.Admin)
	must.NoError(t, err)
	s.admin = staff.Staff.Actor(access.Origin{})
	verdict := func(v *order.Verdict) string {
		id := s.Order(t, s.Live, "")
		_, err := s.Service.ClaimOrder(t.Context(), s.admin, id)
		must.NoError(t, err)
		_, err = s.Service.CompleteOrder(t.Context(), s.admin, id, v, "a note")
		must.NoError(t, err)
		return id
	}
	s.authentic = verdict(&order.Verdict{Outcome: order.Authentic})
	s.fake = verdict(&order.Verdict{
		Outcome: order.Fake, ReasonCodes: []string{"stitching-irregular"}, ReasonText: text.Text{EN: "A thread.", JA: "糸"},
		IndexCodes: []string{"overall-picture"},
	})
	certificate := func(orderID string) string {
		return rawsql.Rows(t, target, "SELECT certificate_id FROM orders WHERE id = '"+orderID+"'")[0][0]
	}
	s.inForce = certificate(s.authentic)
	s.revoked = certificate(verdict(&order.Verdict{Outcome: order.Authentic}))
	must.NoError(t, s.Service.RevokeCertificate(t.Context(), s.admin, s.revoked, "mistaken"))
	// A Test order whose certificate was revoked, and which was then moved on to another.
	moved := s.Order(t, s.Test, order.MockAuthentic)
	must.NoError(t, s.Service.RevokeCertificate(t.Context(), s.admin, certificate(moved), "tried"))
	for _, to := range []order.SandboxState{"fake", "authentic"} {
		_, err := s.Service.SimulateState(t.Context(), s.Test.Actor(access.Origin{}), moved, to, nil)
		must.NoError(t, err)
	}
	return s
}

// otherShape are tamperings that put texts into a row which are JSON, and not what the program reads there.
func otherShape(name string, want proof.ProblemKind, id, do, undo string, shapes ...string) []tampering {
	var all []tampering
	for _, shape := range shapes {
		all = append(all, tampering{
			name: name + "/" + shape, change: change{strings.ReplaceAll(do, "{shape}", shape), undo},
			want: []proof.ProblemKind{want}, id: id,
		})
	}
	return all
}

// saved puts the {shape} into a column of a row, and restored what was there.
func saved(table, column, where string) string {
	return "CREATE TABLE hidden AS SELECT " + column + " FROM " + table + " WHERE " + where +
		"; UPDATE " + table + " SET " + column + " = '{shape}' WHERE " + where
}

func restored(table, column, where string) string {
	return "UPDATE " + table + " SET " + column + " = (SELECT " + column + " FROM hidden) WHERE " + where +
		"; DROP TABLE hidden"
}

// TestVerdicts: what an order, its timeline, its certificate and its photos say of each other.
func TestVerdicts(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := newJudged(t, target)
		deep := func() *proof.Report {
			o := s.Proof()
			o.Deep = true
			r, err := proof.Check(t.Context(), o)
			must.NoError(t, err)
			return r
		}
		claimed := s.Order(t, s.Live, "")
		_, err := s.Service.ClaimOrder(t.Context(), s.admin, claimed)
		must.NoError(t, err)
		wantProblems(t, deep())
		photos, err := s.Store.OrderPhotos(t.Context(), s.authentic)
		must.NoError(t, err)
		names := strings.NewReplacer("{authentic}", s.authentic, "{fake}", s.fake, "{in-force}", s.inForce,
			"{revoked}", s.revoked, "{photo}", photos[0].Name, "{account}", s.Account.ID, "{key}", s.Live.ID,
			"{open}", s.Order(t, s.Live, ""), "{admin}", s.admin.ID, "{claimed}", claimed,
			"{answered}", rawsql.Rows(t, target, "SELECT order_id FROM order_photos")[0][0],
			"{failed}", rawsql.Rows(t, target, "SELECT id FROM orders WHERE status = 'error'")[0][0])
		const swapSteps = `UPDATE order_events SET seq = 100 WHERE order_id = '{fake}' AND seq = 1;
			UPDATE order_events SET seq = 1 WHERE order_id = '{fake}' AND seq = 2;
			UPDATE order_events SET seq = 2 WHERE order_id = '{fake}' AND seq = 100`
		inFacts := func(order, from, to string) change {
			return set("orders", "facts", "REPLACE(facts, '"+from+"', '"+to+"')", "REPLACE(facts, '"+to+"', '"+from+"')",
				"id = '{"+order+"}'")
		}
		for _, c := range slices.Concat([]tampering{
			{
				name: "RevokedUnsaid",
				change: set("certificates", "(revoked_at, revoked_reason)", "(1, 'x')", "(CAST(NULL AS BIGINT), NULL)",
					"id = '{in-force}'"),
				want: []proof.ProblemKind{proof.CertRevoked}, id: "{in-force}",
			},
			{
				name:   "RevokedForAnotherReason",
				change: set("certificates", "revoked_reason", "'x'", "'mistaken'", "id = '{revoked}'"),
				want:   []proof.ProblemKind{proof.CertRevoked}, id: "{revoked}",
			},
			{
				name: "BrandName", change: inFacts("authentic", "Prada", "Gucci"),
				want: []proof.ProblemKind{proof.CertDiffers}, id: "{in-force}",
			},
			{
				name: "BrandColumn", change: set("orders", "brand_code", "'gucci'", "'prada'", "id = '{fake}'"),
				want: []proof.ProblemKind{proof.OrderFacts}, id: "{fake}",
			},
			{
				name: "ReasonCode", change: inFacts("fake", `"stitching-irregular"`, `"logo-misaligned"`),
				want: []proof.ProblemKind{proof.OrderOutcome}, id: "{fake}",
			},
			{
				name: "ReasonText", change: inFacts("fake", "A thread.", "A button."),
				want: []proof.ProblemKind{proof.OrderOutcome}, id: "{fake}",
			},
			{
				name: "OutcomeIndex", change: inFacts("fake", `["overall-picture"]`, `["logo"]`),
				want: []proof.ProblemKind{proof.OrderOutcome}, id: "{fake}",
			},
			{
				name:   "StepMissing",
				change: set("order_events", "seq", "seq + 1", "seq - 1", "order_id = '{fake}' AND event = 'completed'"),
				want:   []proof.ProblemKind{proof.TimelineSeq}, id: "{fake}",
			},
			{
				name: "LastStepGone", change: hideRows("order_events", "order_id = '{claimed}'"),
				want: []proof.ProblemKind{proof.TimelineSeq}, id: "{claimed}",
			},
			{
				name:   "LastStepOfFailedGone",
				change: hideRows("order_events", "order_id = (SELECT id FROM orders WHERE status = 'error')"),
				want:   []proof.ProblemKind{proof.TimelineSeq}, id: "{failed}",
			},
			{
				name: "AnswerGone", change: hideRows("order_photos", "order_id = '{answered}'"),
				want: []proof.ProblemKind{proof.PhotoRow}, id: "{answered}",
			},
			{
				name: "FirstOfAnswerGone", change: hideRows("order_photos", "order_id = '{answered}' AND position = 0"),
				want: []proof.ProblemKind{proof.PhotoRow}, id: "{answered}",
			},
			{
				name: "StepsSwapped", change: change{swapSteps, swapSteps},
				want: []proof.ProblemKind{proof.TimelineSeq}, id: "{fake}",
			},
			{
				name: "PhotoReplaced", change: set("photos", "sha256", "'x' || sha256", "substr(sha256, 2)", "name = '{photo}'"),
				want: []proof.ProblemKind{proof.CertDiffers, proof.PhotoHash}, id: "{in-force}",
			},
			{
				name: "PhotoOfAnotherIndex",
				change: set("orders", "creation", "REPLACE(creation, 'overall-picture', 'logo')",
					"REPLACE(creation, 'logo', 'overall-picture')", "id = '{authentic}'"),
				want: []proof.ProblemKind{proof.CertDiffers}, id: "{in-force}",
			},
			{
				name: "PhotoTotals", change: set("photo_totals", "bytes", "bytes + 1", "bytes - 1", "environment = 'live'"),
				want: []proof.ProblemKind{proof.PhotoTotals},
			},
			{
				name: "PhotoTotalsMissing", change: hideRows("photo_totals", "photos > 0"),
				want: []proof.ProblemKind{proof.PhotoTotals},
			},
			{
				name: "Day",
				change: change{
					"INSERT INTO daily_statistics (day, figures) VALUES ('2026-01-01', '{')",
					"DELETE FROM daily_statistics WHERE day = '2026-01-01'",
				},
				want: []proof.ProblemKind{proof.RecordBroken}, id: "2026-01-01",
			},
			{
				name: "KeyLimits", change: set("api_keys", "limits", "'x' || limits", "substr(limits, 2)", "id = '{key}'"),
				want: []proof.ProblemKind{proof.RecordBroken}, id: "{key}",
			},
			{
				name: "KeyScopes", change: set("api_keys", "scopes", "'all:' || scopes", "substr(scopes, 5)", "id = '{key}'"),
				want: []proof.ProblemKind{proof.RecordBroken}, id: "{key}",
			},
			{
				name: "EndpointEvents",
				change: change{
					`INSERT INTO webhook_endpoints (id, account_id, environment, api_key_id, url, canonical_url, events,
						auth_type, sealed_secret, created_at)
						VALUES ('e', '{account}', 'live', '{key}', 'u', 'u', 'order-outcome x', 'hmac', '', 1)`,
					"DELETE FROM webhook_endpoints WHERE id = 'e'",
				},
				want: []proof.ProblemKind{proof.RecordBroken}, id: "e",
			},
			{
				name: "Event", change: set("events", "body", "'x' || body", "substr(body, 2)", "order_id = '{fake}'"),
				want: []proof.ProblemKind{proof.RecordBroken}, id: "{fake}",
			},
			{
				name: "Delivery",
				change: change{
					`INSERT INTO deliveries (id, endpoint_id, account_id, environment, event, body, created_at)
						VALUES ('{fake}', 'e', '{account}', 'live', 'order-outcome', '', 1)`,
					"DELETE FROM deliveries WHERE id = '{fake}'",
				},
				want: []proof.ProblemKind{proof.RecordBroken}, id: "{fake}",
			},
		},
			otherShape("DayOfAnotherShape", proof.RecordBroken, "2026-01-01",
				`INSERT INTO daily_statistics (day, figures) VALUES ('2026-01-01', '{shape}')`,
				"DELETE FROM daily_statistics WHERE day = '2026-01-01'", "[]", "5", `{"ended":[]}`),
			otherShape("KeyLimitsOfAnotherShape", proof.RecordBroken, "{key}",
				"UPDATE api_keys SET limits = '{shape}' WHERE id = '{key}'",
				"UPDATE api_keys SET limits = '{}' WHERE id = '{key}'", "[]", "5", `{"create":"x"}`),
			otherShape("KeyNetworks", proof.RecordBroken, "{key}",
				"UPDATE api_keys SET networks = '{shape}' WHERE id = '{key}'",
				"UPDATE api_keys SET networks = '' WHERE id = '{key}'", "nowhere"),
			otherShape("ApprovalOfAnotherShape", proof.RecordBroken, "approval",
				`INSERT INTO approvals (id, kind, target_id, target_name, deed, requested_by, requester, requested_at,
					expires_at, status) VALUES ('approval', 'x', 'x', 'x', '{shape}', '{admin}', 'x', 1, 1, 'open')`,
				"DELETE FROM approvals WHERE id = 'approval'", "[]", "5", `"x"`),
			otherShape("DraftOfAnotherShape", proof.RecordBroken, "{fake}",
				`INSERT INTO verdict_drafts (order_id, staff_id, version, draft, updated_at)
					VALUES ('{fake}', '{admin}', 1, '{shape}', 1)`,
				"DELETE FROM verdict_drafts WHERE order_id = '{fake}'", "[]", "5"),
			otherShape("EventOfAnotherShape", proof.RecordBroken, "{fake}",
				"CREATE TABLE hidden AS SELECT * FROM events; UPDATE events SET body = '{shape}' WHERE order_id = '{fake}'",
				"DELETE FROM events; "+hideRows("events", "").undo, "[]", "5", "null"),
			otherShape("DeliveryOfAnotherShape", proof.RecordBroken, "{fake}",
				`INSERT INTO deliveries (id, endpoint_id, account_id, environment, event, body, created_at)
					VALUES ('{fake}', 'e', '{account}', 'live', 'order-outcome', '{shape}', 1)`,
				"DELETE FROM deliveries WHERE id = '{fake}'", "[]", "5", "null"),
			otherShape("CreationOfAnotherShape", proof.OrderFacts, "{open}",
				saved("orders", "creation", "id = '{open}'"), restored("orders", "creation", "id = '{open}'"),
				"[]", `{"photos":5}`, `"x"`, "null", "{}"),
			otherShape("FactsOfAnotherShape", proof.OrderFacts, "{open}",
				saved("orders", "facts", "id = '{open}'"), restored("orders", "facts", "id = '{open}'"),
				"[]", `{"reasons":5}`, `"x"`, "null", "{}"),
			otherShape("StepOfAnotherShape", proof.OrderFacts, "{fake}",
				saved("order_events", "details", "order_id = '{fake}' AND seq = 1"),
				restored("order_events", "details", "order_id = '{fake}' AND seq = 1"), "[]", "5", `"x"`),
		) {
			t.Run(c.name, func(t *testing.T) {
				rawsql.Exec(t, target, names.Replace(c.change.do))
				r := deep()
				rawsql.Exec(t, target, names.Replace(c.change.undo))
				wantProblems(t, r, c.want...)
				found := false
				for _, p := range r.Problems {
					found = found || p.ID == names.Replace(c.id) && p.Message != ""
				}
				if !found {
					t.Errorf("no problem has the id %q: %+v", names.Replace(c.id), r.Problems)
				}
			})
		}
		wantProblems(t, deep())
	})
}
