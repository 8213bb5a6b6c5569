package store

import (
	"context"
	"fmt"
	"strings"
)

// QueuePlans returns how the engine runs the statements that find and take due deliveries, by their names.
func (s *Store) QueuePlans(ctx context.Context) (map[string]string, error) {
	explain := "EXPLAIN QUERY PLAN "
	if s.Shared() {
		if _, err := s.db.ExecContext(ctx, "ANALYZE delivery_queue"); err != nil {
			return nil, err
		}
		explain = "EXPLAIN "
	}
	claims := make([]any, 128)
	for i := range claims {
		claims[i] = NewID()
	}
	plans := make(map[string]string)
	for name, statement := range map[string]struct {
		text string
		args []any
	}{
		"heads": {queueHeads, nil},
		"take":  {s.d.takeDue(4), []any{"claim", int64(2), NewID(), int64(1)}},
		"leave": {leaveQueue(64), claims},
	} {
		rows, err := s.db.QueryContext(ctx, explain+statement.text, statement.args...)
		if err != nil {
			return nil, err
		}
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
