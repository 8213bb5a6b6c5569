package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// These tests bound what the requests that matter ask of the database, as counts: times would depend on the machine.

// buyer makes orders of an account with three photos.
type buyer struct {
	store  *store.Store
	tenant access.Tenant
	keyID  string
	photos []order.Photo
	made   int
}

func newBuyer(t *testing.T, s *store.Store) *buyer {
	t.Helper()
	at := time.UnixMicro(1).UTC()
	b := &buyer{store: s, tenant: access.Tenant{AccountID: uuid7.New(), Environment: access.Live}, keyID: uuid7.New()}
	user := uuid7.New()
	var stored []photo.Stored
	for range 3 {
		name := photo.NewName(photo.PNG)
		b.photos = append(b.photos, order.Photo{Name: name, IndexCode: "overall"})
		stored = append(stored, photo.Stored{Name: name, Tenant: b.tenant, CreatedAt: at})
	}
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		for _, step := range []func() error{
			func() error {
				return tx.InsertAccount(&access.Account{ID: b.tenant.AccountID, Name: user, Locale: text.English, CreatedAt: at})
			},
			func() error {
				return tx.InsertUser(&access.User{
					ID: user, AccountID: b.tenant.AccountID, Email: user, Role: access.Owner, CreatedAt: at,
				})
			},
			func() error {
				return tx.InsertKey(&access.Key{ID: b.keyID, Tenant: b.tenant, Name: "key", CreatedBy: user, CreatedAt: at}, user)
			},
			func() error { return tx.InsertPhotos(stored) },
			func() error {
				_, err := tx.Grant(b.tenant, 1_000_000, "", at)
				return err
			},
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *buyer) creation() *store.Creation {
	b.made++
	at := time.UnixMicro(int64(b.made)).UTC()
	external := fmt.Sprint("order ", b.made)
	o := &order.Order{
		ID: uuid7.New(), AccountID: b.tenant.AccountID, Environment: b.tenant.Environment, APIKeyID: b.keyID,
		ExternalID: &external, Status: order.Queued, AnswerTime: 60, Price: 1, DueAt: &at, CreatedAt: at, UpdatedAt: at,
		Recorded: order.Recorded{Classification: order.Classification{
			CategoryCode: "bags", CategoryName: text.Text{EN: "Bags"}, BrandCode: "prada", BrandName: text.Text{EN: "Prada"},
		}},
	}
	return &store.Creation{
		Order: o, Photos: b.photos, KeyName: "key", Answer: func() ([]byte, error) { return []byte(o.ID), nil },
		Idempotency: &store.Idempotency{Key: external, BodyHash: "hash", Since: time.UnixMicro(0)},
	}
}

// TestCreationStatements bounds the statements of a group of orders: they do not grow with the group.
func TestCreationStatements(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := newBuyer(t, s)
		for _, size := range []int{1, 32} {
			group := make([]*store.Creation, size)
			for i := range group {
				group[i] = b.creation()
			}
			must.NoError(t, s.PrepareOrders(t.Context(), group...))
			texts, err := s.Statements(t.Context(), func(tx *store.Tx) error { return tx.CreateOrders(group...) })
			if err != nil {
				t.Fatal(err)
			}
			// The photos, three in two lists, and the balance are read; keys, photos, balance, ledger and orders are written.
			const most = 2*2 + 1 + 1 + 5
			if len(texts) > most {
				t.Errorf("%d orders take %d statements, want at most %d: %q", size, len(texts), most, texts)
			}
		}
	})
}

// detail reads one of the orders.
func (b *buyer) detail(t *testing.T, made *store.Creation) error {
	_, err := b.store.ShownOrder(t.Context(), b.tenant, made.Order.ID)
	return err
}

// list reads the newest ten orders.
func (b *buyer) list(t *testing.T) error {
	_, err := b.store.NewestOrders(t.Context(), b.tenant, 1, 10, func(*order.Order) {})
	return err
}

// TestAllocations bounds the allocations of the reads with every request, and of a creation.
func TestAllocations(t *testing.T) {
	s := storetest.Open(t, filepath.Join(t.TempDir(), "assay.db"))
	b := newBuyer(t, s)
	create := func() {
		if err := s.CreateOrder(t.Context(), "row", b.creation()); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		create()
	}
	last := b.creation()
	if err := s.CreateOrder(t.Context(), "row", last); err != nil {
		t.Fatal(err)
	}
	bound(t, "allocations", func(run func()) int { return int(testing.AllocsPerRun(50, run)) },
		bounded{"Create", 108, func() error { create(); return nil }},
		bounded{"Detail", 18, func() error { return b.detail(t, last) }},
		bounded{"ListOfTen", 32, func() error { return b.list(t) }},
	)
}

// bounded is something that may cost so much at most.
type bounded struct {
	name string
	most int
	run  func() error
}

// bound checks what each of them costs, as count counts it.
func bound(t *testing.T, what string, count func(run func()) int, all ...bounded) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			got := count(func() { must.NoError(t, c.run()) })
			t.Logf("%d %s", got, what)
			if got > c.most {
				t.Errorf("%d %s, want at most %d", got, what, c.most)
			}
		})
	}
}

// roundTrips counts what is sent to PostgreSQL and waited for.
type roundTrips struct{ n atomic.Int64 }

func (r *roundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	r.n.Add(1)
	return ctx
}

func (r *roundTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *roundTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	r.n.Add(1)
	return ctx
}

func (r *roundTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (r *roundTrips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TestRoundTrips bounds how often PostgreSQL is waited for.
func TestRoundTrips(t *testing.T) {
	trips := new(roundTrips)
	s, err := store.OpenTraced(t.Context(), pgtest.Database(t), trips)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.SealLogs(audit.NewChain([]byte("key")))
	b := newBuyer(t, s)
	first := b.creation()
	if err := s.CreateOrder(t.Context(), "row", first); err != nil {
		t.Fatal(err)
	}
	counted := func(run func()) int {
		before := trips.n.Load()
		run()
		return int(trips.n.Load() - before)
	}
	bound(t, "round trips", counted,
		bounded{"Create", 2, func() error { return s.CreateOrder(t.Context(), "row", b.creation()) }}, // and one for its key
		bounded{"Key", 1, func() error {
			_, err := s.Remembered(t.Context(), b.tenant, "order 1", time.UnixMicro(0))
			return err
		}},
		bounded{"Detail", 1, func() error { return b.detail(t, first) }},
		bounded{"List", 1, func() error { return b.list(t) }},
	)
}
