-- One text for SQLite and PostgreSQL. Ids are lower-case UUIDs (version 7), times are microseconds UTC, flags are 0 or
-- 1, JSON is text that SQL never looks into.

-- +goose Up
CREATE TABLE accounts (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  locale      TEXT NOT NULL CHECK (locale IN ('en', 'ja')),
  audit_count BIGINT NOT NULL DEFAULT 0,
  audit_head  TEXT NOT NULL DEFAULT '',
  created_at  BIGINT NOT NULL
);

CREATE TABLE users (
  id            TEXT PRIMARY KEY,
  account_id    TEXT NOT NULL REFERENCES accounts (id),
  email         TEXT NOT NULL UNIQUE,
  role          TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'viewer')),
  password_hash TEXT NOT NULL,
  created_at    BIGINT NOT NULL
);
CREATE INDEX users_by_account ON users (account_id, created_at);

CREATE TABLE api_keys (
  id          TEXT PRIMARY KEY,
  account_id  TEXT NOT NULL REFERENCES accounts (id),
  environment TEXT NOT NULL CHECK (environment IN ('test', 'live')),
  name        TEXT NOT NULL,
  hash        TEXT NOT NULL UNIQUE,
  hint        TEXT NOT NULL,
  scopes      TEXT NOT NULL,
  limits      TEXT NOT NULL,
  created_by  TEXT NOT NULL REFERENCES users (id),
  created_at  BIGINT NOT NULL,
  expires_at  BIGINT,
  revoked_at  BIGINT
);
CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at);

-- The row that every order of an account and environment updates anyway: it holds the credits and hands out the dense
-- numbers of orders and ledger entries.
CREATE TABLE balances (
  account_id  TEXT NOT NULL REFERENCES accounts (id),
  environment TEXT NOT NULL CHECK (environment IN ('test', 'live')),
  credits     BIGINT NOT NULL CHECK (credits >= 0),
  orders      BIGINT NOT NULL DEFAULT 0,
  entries     BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, environment)
);

CREATE TABLE ledger_entries (
  id            TEXT PRIMARY KEY,
  account_id    TEXT NOT NULL,
  environment   TEXT NOT NULL,
  seq           BIGINT NOT NULL,
  kind          TEXT NOT NULL CHECK (kind IN ('grant', 'charge', 'refund')),
  amount        BIGINT NOT NULL,
  balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
  order_id      TEXT,
  charge_id     TEXT UNIQUE REFERENCES ledger_entries (id),
  note          TEXT NOT NULL,
  created_at    BIGINT NOT NULL,
  UNIQUE (account_id, environment, seq),
  FOREIGN KEY (account_id, environment) REFERENCES balances (account_id, environment),
  CHECK ((kind = 'refund') = (charge_id IS NOT NULL)),
  CHECK ((kind = 'grant') = (order_id IS NULL))
);
CREATE UNIQUE INDEX ledger_charge_of_order ON ledger_entries (order_id) WHERE kind = 'charge';

CREATE TABLE catalog_versions (
  version    BIGINT PRIMARY KEY,
  document   TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE photos (
  name          TEXT PRIMARY KEY,
  account_id    TEXT NOT NULL REFERENCES accounts (id),
  environment   TEXT NOT NULL CHECK (environment IN ('test', 'live')),
  sha256        TEXT NOT NULL,
  bytes         BIGINT NOT NULL,
  width         BIGINT NOT NULL,
  height        BIGINT NOT NULL,
  original_name TEXT NOT NULL,
  used          BIGINT NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),
  created_at    BIGINT NOT NULL
);
CREATE INDEX photos_unused ON photos (created_at) WHERE used = 0;

CREATE TABLE orders (
  id             TEXT PRIMARY KEY,
  account_id     TEXT NOT NULL,
  environment    TEXT NOT NULL,
  api_key_id     TEXT NOT NULL REFERENCES api_keys (id),
  seq            BIGINT NOT NULL,
  number         TEXT NOT NULL UNIQUE,
  external_id    TEXT,
  status         TEXT NOT NULL CHECK (status IN ('queued', 'processing', 'update-photos', 'completed', 'error')),
  outcome        TEXT CHECK (outcome IN ('authentic', 'fake', 'unable-to-verify', 'canceled')),
  answer_time    BIGINT NOT NULL,
  price          BIGINT NOT NULL CHECK (price >= 0),
  due_at         BIGINT,
  time_left      BIGINT,
  created_at     BIGINT NOT NULL,
  updated_at     BIGINT NOT NULL,
  ended_at       BIGINT,
  round          BIGINT NOT NULL DEFAULT 0,
  assignee_id    TEXT,
  claimed_at     BIGINT,
  delayed        BIGINT NOT NULL DEFAULT 0 CHECK (delayed IN (0, 1)),
  certificate_id TEXT UNIQUE,
  facts          TEXT NOT NULL,
  UNIQUE (account_id, environment, seq),
  FOREIGN KEY (account_id, environment) REFERENCES balances (account_id, environment),
  CHECK ((status = 'completed') = (outcome IS NOT NULL)),
  CHECK ((status IN ('completed', 'error')) = (ended_at IS NOT NULL)),
  CHECK (status <> 'update-photos' OR due_at IS NULL)
);
CREATE INDEX orders_by_external_id ON orders (account_id, environment, external_id, seq) WHERE external_id IS NOT NULL;
-- The queue of the desk and the capacity of answer times: only open orders are in these indexes, so they stay small.
CREATE INDEX orders_queue ON orders (environment, status, due_at, id) WHERE status IN ('queued', 'processing', 'update-photos');
CREATE INDEX orders_open_by_answer_time ON orders (answer_time, due_at) WHERE environment = 'live' AND status IN ('queued', 'processing');
CREATE INDEX orders_waiting_for_photos ON orders (updated_at) WHERE environment = 'live' AND status = 'update-photos';

