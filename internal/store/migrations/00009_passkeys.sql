-- Passkeys of account users: they sign in with their device instead of a password and a code.

-- +goose Up
-- What is kept of a passkey is public: the private key never leaves the device. The ids, keys and transports are as the
-- device gave them, in base64url and separated by spaces. The counter grows with each use of devices that count.
CREATE TABLE user_passkeys (
  id              TEXT PRIMARY KEY,
  user_id         TEXT NOT NULL REFERENCES users (id),
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
CREATE INDEX user_passkeys_of_user ON user_passkeys (user_id, created_at);

-- Challenges that were answered: none is answered twice. One that nobody answers is not here.
CREATE TABLE spent_challenges (
  challenge_hash TEXT PRIMARY KEY,
  expires_at     BIGINT NOT NULL
);
CREATE INDEX spent_challenges_by_expiry ON spent_challenges (expires_at);
