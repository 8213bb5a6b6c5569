-- One text for SQLite and PostgreSQL. Ids are lower-case UUIDs (version 7), times are microseconds UTC, flags are 0 or
-- 1, JSON is text that SQL never looks into. A comment that begins with "SQLite:" is part of the text for SQLite alone.

-- +goose Up

-- The oldest program, by the number of its last migration, that works with this schema. A migration that takes away what former
-- programs use raises it: see CONTRIBUTING.md.
CREATE TABLE schema_support (
  id     BIGINT PRIMARY KEY CHECK (id = 1),
  oldest BIGINT NOT NULL
);
INSERT INTO schema_support (id, oldest) VALUES (1, 1);

-- Random keys that the installation signs and seals its logs with, by label, each sealed with the secret key. They stay
-- when the secret key is replaced, and tell whether a secret key is the right one.
CREATE TABLE sealed_keys (
  id         TEXT PRIMARY KEY,
  sealed     TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE accounts (
  id          TEXT PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  locale      TEXT NOT NULL CHECK (locale IN ('en', 'ja')),
  audit_count BIGINT NOT NULL DEFAULT 0,
  audit_head  TEXT NOT NULL DEFAULT '',
  created_at  BIGINT NOT NULL,
  portal_count  BIGINT NOT NULL DEFAULT 0,        -- entries of the log of the portal, with those that are not kept any more
  portal_head   TEXT NOT NULL DEFAULT 'portal',
  portal_gone   BIGINT NOT NULL DEFAULT 0,        -- those
  portal_anchor TEXT NOT NULL DEFAULT 'portal'    -- the hash of the last of them
);

CREATE TABLE users (
  id            TEXT PRIMARY KEY,
  account_id    TEXT NOT NULL REFERENCES accounts (id),
  email         TEXT NOT NULL,
  role          TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'viewer')),
  password_hash TEXT NOT NULL,
  created_at    BIGINT NOT NULL,
  removed_at    BIGINT -- the row of a user who has left stays: keys and the audit log refer to it; the email is free again
);
CREATE UNIQUE INDEX users_by_email ON users (email) WHERE removed_at IS NULL;
CREATE INDEX users_by_account ON users (account_id, created_at);

CREATE TABLE api_keys (
  id           TEXT PRIMARY KEY,
  account_id   TEXT NOT NULL REFERENCES accounts (id),
  environment  TEXT NOT NULL CHECK (environment IN ('test', 'live')),
  name         TEXT NOT NULL,
  hash         TEXT NOT NULL UNIQUE,
  hint         TEXT NOT NULL,
  scopes       TEXT NOT NULL,
  limits       TEXT NOT NULL,
  networks     TEXT NOT NULL DEFAULT '', -- where it may be used from, separated by spaces; empty: anywhere
  created_by   TEXT NOT NULL REFERENCES users (id),
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT,
  revoked_at   BIGINT,
  last_used_at BIGINT, -- to the minute
  events_gone  BIGINT NOT NULL DEFAULT 0 -- number of the last event of its orders that is not kept any more
);
CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at);

-- The row that every order of an account and environment updates anyway: it holds the credits and hands out the dense
-- numbers of orders, ledger entries and events. tenant is a number for both together. Indexes of tables that every order
-- adds to begin with it: a key that begins with the id of the account is four times as long, and so is what is written.
CREATE TABLE balances (
  account_id  TEXT NOT NULL REFERENCES accounts (id),
  environment TEXT NOT NULL CHECK (environment IN ('test', 'live')),
  credits     BIGINT NOT NULL CHECK (credits >= 0),
  orders      BIGINT NOT NULL DEFAULT 0,
  entries     BIGINT NOT NULL DEFAULT 0,
  events      BIGINT NOT NULL DEFAULT 0,
  low_credits BIGINT NOT NULL DEFAULT 100 CHECK (low_credits >= 0), -- below it the owners get a mail; 0: never
  tenant      BIGINT NOT NULL UNIQUE,
  PRIMARY KEY (account_id, environment),
  UNIQUE (tenant, account_id, environment)
);