CREATE TABLE order_photos (
  order_id   TEXT NOT NULL REFERENCES orders (id),
  round      BIGINT NOT NULL,
  position   BIGINT NOT NULL,
  index_code TEXT NOT NULL,
  photo      TEXT REFERENCES photos (name),
  PRIMARY KEY (order_id, round, position)
);

CREATE TABLE order_notes (
  order_id   TEXT NOT NULL REFERENCES orders (id),
  round      BIGINT NOT NULL,
  note       TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (order_id, round)
);

-- The timeline of an order: one row for each move, written with it. Ids are in order of time.
CREATE TABLE order_events (
  order_id   TEXT NOT NULL REFERENCES orders (id),
  id         TEXT NOT NULL,
  at         BIGINT NOT NULL,
  event      TEXT NOT NULL,
  actor_type TEXT NOT NULL,
  actor_id   TEXT,
  actor_name TEXT NOT NULL,
  details    TEXT NOT NULL,
  PRIMARY KEY (order_id, id)
);

-- One row for each answer time with a capacity: creations that could exceed it take turns on it.
CREATE TABLE answer_time_turns (
  answer_time BIGINT PRIMARY KEY,
  turns       BIGINT NOT NULL
);

CREATE TABLE idempotency_keys (
  account_id  TEXT NOT NULL,
  environment TEXT NOT NULL,
  key         TEXT NOT NULL,
  body_hash   TEXT NOT NULL,
  answer      TEXT NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (account_id, environment, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

CREATE TABLE audit_events (
  id          TEXT PRIMARY KEY,
  account_id  TEXT NOT NULL REFERENCES accounts (id),
  seq         BIGINT NOT NULL,
  user_id     TEXT NOT NULL,
  at          BIGINT NOT NULL,
  code        TEXT NOT NULL,
  actor_type  TEXT NOT NULL,
  actor_id    TEXT,
  actor_name  TEXT NOT NULL,
  source      TEXT NOT NULL,
  target_type TEXT NOT NULL,
  target_id   TEXT,
  ip          TEXT,
  user_agent  TEXT,
  metadata    TEXT NOT NULL,
  hash        TEXT NOT NULL,
  UNIQUE (account_id, seq)
);
CREATE INDEX audit_events_by_time ON audit_events (account_id, at);

CREATE TABLE webhook_endpoints (
  id            TEXT PRIMARY KEY,
  account_id    TEXT NOT NULL REFERENCES accounts (id),
  environment   TEXT NOT NULL CHECK (environment IN ('test', 'live')),
  api_key_id    TEXT NOT NULL REFERENCES api_keys (id),
  name          TEXT,
  url           TEXT NOT NULL,
  canonical_url TEXT NOT NULL,
  events        TEXT NOT NULL,
  auth_type     TEXT NOT NULL CHECK (auth_type IN ('hmac', 'oauth2')),
  sealed_secret TEXT NOT NULL,
  token_url     TEXT,
  client_id     TEXT,
  scope         TEXT,
  created_at    BIGINT NOT NULL,
  UNIQUE (api_key_id, canonical_url),
  CHECK ((auth_type = 'oauth2') = (token_url IS NOT NULL AND client_id IS NOT NULL))
);

-- The outbox: written in the transaction that moves the order, with the exact bytes to send, and never changed. A
-- delivery outlives its endpoint once it has ended; a pending one is dropped with it.
CREATE TABLE deliveries (
  id          TEXT PRIMARY KEY,
  endpoint_id TEXT NOT NULL,
  account_id  TEXT NOT NULL,
  environment TEXT NOT NULL,
  order_id    TEXT,
  event       TEXT NOT NULL CHECK (event IN ('order-outcome', 'update-photos')),
  body        TEXT NOT NULL,
  created_at  BIGINT NOT NULL
);
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, id);
CREATE INDEX deliveries_of_account ON deliveries (account_id, environment, id);
CREATE INDEX deliveries_of_order ON deliveries (order_id, id);

-- What the sender works through: one row for each pending delivery. It is small, so that finding and taking work costs the
-- same however many deliveries have ended. due_at is the time of the next attempt. failures counts the attempts since
-- the row was queued, attempts all that were ever made.
CREATE TABLE delivery_queue (
  endpoint_id TEXT NOT NULL,
  due_at      BIGINT NOT NULL,
  delivery_id TEXT NOT NULL,
  failures    BIGINT NOT NULL,
  attempts    BIGINT NOT NULL,
  PRIMARY KEY (endpoint_id, due_at, delivery_id)
);
