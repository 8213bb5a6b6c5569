-- What the pages of the desk need beside the desk interface.

-- +goose Up
-- The second factor of a staff user. The counter is that of the last code that was accepted: none is accepted twice.
CREATE TABLE staff_totp (
  staff_id      TEXT PRIMARY KEY REFERENCES staff (id),
  sealed_secret TEXT NOT NULL,
  last_counter  BIGINT NOT NULL,
  enabled_at    BIGINT NOT NULL
);

-- What a reviewer has entered for an order and not sent yet. It stays when the order has ended: the checklist is part of
-- how the verdict came about.
CREATE TABLE verdict_drafts (
  order_id   TEXT NOT NULL REFERENCES orders (id),
  staff_id   TEXT NOT NULL REFERENCES staff (id),
  draft      TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (order_id, staff_id)
);

-- Filters of the queue. Only open Live orders are in the index, so it stays small. Ended orders are shown from the newest.
ALTER TABLE orders ADD COLUMN category_code TEXT NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN brand_code TEXT NOT NULL DEFAULT '';
CREATE INDEX orders_open_by_brand ON orders (environment, brand_code, status, COALESCE(due_at, 9223372036854775807), id)
  WHERE environment = 'live' AND ended_at IS NULL;
CREATE INDEX orders_ended ON orders (environment, ended_at, id) WHERE environment = 'live' AND ended_at IS NOT NULL;
