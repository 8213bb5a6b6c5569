-- What the portal's pages of keys, orders and webhooks show, at a cost that does not grow with the business.

-- +goose Up
-- Where a key may be used from: networks, separated by spaces; none: anywhere.
ALTER TABLE api_keys ADD COLUMN networks TEXT NOT NULL DEFAULT '';

-- Lists of the orders in one state: the outcome of an order that has one, else its status.
DROP INDEX orders_waiting_of_account;
CREATE INDEX orders_by_state ON orders (account_id, environment, COALESCE(outcome, status), seq);

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
INSERT INTO order_results (account_id, environment, day, result, took, orders)
SELECT e.account_id, e.environment, e.ended_at / 86400000000, e.result,
  CASE WHEN e.took IS NULL THEN -1 WHEN e.took < 1000000 THEN 0 ELSE 3 * CAST(ROUND(LN(CAST(e.took AS DOUBLE PRECISION) / 1000000) / (3 * LN(CAST(1.04 AS DOUBLE PRECISION)))) AS BIGINT) END,
  COUNT(*)
FROM (
  SELECT account_id, environment, ended_at, COALESCE(outcome, status) AS result,
    CASE WHEN outcome IN ('authentic', 'fake', 'unable-to-verify') AND due_at IS NOT NULL THEN answer_time * 60000000 - (due_at - ended_at) END AS took
  FROM orders WHERE ended_at IS NOT NULL
) AS e
GROUP BY 1, 2, 3, 4, 5;

-- How the attempts to deliver to an endpoint went, by hour (UTC, since 1970), for some days.
CREATE TABLE endpoint_hours (
  endpoint_id  TEXT NOT NULL,
  hour         BIGINT NOT NULL,
  acknowledged BIGINT NOT NULL,
  failed       BIGINT NOT NULL,
  PRIMARY KEY (endpoint_id, hour)
);
CREATE INDEX endpoint_hours_by_age ON endpoint_hours (hour);
