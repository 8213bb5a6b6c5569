package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// insertOrders makes an account with a Live order for each external id, "" for none, and returns the account's id and
// the orders'.
func insertOrders(t *testing.T, s *store.Store, name string, externalIDs ...string) (accountID string, ids []string) {
	t.Helper()
	at := time.UnixMicro(1).UTC()
	a := &access.Account{ID: uuid7.New(), Name: name, Locale: text.English, CreatedAt: at}
	u := &access.User{ID: uuid7.New(), AccountID: a.ID, Email: name + "@acme.example", Role: access.Owner, CreatedAt: at}
	k := &access.Key{
		ID: uuid7.New(), Tenant: access.Tenant{AccountID: a.ID, Environment: access.Live}, Name: name,
		CreatedBy: u.ID, CreatedAt: at,
	}
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		if err := errors.Join(tx.InsertAccount(a), tx.InsertUser(u), tx.InsertKey(k, name)); err != nil {
			return err
		}
		for _, externalID := range externalIDs {
			o := &order.Order{
				ID: uuid7.New(), AccountID: a.ID, Environment: access.Live, APIKeyID: k.ID, Status: order.Queued,
				AnswerTime: 60, DueAt: &at,
				CreatedAt: at, UpdatedAt: at,
			}
			if externalID != "" {
				o.ExternalID = &externalID
			}
			if err := tx.CreateOrder(&store.Creation{Order: o}); err != nil {
				return err
			}
			ids = append(ids, o.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID, ids
}

func TestFindOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		_, others := insertOrders(t, s, "other", "")
		account, ids := insertOrders(t, s, "acme", "bag", "bag", others[0])
		tests := []struct {
			name, key string
			env       access.Environment
			want      string // empty: not found
		}{
			{"ID", ids[0], access.Live, ids[0]},
			{"ExternalIDNewest", "bag", access.Live, ids[1]},
			{"ExternalIDThatIsAnotherAccountsID", others[0], access.Live, ids[2]},
			{"OtherEnvironment", ids[0], access.Test, ""},
			{"ExternalIDInOtherEnvironment", "bag", access.Test, ""},
			{"Unknown", uuid7.New(), access.Live, ""},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				o, err := s.FindOrder(t.Context(), access.Tenant{AccountID: account, Environment: tt.env}, tt.key)
				if tt.want == "" {
					if !errors.Is(err, store.ErrNotFound) {
						t.Fatalf("got %+v, %v, want ErrNotFound", o, err)
					}
					return
				}
				if err != nil || o.ID != tt.want {
					t.Errorf("got %+v, %v, want %s", o, err, tt.want)
				}
			})
		}
	})
}

// TestTimelineAfterClockStep: the timeline shows what was written first, whatever the clock said.
func TestTimelineAfterClockStep(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		_, ids := insertOrders(t, s, "acme", "")
		steps := []struct {
			event string
			at    time.Time
		}{{"created", time.UnixMicro(1)}, {"claimed", time.UnixMicro(9000)}, {"completed", time.UnixMicro(5000)}}
		for _, step := range steps[1:] {
			if err := s.Update(t.Context(), func(tx *store.Tx) error {
				return tx.AppendTimeline(ids[0], &order.TimelineEntry{At: step.at, Event: step.event})
			}); err != nil {
				t.Fatal(err)
			}
		}
		timeline, err := s.Timeline(t.Context(), ids[0])
		if err != nil || len(timeline) != len(steps) {
			t.Fatalf("Timeline = %v, %v", timeline, err)
		}
		for i, step := range steps {
			if timeline[i].Event != step.event {
				t.Errorf("entry %d is %q, want %q", i, timeline[i].Event, step.event)
			}
		}
	})
}
