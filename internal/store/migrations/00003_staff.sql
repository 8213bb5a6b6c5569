-- +goose Up
-- The people, and programs, of the desk. They belong to the service, not to an account.
CREATE TABLE staff (
  id             TEXT PRIMARY KEY,
  email          TEXT NOT NULL UNIQUE,
  name           TEXT NOT NULL,
  role           TEXT NOT NULL CHECK (role IN ('reviewer', 'admin')),
  password_hash  TEXT NOT NULL,
  token_hash     TEXT NOT NULL UNIQUE,
  created_at     BIGINT NOT NULL,
  deactivated_at BIGINT
);

-- How many Live orders are in each status but queued: what is in no row of this table is queued, and the balances know
-- how many orders there are. So a creation, which must be quick, changes nothing here, and no list has to count.
CREATE TABLE live_order_counts (
  status TEXT PRIMARY KEY CHECK (status IN ('processing', 'update-photos', 'completed', 'error')),
  orders BIGINT NOT NULL
);
INSERT INTO live_order_counts (status, orders)
SELECT s.status, (SELECT COUNT(*) FROM orders WHERE orders.environment = 'live' AND orders.status = s.status)
FROM (SELECT 'processing' AS status UNION ALL SELECT 'update-photos' UNION ALL SELECT 'completed' UNION ALL SELECT 'error') AS s;

-- Every list of the desk is a range of one of these two: the earliest due first, without a due date last.
DROP INDEX orders_queue;
CREATE INDEX orders_desk ON orders (environment, status, COALESCE(due_at, 9223372036854775807), id);
CREATE INDEX orders_of_assignee ON orders (assignee_id, environment, status, COALESCE(due_at, 9223372036854775807), id) WHERE assignee_id IS NOT NULL;