-- The charge of an order has the order's id: no order is charged twice.
CREATE TABLE ledger_entries (
  id            TEXT PRIMARY KEY,
  account_id    TEXT NOT NULL,
  environment   TEXT NOT NULL,
  tenant        BIGINT NOT NULL,
  seq           BIGINT NOT NULL,
  kind          TEXT NOT NULL CHECK (kind IN ('grant', 'charge', 'refund')),
  amount        BIGINT NOT NULL,
  balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
  order_id      TEXT,
  charge_id     TEXT REFERENCES ledger_entries (id),
  note          TEXT NOT NULL,
  created_at    BIGINT NOT NULL,
  UNIQUE (tenant, seq),
  FOREIGN KEY (tenant, account_id, environment) REFERENCES balances (tenant, account_id, environment),
  CHECK ((kind = 'refund') = (charge_id IS NOT NULL)),
  CHECK ((kind = 'grant') = (order_id IS NULL)),
  CONSTRAINT ledger_charge_of_order CHECK ((kind = 'charge') = (order_id IS NOT NULL AND id = order_id))
);
CREATE UNIQUE INDEX ledger_refund_of_charge ON ledger_entries (charge_id) WHERE charge_id IS NOT NULL;

CREATE TABLE catalog_versions (
  version    BIGINT PRIMARY KEY,
  document   TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

-- What photo indexes were called last, by code: an order that has one shows its name after an import without it.
CREATE TABLE photo_index_names (
  code TEXT PRIMARY KEY,
  en   TEXT NOT NULL,
  ja   TEXT NOT NULL
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
  created_at    BIGINT NOT NULL,
  erased_at     BIGINT, -- since when there is no file: the hash stays, for certificates and orders
  reused_at     BIGINT  -- where several orders may have it: the time from which the age of the youngest is counted
);
CREATE INDEX photos_of_account ON photos (account_id, bytes);
CREATE INDEX photos_unused ON photos (created_at) WHERE used = 0;

-- How far the photos of old orders are erased: those of Live orders by when they ended, of Test orders by their creation.
CREATE TABLE photo_retention (
  environment TEXT PRIMARY KEY CHECK (environment IN ('test', 'live')),
  at          BIGINT NOT NULL,
  order_id    TEXT NOT NULL
);

-- What a creation writes is one row: creation holds, as JSON, the photos that were sent and the name that the key had, which
-- is all that the first entry of the timeline needs. Later photos and entries have rows of their own. facts is what the
-- customer sees; both are the last columns, because most reads want neither.
--
-- Every index is paid for by every creation, so there is one for each list and no other:
--   the primary key, and number         one order
--   (tenant, seq)                       the list of an account: dense, so that a page is a range
--   orders_by_external_id               one order by the customer's id, and the filter external_id
--   orders_by_state                     the list of an account by status or outcome
--   orders_by_update                    sort=updated and updated_since, for those who poll
--   orders_desk, orders_of_assignee     the desk's lists; orders_ended: from the newest end
--   orders_open_…                       what the desk filters open Live orders by, and the capacity of answer times
-- The last ones and orders_of_assignee are partial and stay small.
CREATE TABLE orders (
  id             TEXT PRIMARY KEY,
  account_id     TEXT NOT NULL,
  environment    TEXT NOT NULL,
  tenant         BIGINT NOT NULL,
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
  certificate_id TEXT, -- unique in certificates
  category_code  TEXT NOT NULL,
  brand_code     TEXT NOT NULL,
  facts          TEXT NOT NULL,
  creation       TEXT NOT NULL DEFAULT '{}',
  UNIQUE (tenant, seq),
  FOREIGN KEY (tenant, account_id, environment) REFERENCES balances (tenant, account_id, environment),
  CHECK ((status = 'completed') = (outcome IS NOT NULL)),
  CHECK ((status IN ('completed', 'error')) = (ended_at IS NOT NULL)),
  CHECK (status <> 'update-photos' OR due_at IS NULL)
);
CREATE INDEX orders_by_external_id ON orders (tenant, external_id, seq) WHERE external_id IS NOT NULL;
-- The capacity of answer times: only open orders are in these indexes, so they stay small.
CREATE INDEX orders_open_by_answer_time ON orders (answer_time, due_at) WHERE environment = 'live' AND status IN ('queued', 'processing');
CREATE INDEX orders_waiting_for_photos ON orders (updated_at) WHERE environment = 'live' AND status = 'update-photos';

-- The photos of the rounds after the creation.
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

-- The timeline of an order after its creation: one row for each move, written with it and numbered in the order of writing.
CREATE TABLE order_events (
  order_id   TEXT NOT NULL REFERENCES orders (id),
  seq        BIGINT NOT NULL,
  at         BIGINT NOT NULL,
  event      TEXT NOT NULL,
  actor_type TEXT NOT NULL,
  actor_id   TEXT,
  actor_name TEXT NOT NULL,
  details    TEXT NOT NULL,
  PRIMARY KEY (order_id, seq)
);

-- One row for each answer time with a capacity: creations that could exceed it take turns on it.
CREATE TABLE answer_time_turns (
  answer_time BIGINT PRIMARY KEY,
  turns       BIGINT NOT NULL
);

CREATE TABLE idempotency_keys (
  tenant      BIGINT NOT NULL,
  key         TEXT NOT NULL,
  body_hash   TEXT NOT NULL,
  answer      TEXT NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (tenant, key)
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
  salt        TEXT, -- of what the entry says of people; NULL: that was erased, and seal is its hash
  seal        TEXT,
  UNIQUE (account_id, seq)
);
CREATE INDEX audit_events_by_time ON audit_events (account_id, at);

-- What people do in the portal of an account, and what programs set up: entries as in audit_events, with more codes.
CREATE TABLE portal_events (
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
  salt        TEXT,
  seal        TEXT,
  UNIQUE (account_id, seq)
);
CREATE INDEX portal_events_by_time ON portal_events (account_id, at);
CREATE INDEX portal_events_by_code ON portal_events (account_id, code, seq);
CREATE INDEX portal_events_by_actor ON portal_events (account_id, actor_id, seq);
CREATE INDEX portal_events_by_age ON portal_events (at);

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
  paused_at     BIGINT, -- while deliveries wait
  failing_told_at BIGINT, -- when the owners were told that it fails, until it acknowledges a delivery again
  rotated_at      BIGINT, -- since when the secret is valid, if it is not the first one
  sealed_previous TEXT,   -- the secret before, with which deliveries are signed as well until previous_until
  previous_until  BIGINT,
  UNIQUE (api_key_id, canonical_url),
  CHECK ((auth_type = 'oauth2') = (token_url IS NOT NULL AND client_id IS NOT NULL)),
  CHECK ((rotated_at IS NULL) = (sealed_previous IS NULL) AND (rotated_at IS NULL) = (previous_until IS NULL))
);
CREATE INDEX webhook_endpoints_paused ON webhook_endpoints (paused_at) WHERE paused_at IS NOT NULL;
CREATE INDEX webhook_endpoints_told ON webhook_endpoints (failing_told_at) WHERE failing_told_at IS NOT NULL;

