-- Mail to people, and the credits below which the owners of an account are told.

-- +goose Up
-- Mail that waits to be sent, written in the transaction of what it tells about. Address, subject and body are sealed. A row
-- goes when its mail is sent; that of a mail which could not be delivered stays for a while, without its content. due_at
-- is when to send it, or, while a node is sending it, when the claim of that node ends. What takes a link back takes its
-- mail back.
CREATE TABLE mails (
  id         TEXT PRIMARY KEY,
  kind       TEXT NOT NULL,
  account_id TEXT REFERENCES accounts (id),
  link_id    TEXT REFERENCES portal_links (id) ON DELETE CASCADE,
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

-- In the row that every charge updates anyway, so that a charge learns it without asking. 0: nobody is told.
ALTER TABLE balances ADD COLUMN low_credits BIGINT NOT NULL DEFAULT 100 CHECK (low_credits >= 0);
