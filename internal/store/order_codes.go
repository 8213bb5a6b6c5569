package store

import (
	"context"
	"encoding/json"

	"github.com/assayhq/assay/internal/domain/order"
)

// codesBatch is how many orders one transaction of fillOrderCodes changes.
const codesBatch = 500

// fillOrderCodes gives orders that were made before their brand and category had columns what their facts say, so that the
// filters of the desk find them. SQL alone cannot: the engines read JSON differently. Once done it costs a look at an empty
// index.
func (s *Store) fillOrderCodes(ctx context.Context) error {
	for last := ""; ; {
		found := make(map[string]string, codesBatch)
		err := s.rows(ctx, "SELECT id, facts FROM orders WHERE category_code = '' AND id > $1 ORDER BY id LIMIT $2", []any{last, codesBatch}, func(scan func(...any) error) error {
			var id, facts string
			err := scan(&id, &facts)
			found[id], last = facts, id
			return err
		})
		if err != nil || len(found) == 0 {
			return err
		}
		if err := s.Update(ctx, func(tx *Tx) error {
			for id, text := range found {
				var facts order.Facts
				if err := json.Unmarshal([]byte(text), &facts); err != nil {
					return err
				}
				c := &facts.Classification
				if err := tx.one("UPDATE orders SET category_code = $1, brand_code = $2 WHERE id = $3", c.CategoryCode, c.BrandCode, id); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
}
