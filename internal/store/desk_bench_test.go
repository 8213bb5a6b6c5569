package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/testkit/pgtest"
)

// BenchmarkDesk measures what a reviewer waits for, with few and with many orders behind it: a page of the queue, a page
// of everything, and taking the next order. An operation must cost the same at every size.
//
//	go test ./internal/store -run '^$' -bench Desk -benchtime 300x
func BenchmarkDesk(b *testing.B) {
	engines := []struct {
		name   string
		target func(*testing.B) string
	}{
		{"sqlite", func(b *testing.B) string { return filepath.Join(b.TempDir(), "assay.db") }},
		{"postgres", func(b *testing.B) string { return pgtest.Database(b) }},
	}
	for _, engine := range engines {
		for _, size := range []int{1_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", engine.name, size), func(b *testing.B) {
				s, err := Open(b.Context(), engine.target(b))
				if err != nil {
					b.Fatal(err)
				}
				defer func() {
					if err := s.Close(); err != nil {
						b.Error(err)
					}
				}()
				if err := fillDesk(b.Context(), s, size); err != nil {
					b.Fatal(err)
				}
				benchmarkDesk(b, s)
			})
		}
	}
}

func benchmarkDesk(b *testing.B, s *Store) {
	for name, f := range map[string]DeskFilter{
		"Queue": {Environment: access.Live, Status: order.Queued}, "All": {Environment: access.Live}, "Completed": {Environment: access.Live, Status: order.Completed},
	} {
		b.Run("Page"+name, func(b *testing.B) {
			for b.Loop() {
				if rows, _, err := s.DeskPage(b.Context(), f, 1, 50); err != nil || len(rows) != 50 {
					b.Fatal(len(rows), err)
				}
			}
		})
	}
	undone := errors.New("undone, so that the queue does not run empty")
	b.Run("Next", func(b *testing.B) {
		for b.Loop() {
			err := s.Update(b.Context(), func(tx *Tx) error {
				id, err := tx.NextQueued()
				if err != nil {
					return err
				}
				o, err := tx.OrderForUpdate(id)
				if err != nil {
					return err
				}
				if err := o.Apply(order.Claim, time.UnixMicro(1)); err != nil {
					return err
				}
				o.AssignTo("reviewer", time.UnixMicro(1))
				return errors.Join(tx.UpdateOrder(o), undone)
			})
			if !errors.Is(err, undone) {
				b.Fatal(err)
			}
		}
	})
}

// fillDesk makes orders of one account, a fifth of them queued and the others completed.
func fillDesk(ctx context.Context, s *Store, size int) error {
	const account, user, key = "0190a000-0000-7000-8000-000000000001", "0190a000-0000-7000-8000-000000000002", "0190a000-0000-7000-8000-000000000003"
	at := time.UnixMicro(1)
	if err := s.Update(ctx, func(tx *Tx) error {
		return errors.Join(
			tx.InsertAccount(&access.Account{ID: account, Name: "Acme", Locale: text.English, CreatedAt: at}),
			tx.InsertUser(&access.User{ID: user, AccountID: account, Email: "a@example.com", Role: access.Owner, PasswordHash: "-", CreatedAt: at}),
			tx.InsertKey(&access.Key{ID: key, AccountID: account, Environment: access.Live, Name: "key", Limits: map[string]int{}, CreatedBy: user, CreatedAt: at}, "hash"),
		)
	}); err != nil {
		return err
	}
	const batch = 100_000
	for done := 0; done < size; done += batch {
		if err := s.Update(ctx, func(tx *Tx) error { return tx.fillDesk(account, key, done, min(done+batch, size)) }); err != nil {
			return err
		}
	}
	return s.Update(ctx, func(tx *Tx) error {
		if _, err := tx.exec("UPDATE balances SET orders = $1 WHERE environment = 'live'", size); err != nil {
			return err
		}
		_, err := tx.exec("UPDATE live_order_counts SET orders = $1 WHERE status = 'completed'", size-size/5)
		return err
	})
}

func (t *Tx) fillDesk(account, key string, after, last int) error {
	_, err := t.exec(`INSERT INTO orders (id, account_id, environment, api_key_id, seq, number, status, outcome, answer_time, price, due_at, created_at, updated_at,
		ended_at, facts)
		WITH RECURSIVE n (i) AS (SELECT CAST($1 AS BIGINT) + 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($2 AS BIGINT))
		SELECT 'order-' || CAST(10000000 + i AS TEXT), $3, 'live', $4, i, 'AS-' || CAST(i AS TEXT), CASE WHEN i % 5 = 0 THEN 'queued' ELSE 'completed' END,
			CASE WHEN i % 5 = 0 THEN NULL ELSE 'authentic' END, 60, 1, i * 1000, i, i, CASE WHEN i % 5 = 0 THEN NULL ELSE i END,
			'{"classification":{"category_code":"bags","category_name":{"en":"Bags"},"brand_code":"chanel","brand_name":{"en":"Chanel"}}}' FROM n`,
		after, last, account, key)
	return err
}
