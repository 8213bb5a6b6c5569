-- What the pages of administrators need beside 00008.

-- +goose Up
-- What staff and operators did to run the service: written in the transaction of the action, never changed or deleted. The
-- names are those of the moment, so that a line can be read for as long as the log is kept. Without a staff_id it was the
-- operator at the command line.
CREATE TABLE staff_actions (
  id          TEXT PRIMARY KEY,
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
  details     TEXT NOT NULL
);
-- Every page of the log is a range of one of these, the newest first.
CREATE INDEX staff_actions_by_time ON staff_actions (at, id);
CREATE INDEX staff_actions_by_code ON staff_actions (code, at, id);
CREATE INDEX staff_actions_by_staff ON staff_actions (staff_id, at, id);
CREATE INDEX staff_actions_by_account ON staff_actions (account_id, at, id);
CREATE INDEX staff_actions_by_target ON staff_actions (target_id, at, id);

-- How many photos each account has, and their size: so that nothing has to walk through them.
CREATE TABLE photo_totals (
  account_id  TEXT NOT NULL REFERENCES accounts (id),
  environment TEXT NOT NULL CHECK (environment IN ('test', 'live')),
  photos      BIGINT NOT NULL,
  bytes       BIGINT NOT NULL,
  PRIMARY KEY (account_id, environment)
);
INSERT INTO photo_totals (account_id, environment, photos, bytes)
SELECT account_id, environment, COUNT(*), CAST(SUM(bytes) AS BIGINT) FROM photos GROUP BY account_id, environment;

-- Orders from before 00006, which do not know their brand and category yet: the program fills them in when it opens the
-- database. There are no others here.
CREATE INDEX orders_without_codes ON orders (id) WHERE category_code = '';
