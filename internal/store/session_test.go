package store_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestUnknownSignIn checks that a failed sign-in runs the same number of statements and writes for known and unknown
// emails, so that its duration does not reveal which it was.
func TestUnknownSignIn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		account := &access.Account{ID: uuid7.New(), Name: "Acme", Locale: "en", CreatedAt: noon}
		if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(account) }); err != nil {
			t.Fatal(err)
		}
		work := func(f func(*store.Tx) error) (statements, writes int) {
			t.Helper()
			texts, err := s.Statements(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				if !strings.HasPrefix(strings.TrimSpace(text), "SELECT") {
					writes++
				}
			}
			return len(texts), writes
		}
		for range 2 { // the first of all makes the row
			known, knownWrites := work(func(tx *store.Tx) error {
				return tx.AppendAudit(&audit.Event{
					AccountID: account.ID, UserID: uuid7.New(), At: noon, Code: audit.LoginFailed,
					Actor:    audit.Actor{Type: audit.ByUser, ID: uuid7.New(), Name: "a@b.example", Source: audit.FromPortal},
					Target:   audit.Target{Type: audit.TargetUser, ID: uuid7.New()},
					Metadata: map[string]any{"reason": "wrong-password"},
				})
			})
			unknown, unknownWrites := work(func(tx *store.Tx) error { return tx.CountUnknownSignIn() })
			if known != unknown || knownWrites != unknownWrites || known == 0 {
				t.Errorf("a known email takes %d statements (%d writes), an unknown one %d (%d)", known, knownWrites, unknown,
					unknownWrites)
			}
		}
	})
}
