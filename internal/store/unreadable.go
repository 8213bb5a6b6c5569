package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/db"
)

// UnreadableOrder is the error of an order whose stored form is broken.
type UnreadableOrder struct {
	ID    string
	cause error
}

func (e *UnreadableOrder) Error() string {
	return fmt.Sprintf("order %s cannot be read: %v", e.ID, e.cause)
}

// Unwrap returns what is wrong with the stored form.
func (e *UnreadableOrder) Unwrap() error { return e.cause }

// readable names the order of an error in its stored form; nil is none.
func readable(orderID string, err error) error {
	if err == nil {
		return nil
	}
	return &UnreadableOrder{ID: orderID, cause: err}
}

// OrderColumns returns what the columns of an order tell, whether or not the rest can be read.
func (q Queries) OrderColumns(ctx context.Context, id string) (*order.Order, error) {
	var o order.Summary
	err := q.db.Record(ctx, "SELECT "+allColumns.text+" FROM orders AS o WHERE o.id = $1", []any{id},
		func(r *db.Record) error { return listed(allColumns, r, &o) })
	return &o.Order, err
}

// RepairOrder replaces what cannot be read of an order by what its columns tell, and returns what was there, by the
// name of its place. classify names what the columns have codes of. The caller is about to change the order.
func (t *Tx) RepairOrder(
	id string, classify func(categoryCode, brandCode string) order.Classification,
) (was map[string]string, err error) {
	var category, brand, facts, created, keyName string
	err = t.db.Row(t.Context(), `SELECT category_code, brand_code, facts, creation,
		(SELECT name FROM api_keys WHERE api_keys.id = orders.api_key_id) FROM orders WHERE id = $1`+t.db.Dialect.ForUpdate,
		[]any{id}, &category, &brand, &facts, &created, &keyName)
	if err != nil {
		return nil, err
	}
	was = make(map[string]string)
	replace := func(place, from, to, where string, args ...any) error {
		was[place] = from
		return t.db.One("UPDATE "+where, append([]any{to, id}, args...)...)
	}
	if recorded, broken := order.DecodeRecorded(facts); broken != nil || recorded.Classification.CategoryCode == "" {
		rest, err := json.Marshal(&order.Recorded{Classification: classify(category, brand)})
		if err != nil {
			return nil, err
		}
		if err := replace("facts", facts, string(rest), "orders SET facts = $1 WHERE id = $2"); err != nil {
			return nil, err
		}
	}
	if decodeCreation(created, new(creation)) != nil {
		rest, err := encodeCreation(keyName, nil)
		if err != nil {
			return nil, err
		}
		if err := replace("creation", created, rest, "orders SET creation = $1 WHERE id = $2"); err != nil {
			return nil, err
		}
	}
	events, err := db.Pairs[int64, string](t.Context(), t.db.Queries,
		"SELECT seq, details FROM order_events WHERE order_id = $1", id)
	if err != nil {
		return nil, err
	}
	for seq, details := range events {
		if _, broken := decodeDetails(details); broken == nil {
			continue
		}
		if err := replace(fmt.Sprintf("timeline %d", seq), details, "{}",
			"order_events SET details = $1 WHERE order_id = $2 AND seq = $3", seq); err != nil {
			return nil, err
		}
	}
	return was, nil
}
