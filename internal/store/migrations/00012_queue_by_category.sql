-- The queue of one category, like that of one brand: a range of an index, however long the queue of all is.

-- +goose Up
CREATE INDEX orders_open_by_category ON orders (environment, category_code, status, COALESCE(due_at, 9223372036854775807), id)
  WHERE environment = 'live' AND ended_at IS NULL;