-- What happened to the orders of each key, for those who ask for it: numbered within account and environment by a counter in
-- balances, whose row is locked until the transaction ends. So events are committed in the order of their numbers, and none
-- appears behind one that was read. delivery_ids is separated by spaces.
-- PostgreSQL keeps events, request_log, deliveries and delivery_attempts in parts by time: see partition.go. So their primary keys hold the
-- time, as such or in an id, and they have no foreign keys, for which other tables would be locked when a part is made.
CREATE TABLE events (
  api_key_id   TEXT NOT NULL,
  seq          BIGINT NOT NULL,
  order_id     TEXT NOT NULL,
  event        TEXT NOT NULL CHECK (event IN ('order-outcome', 'update-photos')),
  delivery_ids TEXT NOT NULL,
  body         TEXT NOT NULL,
  created_at   BIGINT NOT NULL,
  PRIMARY KEY (api_key_id, seq, created_at)
);
CREATE INDEX events_by_age ON events (created_at);

-- The log of API requests. A row is a block of requests of one account and environment that were answered within a second:
-- a row for each request would cost more than many of them. id is the highest request id in it and first_id the lowest,
-- both of version 7, so that a block is found by time; seq counts the requests of the tenant up to this block. body is read
-- by the program only.
CREATE TABLE request_log (
  id          TEXT PRIMARY KEY,
  account_id  TEXT NOT NULL,
  environment TEXT NOT NULL,
  first_id    TEXT NOT NULL,
  requests    BIGINT NOT NULL,
  seq         BIGINT NOT NULL,
  body        TEXT NOT NULL
);
CREATE INDEX request_log_of_account ON request_log (account_id, environment, id);

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
  created_at  BIGINT NOT NULL,
  trace       TEXT -- the traceparent of what caused it, where that was traced
);
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, id);
CREATE INDEX deliveries_of_account ON deliveries (account_id, environment, id);
CREATE INDEX deliveries_of_order ON deliveries (order_id, id);

