-- Signed-in browsers, of staff at the desk and of account users in the portal. Only a hash of the cookie is kept.

-- +goose Up
CREATE TABLE sessions (
  id           TEXT PRIMARY KEY,
  token_hash   TEXT NOT NULL UNIQUE,
  audience     TEXT NOT NULL CHECK (audience IN ('desk', 'portal')),
  user_id      TEXT NOT NULL,
  ip           TEXT,
  user_agent   TEXT,
  created_at   BIGINT NOT NULL,
  last_seen_at BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (audience, user_id, created_at);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
