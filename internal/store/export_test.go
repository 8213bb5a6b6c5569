package store

import (
	"context"
	"fmt"
	"strings"
)

// Analyze has the engine collect statistics.
func (s *Store) Analyze(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "ANALYZE delivery_queue")
	return err
}

// QueuePlans returns how the engine runs the statements that find, read and end due deliveries, by their names.
func (s *Store) QueuePlans(ctx context.Context) (map[string]string, error) {
	explain := "EXPLAIN QUERY PLAN "
	if s.Shared() {
		explain = "EXPLAIN "
	}
	places := make([]any, 0, 96)
	for range 32 {
		places = append(places, NewID(), int64(1), NewID())
	}
	plans := make(map[string]string)
	for name, statement := range map[string]struct {
		text string
		args []any
	}{
		"heads": {queueHeads, []any{int64(1)}},
		"due":   {dueDeliveries(32), []any{NewID(), int64(1), NewID(), int64(2)}},
		"leave": {leaveQueue(32), places},
	} {
		rows, err := s.db.QueryContext(ctx, explain+statement.text, statement.args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		var lines []string
		for rows.Next() {
			fields := make([]any, len(columns))
			for i := range fields {
				fields[i] = new(any)
			}
			if err := rows.Scan(fields...); err != nil {
				return nil, err
			}
			lines = append(lines, fmt.Sprint(*fields[len(fields)-1].(*any)))
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
		plans[name] = strings.Join(lines, "\n")
	}
	return plans, nil
}