-- What the sender works through: one row for each pending delivery. It is small, so that finding and taking work costs the
-- same however many deliveries have ended. due_at is the time of the next attempt. failures counts the attempts since
-- the row was queued, attempts all that were ever made. On SQLite the primary key of this table and of the attempts is the
-- table itself: each row is written and removed once instead of twice.
CREATE TABLE delivery_queue (
  endpoint_id TEXT NOT NULL,
  due_at      BIGINT NOT NULL,
  delivery_id TEXT NOT NULL,
  failures    BIGINT NOT NULL,
  attempts    BIGINT NOT NULL,
  PRIMARY KEY (endpoint_id, due_at, delivery_id)
) /* SQLite: WITHOUT ROWID */;

-- The log of attempts to deliver, for those who look for a lost event. ended is set on the attempt that ended the
-- delivery, next_at on one that is to be repeated. After a time the log is pruned: what remains is the attempt that
-- ended the delivery, emptied and no longer shown (kept = 0). Where a delivery has failed, that attempt names its tenant and
-- its endpoint, so that the failed ones of each are a range of an index, which grows by nothing when all goes well.
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
  headers     TEXT NOT NULL DEFAULT '', -- the beginning of the answer's headers, where it did not acknowledge
  kept        BIGINT NOT NULL CHECK (kept IN (0, 1)),
  failed_tenant   BIGINT,
  failed_endpoint TEXT,
  PRIMARY KEY (delivery_id, number),
  CHECK ((ended = '') = (next_at IS NOT NULL)),
  CHECK (ended = 'failed' OR (failed_tenant IS NULL AND failed_endpoint IS NULL))
) /* SQLite: WITHOUT ROWID */;
CREATE INDEX delivery_attempts_kept ON delivery_attempts (at) WHERE kept = 1;
CREATE INDEX delivery_attempts_failed ON delivery_attempts (delivery_id) WHERE ended = 'failed';
CREATE INDEX delivery_attempts_of_tenant ON delivery_attempts (failed_tenant, delivery_id) WHERE ended = 'failed';
CREATE INDEX delivery_attempts_of_endpoint ON delivery_attempts (failed_endpoint, delivery_id) WHERE ended = 'failed';

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

-- Which node does a task that one node does at a time, until when.
CREATE TABLE task_leases (
  task        TEXT PRIMARY KEY,
  holder      TEXT NOT NULL,
  lease_until BIGINT NOT NULL
);

-- The people, and programs, of the desk. They belong to the service, not to an account.
CREATE TABLE staff (
  id             TEXT PRIMARY KEY,
  email          TEXT NOT NULL UNIQUE,
  name           TEXT NOT NULL,
  role           TEXT NOT NULL CHECK (role IN ('reviewer', 'admin')),
  password_hash  TEXT NOT NULL,
  token_hash       TEXT NOT NULL UNIQUE,
  token_networks   TEXT NOT NULL DEFAULT '', -- where it may be used from, separated by spaces; empty: anywhere
  token_made_at    BIGINT NOT NULL,
  created_at       BIGINT NOT NULL,
  deactivated_at   BIGINT
);

-- How many Live orders are in each status but queued: what is in no row of this table is queued, and the balances know
-- how many orders there are. So a creation, which must be quick, changes nothing here, and no list has to count. A number
-- is the sum of its slots, each of which may be negative: a move takes a slot that no other transaction holds, so that
-- moves of different orders never wait for each other.
CREATE TABLE live_order_counts (
  status TEXT NOT NULL CHECK (status IN ('processing', 'update-photos', 'completed', 'error')),
  slot   BIGINT NOT NULL,
  orders BIGINT NOT NULL,
  PRIMARY KEY (status, slot)
);
INSERT INTO live_order_counts (status, slot, orders)
WITH RECURSIVE slots (slot) AS (SELECT 0 UNION ALL SELECT slot + 1 FROM slots WHERE slot < 31)
SELECT s.status, slots.slot, 0 FROM slots, (SELECT 'processing' AS status UNION ALL SELECT 'update-photos'
  UNION ALL SELECT 'completed' UNION ALL SELECT 'error') AS s ORDER BY 1, 2;

-- How many Live orders ended in a status, by the day (UTC, since 1970) on which they were due: to find a deep page of the
-- desk's list without walking to it. Orders without a due date are in the last day that a date can have. A
-- day has a slot for each transaction that counted in it while others did.
CREATE TABLE live_ended_due_days (
  status TEXT NOT NULL CHECK (status IN ('completed', 'error')),
  day    BIGINT NOT NULL,
  slot   BIGINT NOT NULL,
  orders BIGINT NOT NULL,
  PRIMARY KEY (status, day, slot)
);

