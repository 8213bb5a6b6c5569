-- What the pages of administrators need beside what the desk has.

-- +goose Up
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
