// Package outbox fills a database with webhook endpoints and deliveries, for tests and benchmarks of the sender. It
// creates an account with an API key, and queues events without orders.
package outbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// Secret is the signing secret or client secret of every endpoint.
const Secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// SecretKey is the key of the installation that the secrets are encrypted with.
const SecretKey = "the secret key of tests, which is long enough"

// Outbox is the account that receives the events.
type Outbox struct {
	Store   *store.Store
	Secrets *secret.Box
	Account *access.Account
	Key     *access.Key
}

// New creates an account with an API key of the Test environment.
func New(ctx context.Context, s *store.Store) (*Outbox, error) {
	box, err := secret.New(SecretKey)
	if err != nil {
		return nil, err
	}
	id, now := uuid7.New(), time.UnixMicro(1_700_000_000_000_000).UTC()
	o := &Outbox{
		Store: s, Secrets: box,
		Account: &access.Account{ID: id, Name: "Account " + id, Locale: text.English, CreatedAt: now},
	}
	owner := &access.User{
		ID: uuid7.New(), AccountID: id, Email: id + "@example.com", Role: access.Owner, PasswordHash: "-", CreatedAt: now,
	}
	o.Key = &access.Key{
		ID: uuid7.New(), Tenant: access.Tenant{AccountID: id, Environment: access.Test}, Name: "key",
		Scopes: access.AllScopes, Limits: map[string]int{}, CreatedBy: owner.ID, CreatedAt: now,
	}
	err = s.Update(ctx, func(tx *store.Tx) error {
		if err := tx.InsertAccount(o.Account); err != nil {
			return err
		}
		if err := tx.InsertUser(owner); err != nil {
			return err
		}
		return tx.InsertKey(o.Key, o.Key.ID)
	})
	return o, err
}

// Endpoint registers an endpoint for both events. oauth is nil for signed deliveries.
func (o *Outbox) Endpoint(ctx context.Context, url string, oauth *webhook.OAuth) (*webhook.Endpoint, error) {
	e := &webhook.Endpoint{
		ID: uuid7.New(), Tenant: o.Key.Tenant, APIKeyID: o.Key.ID, URL: url,
		Events: webhook.Events, CreatedAt: o.Account.CreatedAt, OAuth: oauth,
	}
	e.SealedSecret = o.Secrets.Seal(Secret, e.ID)
	return e, o.Store.Update(ctx, func(tx *store.Tx) error { return tx.InsertEndpoint(e, url) })
}

const batch = 500 // deliveries in one transaction

// Queue queues n events per endpoint, alternating between endpoints, and returns the deliveries in queue order.
func (o *Outbox) Queue(
	ctx context.Context, endpoints []*webhook.Endpoint, n int, due time.Time,
) ([]*webhook.Delivery, error) {
	total := n * len(endpoints)
	all := make([]*webhook.Delivery, 0, total)
	for len(all) < total {
		group := make([]*webhook.Delivery, 0, batch)
		for i := len(all); i < min(len(all)+batch, total); i++ {
			group = append(group, event(endpoints[i%len(endpoints)].ID, i, due))
		}
		first := len(all)
		err := o.Store.Update(ctx, func(tx *store.Tx) error {
			for i, d := range group {
				if err := tx.InsertDelivery(d, endpoints[(first+i)%len(endpoints)]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, group...)
	}
	return all, nil
}

// event returns a delivery with a body of typical size.
func event(endpointID string, n int, due time.Time) *webhook.Delivery {
	id := uuid7.New()
	body := fmt.Appendf(nil, `{"webhook_event":"order-outcome","delivery_id":%q,"number":%d,"padding":%q}`, id, n, padding)
	return &webhook.Delivery{ID: id, EndpointID: endpointID, Event: webhook.OrderOutcome, Body: body, CreatedAt: due}
}

var padding = strings.Repeat("abcdefghijklmnopqrstuvwxyz", 27)

// Release makes all later deliveries due at the given time.
func (o *Outbox) Release(ctx context.Context, target string, due time.Time) error {
	return rawsql.Run(ctx, target,
		fmt.Sprintf("UPDATE delivery_queue SET due_at = %[1]d WHERE due_at > %[1]d", due.UnixMicro()))
}

// History adds n finished deliveries to an endpoint.
func (o *Outbox) History(ctx context.Context, target string, e *webhook.Endpoint, n int) error {
	if err := rawsql.Run(ctx, target,
		fmt.Sprintf(`INSERT INTO deliveries (id, endpoint_id, account_id, environment, event, body, created_at)
			WITH RECURSIVE past (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM past WHERE i < %d)
			SELECT '00000000-0000-7000-8000-' || CAST(100000000000 + i AS TEXT), '%s', '%s', 'test', 'order-outcome',
				'{"padding":"%s"}', i FROM past`,
			n, e.ID, e.AccountID, padding[:100])); err != nil {
		return err
	}
	return rawsql.Run(ctx, target,
		`INSERT INTO delivery_attempts (delivery_id, number, at, duration, http_status, failure, answer, ended, kept)
			SELECT id, 1, created_at, 1000, 200, '', '', 'delivered', 1 FROM deliveries WHERE id < '00000000-0000-7000-9'`)
}