-- Every list of the desk is a range of one of these two: the earliest due first, without a due date last.
CREATE INDEX orders_desk ON orders (environment, status, COALESCE(due_at, 9223372036854775807), id);
CREATE INDEX orders_of_assignee ON orders (assignee_id, environment, status, COALESCE(due_at, 9223372036854775807), id) WHERE assignee_id IS NOT NULL;

CREATE TABLE sessions (
  id           TEXT PRIMARY KEY,
  token_hash   TEXT NOT NULL UNIQUE,
  audience     TEXT NOT NULL CHECK (audience IN ('desk', 'portal')),
  user_id      TEXT NOT NULL,
  ip           TEXT,
  user_agent   TEXT,
  created_at   BIGINT NOT NULL,
  last_seen_at BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL,
  confirmed_at BIGINT NOT NULL, -- when the person has last proved who they are
  factor       BIGINT NOT NULL CHECK (factor IN (0, 1)), -- with more than a password
  passkey_at   BIGINT -- when they have last proved it with a passkey since they signed in; NULL: never
);
CREATE INDEX sessions_of_user ON sessions (audience, user_id, created_at);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE certificates (
  id             TEXT PRIMARY KEY,
  order_id       TEXT NOT NULL REFERENCES orders (id),
  document       TEXT NOT NULL,
  signature      TEXT NOT NULL,
  key_id         TEXT NOT NULL,
  issued_at      BIGINT NOT NULL,
  revoked_at     BIGINT,
  revoked_reason TEXT,
  CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL))
);
CREATE INDEX certificates_of_order ON certificates (order_id);

-- What reviewers have entered for an order and not sent yet. When the order ends, only that of its assignee stays: the
-- checklist is part of how the verdict came about.
CREATE TABLE verdict_drafts (
  order_id   TEXT NOT NULL REFERENCES orders (id),
  staff_id   TEXT NOT NULL REFERENCES staff (id),
  version    BIGINT NOT NULL,
  draft      TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (order_id, staff_id)
);

-- Filters of the queue. Only open Live orders are in the index, so it stays small. Ended orders are shown from the newest.
-- A column that the condition of an index fixes is not looked up by PostgreSQL, which would walk the whole index.
CREATE INDEX orders_open_by_brand ON orders (brand_code, status, COALESCE(due_at, 9223372036854775807), id)
  WHERE environment = 'live' AND ended_at IS NULL;
CREATE INDEX orders_ended ON orders (environment, ended_at, id) WHERE ended_at IS NOT NULL;

-- How people sign in: account users in the portal, staff at the desk. The user_id is that of a user or a staff user, as the
-- audience says.

-- The second factor. The counter is that of the last code that was accepted: none is accepted twice.
CREATE TABLE totp (
  audience      TEXT NOT NULL CHECK (audience IN ('desk', 'portal')),
  user_id       TEXT NOT NULL,
  sealed_secret TEXT NOT NULL,
  last_counter  BIGINT NOT NULL,
  enabled_at    BIGINT NOT NULL,
  PRIMARY KEY (audience, user_id)
);

-- Codes to sign in with when the authenticator app is lost, each once.
CREATE TABLE recovery_codes (
  audience  TEXT NOT NULL CHECK (audience IN ('desk', 'portal')),
  user_id   TEXT NOT NULL,
  code_hash TEXT NOT NULL,
  used_at   BIGINT,
  PRIMARY KEY (audience, user_id, code_hash)
);

-- Links that work once: to join an account or the staff, to choose a new password, or to confirm a new email.
CREATE TABLE links (
  id         TEXT PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  kind       TEXT NOT NULL CHECK (kind IN ('invitation', 'password-reset', 'email-change')),
  audience   TEXT NOT NULL CHECK (audience IN ('desk', 'portal')),
  account_id TEXT REFERENCES accounts (id),
  user_id    TEXT,
  email      TEXT NOT NULL,
  name       TEXT NOT NULL,
  role       TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at    BIGINT,
  CHECK ((kind = 'invitation') = (user_id IS NULL)),
  CHECK ((audience = 'portal') = (account_id IS NOT NULL))
);
CREATE INDEX links_of_account ON links (audience, COALESCE(account_id, ''), kind, created_at);
CREATE INDEX links_of_user ON links (audience, user_id) WHERE user_id IS NOT NULL;

