package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

var morning = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// TestAccounts makes accounts and finds them again.
func TestAccounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		s := node(st, fakeclock.New(morning))
		made, err := s.CreateAccount(t.Context(), access.System, "Acme", "Owner@Acme.example", text.Japanese)
		must.NoError(t, err)
		t.Run("Made", func(t *testing.T) {
			a, err := st.Account(t.Context(), made.Account.ID)
			if err != nil || a.Name != "Acme" || a.Locale != text.Japanese || !a.CreatedAt.Equal(morning) {
				t.Errorf("the account is %+v (%v)", a, err)
			}
			owner, err := st.Owner(t.Context(), made.Account.ID)
			if err != nil || owner.Email != "owner@acme.example" || owner.Role != access.Owner {
				t.Fatalf("the owner is %+v (%v)", owner, err)
			}
			if ok, err := access.VerifyPassword(t.Context(), owner.PasswordHash, made.Password); err != nil || !ok {
				t.Errorf("the password does not open the account: %v", err)
			}
		})
		t.Run("NameTaken", func(t *testing.T) {
			if _, err := s.CreateAccount(t.Context(), access.System, "Acme", "other@acme.example", text.English); err == nil ||
				!strings.Contains(err.Error(), `"Acme"`) {
				t.Errorf("a second account of the name: %v", err)
			}
		})
		t.Run("EmailTakenInAnyCase", func(t *testing.T) {
			if _, err := s.CreateAccount(t.Context(), access.System, "Other", "OWNER@acme.example", text.English); err == nil ||
				!strings.Contains(err.Error(), "owner@acme.example") {
				t.Errorf("a second user of the email: %v", err)
			}
			if _, err := st.AccountByName(t.Context(), "Other"); err == nil {
				t.Error("the account was made without its owner")
			}
		})
		t.Run("Refused", func(t *testing.T) {
			for name, email := range map[string]string{"": "a@b.example", "Fine": "nobody"} {
				if _, err := s.CreateAccount(t.Context(), access.System, name, email, text.English); err == nil {
					t.Errorf("an account %q of %q was made", name, email)
				}
			}
		})
		t.Run("Found", func(t *testing.T) {
			for _, by := range []string{made.Account.ID, strings.ToUpper(made.Account.ID), "Acme"} {
				if a, err := s.FindAccount(t.Context(), access.Operator, by); err != nil || a.ID != made.Account.ID {
					t.Errorf("%q finds %v (%v)", by, a, err)
				}
			}
			for _, by := range []string{"", "acme", "Acme ", uuid7.New()} {
				if a, err := s.FindAccount(t.Context(), access.Operator, by); err == nil {
					t.Errorf("%q finds %v", by, a)
				}
			}
		})
	})
}

// TestGrantCredits changes balances.
func TestGrantCredits(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		s := node(st, fakeclock.New(morning))
		made, err := s.CreateAccount(t.Context(), access.System, "Acme", "owner@acme.example", text.English)
		must.NoError(t, err)
		live := access.Tenant{AccountID: made.Account.ID, Environment: access.Live}
		grant := func(amount int64) (int64, error) {
			return s.GrantCredits(t.Context(), access.System, live, amount, "a reason")
		}
		t.Run("UpAndDown", func(t *testing.T) {
			for _, step := range []struct{ amount, want int64 }{{100, 100}, {-40, 60}, {-60, 0}} {
				if got, err := grant(step.amount); err != nil || got != step.want {
					t.Errorf("%+d leaves %d (%v), not %d", step.amount, got, err, step.want)
				}
			}
		})
		t.Run("NeverNegative", func(t *testing.T) {
			if got, err := grant(-1); fault.CodeOf(err) != "not-enough-credits" {
				t.Errorf("-1 leaves %d (%v)", got, err)
			}
		})
		t.Run("NeverTooLarge", func(t *testing.T) {
			if got, err := grant(1 << 62); err == nil {
				t.Errorf("a huge grant leaves %d", got)
			}
		})
		t.Run("Nothing", func(t *testing.T) {
			if _, err := grant(0); fault.CodeOf(err) != fault.CodeValidation {
				t.Errorf("a grant of nothing: %v", err)
			}
		})
		t.Run("NeedsANote", func(t *testing.T) {
			if _, err := s.GrantCredits(t.Context(), access.System, live, 1, " "); err == nil {
				t.Error("a grant without a reason was made")
			}
		})
		t.Run("Ledger", func(t *testing.T) {
			entries, total, err := st.LedgerPage(t.Context(), made.Account.Tenant(access.Live), 1, 10)
			if err != nil || total.Entries != 3 || entries[2].Amount != 100 || entries[2].Note != "a reason" ||
				entries[0].Seq != 3 {
				t.Errorf("the ledger has %d entries: %+v (%v)", total.Entries, entries, err)
			}
		})
	})
}
