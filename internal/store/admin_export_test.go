package store

import "context"

// StatisticsPlans returns how SQLite runs the statements that read the orders of a day, by their names.
func (s *Store) StatisticsPlans(ctx context.Context) (map[string]string, error) {
	plans := make(map[string]string)
	for name, statement := range map[string]struct {
		text string
		args []any
	}{
		"ended":   {endedOrders, []any{int64(1), int64(2)}},
		"created": {createdOrders, []any{NewID(), NewID(), int64(1), int64(2)}},
	} {
		if err := s.rows(ctx, "EXPLAIN QUERY PLAN "+statement.text, statement.args, func(scan func(...any) error) error {
			var id, parent, unused int
			var line string
			err := scan(&id, &parent, &unused, &line)
			plans[name] += line + "\n"
			return err
		}); err != nil {
			return nil, err
		}
	}
	return plans, nil
}