-- How often something was tried that could be guessed, in windows that begin with the first attempt. The key is a keyed
-- hash of whose name, from where.
CREATE TABLE sign_in_attempts (
  key      TEXT PRIMARY KEY,
  ends_at  BIGINT NOT NULL,
  attempts BIGINT NOT NULL
);
CREATE INDEX sign_in_attempts_by_end ON sign_in_attempts (ends_at);

-- The browsers that people have signed in with, by the hash of a secret that each keeps.
CREATE TABLE sign_in_devices (
  audience    TEXT NOT NULL CHECK (audience IN ('desk', 'portal')),
  user_id     TEXT NOT NULL,
  device_hash TEXT NOT NULL,
  seen_at     BIGINT NOT NULL,
  PRIMARY KEY (audience, user_id, device_hash)
);
CREATE INDEX sign_in_devices_by_age ON sign_in_devices (seen_at);

-- Attempts to sign in with an email that nobody has: counted, so that they take as long as those that the audit log gets.
CREATE TABLE unknown_sign_ins (
  id       BIGINT PRIMARY KEY,
  attempts BIGINT NOT NULL
);

-- Lists of the portal: each page is a range of one of these.
CREATE INDEX ledger_without_charges ON ledger_entries (tenant, seq) WHERE kind <> 'charge';
CREATE INDEX audit_events_by_code ON audit_events (account_id, code, seq);
CREATE INDEX audit_events_by_actor ON audit_events (account_id, actor_id, seq);
CREATE INDEX webhook_endpoints_of_account ON webhook_endpoints (account_id, environment, created_at);

-- Answer times that cannot be ordered for the time being, whatever the catalog says.
CREATE TABLE paused_answer_times (
  answer_time BIGINT PRIMARY KEY,
  paused_by   TEXT NOT NULL REFERENCES staff (id),
  paused_at   BIGINT NOT NULL
);

-- Uploaded catalogs that wait for a yes. A draft is made against one version; it is not imported over another.
CREATE TABLE catalog_drafts (
  id           TEXT PRIMARY KEY,
  document     TEXT NOT NULL,
  file_name    TEXT NOT NULL,
  base_version BIGINT NOT NULL,
  staff_id     TEXT NOT NULL REFERENCES staff (id),
  created_at   BIGINT NOT NULL
);
CREATE INDEX catalog_drafts_by_age ON catalog_drafts (created_at);

-- What is known of each day that is over (UTC, Live orders), so that charts read a row a day and never the orders of
-- months. The figures are JSON.
CREATE TABLE daily_statistics (
  day     TEXT PRIMARY KEY,
  figures TEXT NOT NULL
);

-- How many Live orders were open, every quarter of an hour.
CREATE TABLE queue_samples (
  at            BIGINT PRIMARY KEY,
  queued        BIGINT NOT NULL,
  processing    BIGINT NOT NULL,
  update_photos BIGINT NOT NULL
);

CREATE INDEX certificates_revoked ON certificates (revoked_at) WHERE revoked_at IS NOT NULL;

-- What is kept of a passkey is public: the private key never leaves the device. The ids, keys and transports are as the
-- device gave them, in base64url and separated by spaces. The counter grows with each use of devices that count.
CREATE TABLE passkeys (
  id              TEXT PRIMARY KEY,
  audience        TEXT NOT NULL CHECK (audience IN ('desk', 'portal')),
  user_id         TEXT NOT NULL,
  name            TEXT NOT NULL,
  credential_id   TEXT NOT NULL UNIQUE,
  public_key      TEXT NOT NULL,
  sign_count      BIGINT NOT NULL,
  backup_eligible BIGINT NOT NULL CHECK (backup_eligible IN (0, 1)),
  backed_up       BIGINT NOT NULL CHECK (backed_up IN (0, 1)),
  transports      TEXT NOT NULL,
  aaguid          TEXT NOT NULL,
  created_at      BIGINT NOT NULL,
  last_used_at    BIGINT
);
CREATE INDEX passkeys_of_user ON passkeys (audience, user_id, created_at);

-- Challenges that were answered: none is answered twice. One that nobody answers is not here.
CREATE TABLE spent_challenges (
  challenge_hash TEXT PRIMARY KEY,
  expires_at     BIGINT NOT NULL
);
CREATE INDEX spent_challenges_by_expiry ON spent_challenges (expires_at);

