-- Certificates of authentic orders: the signed document is written once, in the transaction of the verdict. Public keys stay
-- when the secret key is changed, so that what was signed before can still be verified.

-- +goose Up
CREATE TABLE certificate_keys (
  id         TEXT PRIMARY KEY,
  public_key TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE certificates (
  id             TEXT PRIMARY KEY,
  order_id       TEXT NOT NULL REFERENCES orders (id),
  document       TEXT NOT NULL,
  signature      TEXT NOT NULL,
  key_id         TEXT NOT NULL REFERENCES certificate_keys (id),
  issued_at      BIGINT NOT NULL,
  revoked_at     BIGINT,
  revoked_reason TEXT,
  CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL))
);
CREATE INDEX certificates_of_order ON certificates (order_id);
