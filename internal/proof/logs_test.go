package proof_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// cutting is a log whose end is cut off in SQL, with its counter and its head.
type cutting struct {
	log               string
	table             string
	owner, head, seed string // the table with the head, its column, and what it is for an empty log
	count             string
	want              proof.ProblemKind
}

var cuttings = []cutting{
	{"Audit", "audit_events", "accounts", "audit_head", "", "audit_count", proof.AuditHead},
	{"Portal", "portal_events", "accounts", "portal_head", "portal", "portal_count", proof.PortalHead},
	{"Staff", "staff_actions", "staff_actions_head", "head", "", "entries", proof.StaffHead},
}

// TestLogCutOff: whoever can write the database, but has not the secret key, cannot take the newest entries of a log
// away unseen: not with its counter and its head, and not all of them.
func TestLogCutOff(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		for _, name := range []string{"a", "b", "c"} {
			_, err := s.Service.CreateStaff(t.Context(), access.Operator, name+"@assay.test", name, access.Admin)
			must.NoError(t, err)
		}
		wantProblems(t, check(t, s))
		for _, c := range cuttings {
			last := rawsql.Rows(t, target, "SELECT MAX(seq), MAX(seq) - 1 FROM "+c.table)[0]
			kept := rawsql.Rows(t, target, "SELECT "+c.head+", "+c.count+" FROM "+c.owner)[0]
			before := rawsql.Rows(t, target, "SELECT hash FROM "+c.table+" WHERE seq = "+last[1])[0][0]
			set := func(head, count string) {
				rawsql.Exec(t, target, fmt.Sprintf("UPDATE %s SET %s = '%s', %s = %s", c.owner, c.head, head, c.count, count))
			}
			hide := func(where string) {
				rawsql.Exec(t, target, hideRows(c.table, where).do)
			}
			unhide := func() { rawsql.Exec(t, target, hideRows(c.table, "").undo) }
			_, seal, _ := strings.Cut(kept[0], ".")
			for name, head := range map[string]string{
				"": before, "WithTheSealOfAnother": before + "." + seal,
				"WithASealOfAnotherKey": audit.NewChain(nil).SealHead(&audit.Head{Hash: before}),
			} {
				t.Run(c.log+name, func(t *testing.T) {
					hide("seq = " + last[0])
					set(head, last[1])
					r := check(t, s)
					unhide()
					wantProblems(t, r, c.want)
				})
			}
			t.Run(c.log+"Emptied", func(t *testing.T) {
				hide("seq > 0")
				set(c.seed, "0")
				r := check(t, s)
				unhide()
				wantProblems(t, r, c.want)
			})
			set(kept[0], kept[1])
		}
		wantProblems(t, check(t, s))
	})
}

// TestUnsealedHead: a head that was written without a seal is told of, and sealed by the next entry.
func TestUnsealedHead(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		_, err := s.Service.CreateStaff(t.Context(), access.Operator, "a@assay.test", "A", access.Admin)
		must.NoError(t, err)
		for _, c := range cuttings {
			rawsql.Exec(t, target, fmt.Sprintf("UPDATE %s SET %s = substr(%[2]s, 1, 64)", c.owner, c.head))
		}
		r := check(t, s)
		wantProblems(t, r, proof.AuditHead, proof.PortalHead, proof.StaffHead)
		for _, p := range r.Problems {
			if !strings.Contains(p.Message, "has no seal") {
				t.Errorf("the problem does not say what is missing: %+v", p)
			}
		}
		_, _, err = s.Service.CreateKey(t.Context(), access.Operator, service.NewKey{
			Tenant: access.Tenant{AccountID: s.Account.ID, Environment: access.Test}, Name: "k", Scopes: access.AllScopes,
		})
		must.NoError(t, err)
		wantProblems(t, check(t, s))
	})
}

// TestTrimmedLogCutShort: where a log of the portal begins is sealed, so that no more than the program has removed can
// be taken away from its beginning, even when what the log said of that was erased.
func TestTrimmedLogCutShort(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Clock.Advance(time.Hour)
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.TrimPortalLog(s.Account.ID, s.Clock.Now(), s.Clock.Now(), 1); err != nil {
				return err
			}
			_, err := tx.EraseEvents(store.Erasure{}, audit.PortalLog, s.Account.ID, 0, 100)
			return err
		}))
		wantProblems(t, check(t, s))
		rawsql.Exec(t, target, "UPDATE accounts SET portal_gone = 2, "+
			"portal_anchor = (SELECT hash FROM portal_events WHERE seq = 2)")
		rawsql.Exec(t, target, "DELETE FROM portal_events WHERE seq = 2")
		wantProblems(t, check(t, s), proof.PortalTrimmed)
	})
}

// TestTrimmedLogTampered: an entry about removed ones that cannot be read is told of, and does not end the check.
func TestTrimmedLogTampered(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Clock.Advance(time.Hour)
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.TrimPortalLog(s.Account.ID, s.Clock.Now(), s.Clock.Now(), 1)
			return err
		}))
		wantProblems(t, check(t, s))
		for _, metadata := range []string{`no JSON`, `{"through": "1"}`, `{"through": 1, "through": "x"}`} {
			rawsql.Exec(t, target, "UPDATE portal_events SET metadata = '"+metadata+"' WHERE code = '"+
				string(audit.LogTrimmed)+"'")
			wantProblems(t, check(t, s), proof.PortalHash, proof.PortalTrimmed)
		}
	})
}