-- Mail that waits to be sent, written in the transaction of what it tells about. Address, subject and body are sealed. A row
-- goes when its mail is sent; that of a mail which could not be delivered stays for a while, without its content. due_at
-- is when to send it, or, while a node is sending it, when the claim of that node ends. What takes a link back takes its
-- mail back.
CREATE TABLE mails (
  id         TEXT PRIMARY KEY,
  kind       TEXT NOT NULL,
  account_id TEXT REFERENCES accounts (id),
  link_id    TEXT REFERENCES links (id) ON DELETE CASCADE,
  sealed     TEXT NOT NULL,
  attempts   BIGINT NOT NULL DEFAULT 0,
  claim      TEXT,
  created_at BIGINT NOT NULL,
  due_at     BIGINT NOT NULL,
  failed_at  BIGINT,
  failure    TEXT,
  CHECK ((failed_at IS NULL) = (failure IS NULL))
);
CREATE INDEX mails_due ON mails (due_at, id) WHERE failed_at IS NULL;
CREATE INDEX mails_failed ON mails (failed_at) WHERE failed_at IS NOT NULL;
CREATE INDEX mails_of_link ON mails (link_id) WHERE link_id IS NOT NULL;


-- Lists of the orders in one state: the outcome of an order that has one, else its status.
CREATE INDEX orders_by_state ON orders (tenant, COALESCE(outcome, status), seq);
-- All changes of an account's orders, the oldest first, as customers see them: times in milliseconds, then ids. With the
-- number of each order a list of them by age is sorted without its rows.
CREATE INDEX orders_by_update ON orders (tenant, updated_at, id, seq);

-- How orders ended, counted in the transaction that ends them: by day (UTC, since 1970), result (the outcome, or error) and
-- turnaround. The turnaround is every third bucket of the service's histograms; -1: it has none. A Test order that is moved out of its
-- result and gets another counts again.
CREATE TABLE order_results (
  account_id  TEXT NOT NULL,
  environment TEXT NOT NULL,
  day         BIGINT NOT NULL,
  result      TEXT NOT NULL CHECK (result IN ('authentic', 'fake', 'unable-to-verify', 'canceled', 'error')),
  took        BIGINT NOT NULL,
  orders      BIGINT NOT NULL,
  PRIMARY KEY (account_id, environment, day, result, took)
);

-- How the attempts to deliver to an endpoint went, by hour (UTC, since 1970), for some days.
CREATE TABLE endpoint_hours (
  endpoint_id  TEXT NOT NULL,
  hour         BIGINT NOT NULL,
  acknowledged BIGINT NOT NULL,
  failed       BIGINT NOT NULL,
  failing_since BIGINT, -- the first attempt of the hour that failed and was not followed by an acknowledged one
  PRIMARY KEY (endpoint_id, hour)
);
CREATE INDEX endpoint_hours_by_age ON endpoint_hours (hour);
CREATE INDEX endpoint_hours_failing ON endpoint_hours (hour) WHERE failing_since IS NOT NULL;

-- Whose endpoints were that are deleted, as long as their hours are kept: what they failed to receive still counts.
CREATE TABLE deleted_endpoints (
  id          TEXT PRIMARY KEY,
  account_id  TEXT NOT NULL,
  environment TEXT NOT NULL,
  deleted_at  BIGINT NOT NULL
);
CREATE INDEX deleted_endpoints_of_account ON deleted_endpoints (account_id, environment);

CREATE INDEX orders_open_by_category ON orders (category_code, status, COALESCE(due_at, 9223372036854775807), id)
  WHERE environment = 'live' AND ended_at IS NULL;

