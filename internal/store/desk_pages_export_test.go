package store

import (
	"context"
	"fmt"
	"strings"
)

// BoardPlan returns how SQLite runs the query of a page of the desk.
func (s *Store) BoardPlan(ctx context.Context, f BoardFilter) (string, error) {
	text, args := f.query(0, 50)
	rows, err := s.db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprint(detail))
	}
	return strings.Join(lines, "\n"), rows.Err()
}
