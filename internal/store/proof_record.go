package store

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/db"
)

// storedTexts are the texts that the program reads besides those of orders and logs, each with the way in which that is
// done. Those of the large tables are read by deep checks.
var storedTexts = []struct {
	table, id, column string
	large             bool
	read              func(text string) error
}{
	{"api_keys", "id", "limits", false, readAs(access.Key{}.Limits)},
	{"api_keys", "id", "networks", false, readNetworks},
	{"staff", "id", "token_networks", false, readNetworks},
	{"approvals", "id", "deed", false, readAs(access.ApprovedDeed{})},
	{"verdict_drafts", "order_id", "draft", true, readAs(order.VerdictDraft{})},
	{"events", "order_id", "body", true, readObject},
	{"deliveries", "id", "body", true, readObject},
}

// readAs reads a text as a value of the type of another one.
func readAs[T any](T) func(text string) error {
	return func(text string) error { return json.Unmarshal([]byte(text), new(T)) }
}

func readNetworks(text string) error {
	_, err := parseNetworks(text)
	return err
}

// readObject reads what is passed on as it is: an object of JSON.
func readObject(text string) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &object)
	if err == nil && object == nil {
		err = errors.New("no object")
	}
	return err
}

// UnreadableTexts calls f for every text that the program cannot read, with the id of its row or of its order. figures
// reads those of a day of the statistics.
func (q Queries) UnreadableTexts(
	ctx context.Context, large bool, figures func(text string) error, f func(table, id string, cause error),
) error {
	look := func(table, id, column string, read func(text string) error) error {
		return q.db.Rows(ctx, "SELECT "+id+", "+column+" FROM "+table, nil, func(scan db.Scanner) error {
			var id, text string
			if err := scan(&id, &text); err != nil {
				return err
			}
			if cause := read(text); cause != nil {
				f(table, id, cause)
			}
			return nil
		})
	}
	if err := look("daily_statistics", "day", "figures", figures); err != nil {
		return err
	}
	for _, from := range storedTexts {
		if from.large && !large {
			continue
		}
		if err := look(from.table, from.id, from.column, from.read); err != nil {
			return err
		}
	}
	return nil
}

// UnreadableSteps calls f for every step in the timelines of orders whose details cannot be read.
func (q Queries) UnreadableSteps(ctx context.Context, f func(orderID, event string)) error {
	return q.db.Rows(ctx, "SELECT order_id, event, details FROM order_events", nil, func(scan db.Scanner) error {
		var orderID, event, details string
		if err := scan(&orderID, &event, &details); err != nil {
			return err
		}
		if _, broken := decodeDetails(details); broken != nil {
			f(orderID, event)
		}
		return nil
	})
}