-- What staff and operators did to run the service: written in the transaction of the action, never changed or deleted. The
-- names are those of the moment, so that a line can be read for as long as the log is kept. Without a staff_id it was the
-- operator at the command line. Entries are numbered without gaps; each hash seals the entry and the one before it.
CREATE TABLE staff_actions (
  id          TEXT PRIMARY KEY,
  seq         BIGINT NOT NULL UNIQUE,
  at          BIGINT NOT NULL,
  code        TEXT NOT NULL,
  staff_id    TEXT REFERENCES staff (id),
  staff_name  TEXT NOT NULL,
  account_id  TEXT REFERENCES accounts (id),
  target_type TEXT NOT NULL,
  target_id   TEXT NOT NULL,
  target_name TEXT NOT NULL,
  ip          TEXT,
  user_agent  TEXT,
  details     TEXT NOT NULL,
  hash        TEXT NOT NULL,
  salt        TEXT, -- as in audit_events
  seal        TEXT
);
-- What administrators want to do and others have to approve first. deed is JSON.
CREATE TABLE approvals (
  id           TEXT PRIMARY KEY,
  kind         TEXT NOT NULL,
  account_id   TEXT REFERENCES accounts (id),
  target_id    TEXT NOT NULL,
  target_name  TEXT NOT NULL,
  deed         TEXT NOT NULL,
  requested_by TEXT NOT NULL REFERENCES staff (id),
  requester    TEXT NOT NULL,
  requested_at BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('open', 'approved', 'refused', 'withdrawn', 'expired')),
  decided_by   TEXT REFERENCES staff (id),
  decider      TEXT,
  decided_at   BIGINT,
  CHECK (decided_by IS NULL OR decided_by <> requested_by OR status = 'withdrawn')
);
CREATE INDEX approvals_open ON approvals (expires_at) WHERE status = 'open';
CREATE INDEX approvals_ended ON approvals (decided_at, id) WHERE status <> 'open';

-- The number and the hash of its last entry.
CREATE TABLE staff_actions_head (
  id      BIGINT PRIMARY KEY CHECK (id = 1),
  entries BIGINT NOT NULL,
  head    TEXT NOT NULL
);
INSERT INTO staff_actions_head (id, entries, head) VALUES (1, 0, '');
-- Every page of the log is a range of one of these, the newest first.
CREATE INDEX staff_actions_by_time ON staff_actions (at, id);
CREATE INDEX staff_actions_by_code ON staff_actions (code, at, id);
CREATE INDEX staff_actions_by_staff ON staff_actions (staff_id, at, id);
CREATE INDEX staff_actions_by_account ON staff_actions (account_id, at, id);
CREATE INDEX staff_actions_by_target ON staff_actions (target_id, at, id);

-- Links where sellers take photos on a phone. The secret in the address is kept as a hash. made_by is the key or account user
-- that a submission is attributed to. A link with an order answers one round of its photo requests.
CREATE TABLE capture_links (
  id            TEXT PRIMARY KEY,
  token_hash    TEXT NOT NULL UNIQUE,
  account_id    TEXT NOT NULL REFERENCES accounts (id),
  environment   TEXT NOT NULL CHECK (environment IN ('test', 'live')),
  made_by_kind  TEXT NOT NULL CHECK (made_by_kind IN ('api-key', 'user')),
  made_by_id    TEXT NOT NULL,
  made_by_name  TEXT NOT NULL,
  made_by_role  TEXT NOT NULL,
  category_code TEXT NOT NULL,
  brand_code    TEXT NOT NULL,
  model_code    TEXT,
  external_id   TEXT,
  order_id      TEXT REFERENCES orders (id) ON DELETE CASCADE,
  round         BIGINT NOT NULL,
  locale        TEXT,
  return_url    TEXT,
  uploads       BIGINT NOT NULL DEFAULT 0,
  created_at    BIGINT NOT NULL,
  expires_at    BIGINT NOT NULL,
  submitted_at  BIGINT,
  revoked_at    BIGINT,
  CHECK (submitted_at IS NULL OR revoked_at IS NULL)
);
CREATE INDEX capture_links_open ON capture_links (account_id, expires_at) WHERE submitted_at IS NULL AND revoked_at IS NULL;
CREATE INDEX capture_links_by_expiry ON capture_links (expires_at);
CREATE INDEX capture_links_of_account ON capture_links (account_id, environment, id);

-- What was sent through links. The key is chosen by the page: the same photo is not stored twice.
CREATE TABLE capture_photos (
  link_id    TEXT NOT NULL REFERENCES capture_links (id) ON DELETE CASCADE,
  key        TEXT NOT NULL,
  seq        BIGINT NOT NULL,
  index_code TEXT NOT NULL,
  name       TEXT NOT NULL,
  PRIMARY KEY (link_id, key)
);

-- How many photos each account has, and their size: so that nothing has to walk through them.
CREATE TABLE photo_totals (
  account_id  TEXT NOT NULL REFERENCES accounts (id),
  environment TEXT NOT NULL CHECK (environment IN ('test', 'live')),
  photos      BIGINT NOT NULL,
  bytes       BIGINT NOT NULL,
  PRIMARY KEY (account_id, environment)
);

-- What the readiness of a node writes: a row for each process that ran in the last hour.
CREATE TABLE write_probes (
  id TEXT PRIMARY KEY,
  at BIGINT NOT NULL
);
