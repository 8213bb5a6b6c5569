-- +goose Up
-- The log of attempts to deliver, for those who look for a lost event; kept for a time and then pruned by age.
CREATE TABLE delivery_attempts (
  delivery_id TEXT NOT NULL,
  number      BIGINT NOT NULL,
  at          BIGINT NOT NULL,
  duration    BIGINT NOT NULL,
  http_status BIGINT NOT NULL,
  failure     TEXT NOT NULL,
  answer      TEXT NOT NULL,
  PRIMARY KEY (delivery_id, number)
);
CREATE INDEX delivery_attempts_by_age ON delivery_attempts (at);

-- The senders at work, when there are several nodes: they divide the slots of each endpoint among them.
CREATE TABLE delivery_senders (
  id      TEXT PRIMARY KEY,
  seen_at BIGINT NOT NULL
);
