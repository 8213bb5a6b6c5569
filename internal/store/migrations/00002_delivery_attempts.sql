-- +goose Up
-- The log of attempts to deliver, for those who look for a lost event; kept for a time and then pruned by age.
CREATE TABLE delivery_attempts (
  delivery_id TEXT NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
  number      BIGINT NOT NULL,
  at          BIGINT NOT NULL,
  duration    BIGINT NOT NULL,
  http_status BIGINT NOT NULL,
  failure     TEXT NOT NULL,
  answer      TEXT NOT NULL,
  PRIMARY KEY (delivery_id, number)
);
CREATE INDEX delivery_attempts_by_age ON delivery_attempts (at);
