-- What the portal of account users needs beside what the interfaces use.

-- +goose Up
-- A user who has left. The row stays: keys and the audit log name it.
ALTER TABLE users ADD COLUMN removed_at BIGINT;

-- When a key was last used, to the minute.
ALTER TABLE api_keys ADD COLUMN last_used_at BIGINT;

-- The second factor of an account user. The counter is that of the last code that was accepted: none is accepted twice.
CREATE TABLE user_totp (
  user_id       TEXT PRIMARY KEY REFERENCES users (id),
  sealed_secret TEXT NOT NULL,
  last_counter  BIGINT NOT NULL,
  enabled_at    BIGINT NOT NULL
);

-- What lets a user in who has lost the second factor: each code once.
CREATE TABLE user_recovery_codes (
  user_id   TEXT NOT NULL REFERENCES users (id),
  code_hash TEXT NOT NULL,
  used_at   BIGINT,
  PRIMARY KEY (user_id, code_hash)
);

-- Links that let somebody in without a password, once: to join an account, or to choose a new password.
CREATE TABLE portal_links (
  id         TEXT PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  kind       TEXT NOT NULL CHECK (kind IN ('invitation', 'password-reset')),
  account_id TEXT NOT NULL REFERENCES accounts (id),
  user_id    TEXT REFERENCES users (id),
  email      TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('owner', 'developer', 'viewer')),
  created_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at    BIGINT,
  CHECK ((kind = 'password-reset') = (user_id IS NOT NULL))
);
CREATE INDEX portal_links_of_account ON portal_links (account_id, kind, created_at);
CREATE INDEX portal_links_of_user ON portal_links (user_id) WHERE user_id IS NOT NULL;

-- Attempts to sign in with an email that nobody has: counted, so that they take as long as those that the audit log gets.
CREATE TABLE unknown_sign_ins (
  id       BIGINT PRIMARY KEY,
  attempts BIGINT NOT NULL
);

-- Lists of the portal: each page is a range of one of these.
CREATE INDEX orders_waiting_of_account ON orders (account_id, environment, seq) WHERE status = 'update-photos';
CREATE INDEX ledger_without_charges ON ledger_entries (account_id, environment, seq) WHERE kind <> 'charge';
CREATE INDEX audit_events_by_code ON audit_events (account_id, code, seq);
CREATE INDEX audit_events_by_actor ON audit_events (account_id, actor_id, seq);
CREATE INDEX webhook_endpoints_of_account ON webhook_endpoints (account_id, environment, created_at);
