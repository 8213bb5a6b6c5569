-- +goose Up
-- The log of attempts to deliver, for those who look for a lost event. ended is set on the attempt that ended the
-- delivery, next_at on one that is to be repeated. After a time the log is pruned: what remains is the attempt that
-- ended the delivery, emptied and no longer shown (kept = 0).
CREATE TABLE delivery_attempts (
  delivery_id TEXT NOT NULL,
  number      BIGINT NOT NULL,
  at          BIGINT NOT NULL,
  duration    BIGINT NOT NULL,
  http_status BIGINT NOT NULL,
  failure     TEXT NOT NULL,
  answer      TEXT NOT NULL,
  ended       TEXT NOT NULL CHECK (ended IN ('', 'delivered', 'failed')),
  next_at     BIGINT,
  kept        BIGINT NOT NULL CHECK (kept IN (0, 1)),
  PRIMARY KEY (delivery_id, number),
  CHECK ((ended = '') = (next_at IS NOT NULL))
);
CREATE INDEX delivery_attempts_kept ON delivery_attempts (at) WHERE kept = 1;
CREATE INDEX delivery_attempts_failed ON delivery_attempts (delivery_id) WHERE ended = 'failed';

-- Where several nodes work on one database: the senders, and which of them has the queue of an endpoint, until when.
CREATE TABLE delivery_senders (
  id      TEXT PRIMARY KEY,
  seen_at BIGINT NOT NULL
);
CREATE TABLE delivery_leases (
  endpoint_id TEXT PRIMARY KEY,
  sender_id   TEXT NOT NULL,
  lease_until BIGINT NOT NULL
);
