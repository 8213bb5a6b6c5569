package partition_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/dump"
	"github.com/assayhq/assay/internal/store/partition"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// partsOf returns the parts of a table.
func partsOf(t *testing.T, target, table string) []string {
	t.Helper()
	var names []string
	for _, row := range rawsql.Rows(t, target, "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = '"+
		table+"'::regclass ORDER BY 1") {
		names = append(names, row[0])
	}
	return names
}

// monthsAhead are the parts of this month and those ahead of it.
func monthsAhead(table string, now time.Time) []string {
	first := time.Date(now.UTC().Year(), now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	var names []string
	for i := range 3 {
		names = append(names, table+first.AddDate(0, i, 0).Format("_p20060102"))
	}
	return append(names, table+"_rest")
}

// put adds an ended delivery of a time with its attempt, and an event.
func put(t *testing.T, target string, at time.Time, name string) (id string) {
	t.Helper()
	id = uuid7.First(at)[:24] + fmt.Sprintf("%012x", []byte(name))[:12]
	micros := at.UnixMicro()
	rawsql.Exec(t, target, fmt.Sprintf(`INSERT INTO deliveries (id, endpoint_id, account_id, environment, order_id, event,
		body, created_at) VALUES ('%s', 'e', 'a', 'live', 'o', 'order-outcome', '{}', %d)`, id, micros))
	rawsql.Exec(t, target, fmt.Sprintf(`INSERT INTO delivery_attempts (delivery_id, number, at, duration, http_status,
		failure, answer, ended, kept) VALUES ('%s', 1, %d, 0, 200, '', '', 'delivered', 0)`, id, micros))
	rawsql.Exec(t, target, fmt.Sprintf(`INSERT INTO events (api_key_id, seq, order_id, event, delivery_ids, body,
		created_at) VALUES ('k', %d, 'o', 'order-outcome', '%s', '{}', %d)`, micros, id, micros))
	return id
}

func deliveries(t *testing.T, s *store.Store) (ids []string) {
	t.Helper()
	found, err := s.Deliveries(t.Context(), webhook.DeliveryFilter{Tenant: access.Tenant{AccountID: "a"}}, 100)
	must.NoError(t, err)
	for _, d := range found {
		ids = append(ids, d.ID)
	}
	return ids
}

// TestPartitions follows rows through months: made ahead, moved into their part, dropped with it, except for what is
// still needed.
func TestPartitions(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	now := time.Now().UTC()
	for _, table := range []string{"deliveries", "delivery_attempts"} {
		if got, want := partsOf(t, target, table), monthsAhead(table, now); !slices.Equal(got, want) {
			t.Fatalf("parts %v, want %v", got, want)
		}
	}
	if got := partsOf(t, target, "events"); len(got) != 4 {
		t.Errorf("parts of events: %v", got)
	}
	made, err := s.MakePartitions(t.Context(), now)
	if made != 0 || err != nil {
		t.Errorf("%d parts were missing, %v", made, err)
	}
	then := time.Date(2020, time.May, 10, 12, 0, 0, 0, time.UTC)
	old := put(t, target, then, "old")
	redelivered := put(t, target, then.Add(time.Hour), "again")
	pending := put(t, target, then.Add(2*time.Hour), "pending")
	young := put(t, target, then.AddDate(0, 1, 0), "young")
	current := put(t, target, now, "now")
	if n := rawsql.Rows(t, target, "SELECT COUNT(*) FROM deliveries_rest")[0][0]; n != "4" {
		t.Errorf("%s rows belong to no part, want 4", n)
	}
	for month := range 2 { // as housekeeping would have, at the time
		if _, err := s.MakePartitions(t.Context(), then.AddDate(0, month, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if n := rawsql.Rows(t, target, "SELECT COUNT(*) FROM deliveries_rest")[0][0]; n != "0" {
		t.Errorf("%s rows are left in the rest", n)
	}
	if got := deliveries(t, s); !slices.Equal(got, []string{current, young, pending, redelivered, old}) {
		t.Errorf("the newest first: %v", got)
	}

	// At the end of June everything of May is old.
	before := time.Date(2020, time.June, 5, 0, 0, 0, 0, time.UTC)
	rawsql.Exec(t, target, fmt.Sprintf("UPDATE delivery_attempts SET at = %d WHERE delivery_id = '%s'",
		before.Add(time.Hour).UnixMicro(), redelivered))
	rawsql.Exec(t, target, fmt.Sprintf(`INSERT INTO delivery_queue (endpoint_id, due_at, delivery_id, failures, attempts)
		VALUES ('e', 1, '%s', 0, 1)`, pending))
	dropped, err := s.DropOld(t.Context(), "deliveries", before)
	if dropped != 1 || err != nil {
		t.Errorf("%d parts dropped, %v", dropped, err)
	}
	if got := deliveries(t, s); !slices.Equal(got, []string{current, young, pending, redelivered}) {
		t.Errorf("left are %v", got)
	}
	if d, err := s.Delivery(t.Context(), redelivered); err != nil || d.Status != webhook.Delivered {
		t.Errorf("%+v, %v", d, err)
	}
	for _, table := range []string{"deliveries_p20200501", "delivery_attempts_p20200501"} {
		if got := rawsql.Rows(t, target, "SELECT to_regclass('"+table+"') IS NULL")[0][0]; got != "true" {
			t.Errorf("%s is left", table)
		}
	}
	// What has survived goes row by row once nobody needs it.
	rawsql.Exec(t, target, "DELETE FROM delivery_queue")
	must.NoError(t, s.Update(t.Context(), func(tx *store.Tx) error {
		n, err := tx.DeleteOldDeliveries(before.AddDate(0, 0, 2), 100)
		if n != 2 {
			t.Errorf("%d deliveries deleted, want 2", n)
		}
		return err
	}))
	if got := deliveries(t, s); !slices.Equal(got, []string{current, young}) {
		t.Errorf("left are %v", got)
	}
}

// TestPartitions_Attempts has the attempts of a month go as a whole where there are many: how deliveries have ended
// stays, and what was attempted later. A month that is not over waits.
func TestPartitions_Attempts(t *testing.T) {
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	may, june := time.Date(2020, time.May, 10, 12, 0, 0, 0, time.UTC), time.Date(2020, time.June, 2, 12, 0, 0, 0, time.UTC)
	for _, month := range []time.Time{may, june} {
		_, err := s.MakePartitions(t.Context(), month)
		must.NoError(t, err)
	}
	before := june.AddDate(0, 0, 10)
	var ids []string
	for i := range 60 {
		at := may.Add(time.Duration(i) * time.Second)
		if i >= 30 {
			at = june.Add(time.Duration(i) * time.Second)
		}
		id := put(t, target, at, fmt.Sprintf("%06d", i))
		ids = append(ids, id)
		rawsql.Exec(t, target, fmt.Sprintf(`UPDATE delivery_attempts SET number = 2, kept = 1, answer = 'thanks'
			WHERE delivery_id = '%s'`, id))
		rawsql.Exec(t, target, fmt.Sprintf(`INSERT INTO delivery_attempts (delivery_id, number, at, duration, http_status,
			failure, answer, ended, next_at, kept) VALUES ('%s', 1, %d, 7, 500, '', 'no', '', 1, 1)`, id, at.UnixMicro()))
	}
	again := ids[3]
	rawsql.Exec(t, target, fmt.Sprintf("UPDATE delivery_attempts SET at = %d WHERE delivery_id = '%s' AND number = 2",
		before.Add(time.Hour).UnixMicro(), again))
	failed := []string{ids[4], again} // the list of what has failed is not shortened
	for _, id := range failed {
		rawsql.Exec(t, target, fmt.Sprintf(`UPDATE delivery_attempts SET ended = 'failed', failed_tenant = 7,
			failed_endpoint = 'e' WHERE delivery_id = '%s' AND number = 2`, id))
	}
	table := func() string {
		return rawsql.Rows(t, target, "SELECT 'delivery_attempts_p20200501'::regclass::oid::text")[0][0]
	}
	was := table()
	setManyAttempts(t, 50)
	dropped, wait, err := s.DropOldAttempts(t.Context(), before)
	if err != nil || dropped != 1 || len(wait) != 1 || table() == was {
		t.Errorf("%d parts dropped, %d wait: %v", dropped, len(wait), err)
	}
	rows := rawsql.Rows(t, target, `SELECT delivery_id, number, kept, http_status, answer, ended,
		COALESCE(failed_tenant, 0), COALESCE(failed_endpoint, '') FROM delivery_attempts
		WHERE delivery_id < '`+uuid7.First(june.Add(-24*time.Hour))+"' ORDER BY delivery_id, number")
	if len(rows) != 30 {
		t.Errorf("%d attempts are left of 30 deliveries", len(rows))
	}
	for i, row := range rows {
		want := []string{ids[i], "2", "0", "0", "", "delivered", "0", ""}
		if ids[i] == again {
			want = []string{again, "2", "1", "200", "thanks"}
		}
		if slices.Contains(failed, ids[i]) {
			want = append(want[:5], "failed", "7", "e")
		}
		if !slices.Equal(row, want) {
			t.Errorf("%q, want %q", row, want)
		}
	}
	if d, err := s.Delivery(t.Context(), ids[0]); err != nil || d.Status != webhook.Delivered || d.Attempts != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	late := put(t, target, may.Add(time.Hour), "late")
	if got := rawsql.Rows(t, target, "SELECT tableoid::regclass::text FROM delivery_attempts WHERE delivery_id = $1",
		late)[0][0]; got != "delivery_attempts_p20200501" {
		t.Errorf("a new attempt of May is in %s", got)
	}
	if some, err := s.HasAttempts(t.Context(), before, wait...); some || err != nil {
		t.Errorf("attempts of a part that waits are to be deleted one by one, %v", err)
	}
	prune := func(except ...partition.Range) (n int) {
		must.NoError(t, s.Update(t.Context(), func(tx *store.Tx) (err error) {
			n, err = tx.DeleteOldAttempts(before, 1000, except...)
			return err
		}))
		return n
	}
	if n := prune(wait...); n != 0 {
		t.Errorf("%d attempts of a part that waits were deleted", n)
	}
	setManyAttempts(t, 1000) // few: one by one
	dropped, wait, err = s.DropOldAttempts(t.Context(), before)
	if err != nil || dropped != 0 || len(wait) != 0 {
		t.Errorf("%d parts dropped, %d wait: %v", dropped, len(wait), err)
	}
	if n := prune(wait...); n != 60 {
		t.Errorf("%d attempts of June were deleted", n)
	}
}

// TestPartitions_Events has keys remember which of their events went with a part.
func TestPartitions_Events(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	then := time.Date(2020, time.May, 13, 12, 0, 0, 0, time.UTC) // a Wednesday
	_, err := s.MakePartitions(t.Context(), then)
	must.NoError(t, err)
	rawsql.Exec(t, target, "INSERT INTO accounts (id, name, locale, created_at) VALUES ('a', 'A', 'en', 1)")
	rawsql.Exec(t, target, `INSERT INTO users (id, account_id, email, role, password_hash, created_at)
		VALUES ('u', 'a', 'u', 'owner', '', 1)`)
	rawsql.Exec(t, target, `INSERT INTO api_keys (id, account_id, environment, name, hash, hint, scopes, limits,
		created_by, created_at) VALUES ('k', 'a', 'live', '', '', '', '', '{}', 'u', 1)`)
	put(t, target, then, "old")
	last := then.Add(24 * time.Hour)
	put(t, target, last, "last")
	put(t, target, then.AddDate(0, 0, 7), "young")
	for _, round := range []struct {
		before        time.Time
		dropped, left int
	}{
		{time.Date(2020, time.May, 17, 23, 0, 0, 0, time.UTC), 0, 3},
		{time.Date(2020, time.May, 18, 0, 0, 0, 0, time.UTC), 1, 1},
		{time.Date(2020, time.May, 18, 0, 0, 0, 0, time.UTC), 0, 1},
	} {
		dropped, err := s.DropOld(t.Context(), "events", round.before)
		must.NoError(t, err)
		found, err := s.Events(t.Context(), "k", 0, 10)
		must.NoError(t, err)
		if dropped != round.dropped || len(found) != round.left {
			t.Errorf("%s: %d parts dropped, %d events left", round.before, dropped, len(found))
		}
	}
	gone, err := s.EventsGone(t.Context(), "k")
	if err != nil || gone != webhook.Cursor(last.UnixMicro()) {
		t.Errorf("gone up to %d, %v", gone, err)
	}
}

// TestPartitions_EventsByIndex checks that the events of a part are not read through to find the last one of each key.
func TestPartitions_EventsByIndex(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	_, err := s.MakePartitions(t.Context(), time.Date(2020, time.May, 13, 12, 0, 0, 0, time.UTC))
	must.NoError(t, err)
	const part = "events_p20200511"
	rawsql.Exec(t, target, `INSERT INTO `+part+` (api_key_id, seq, order_id, event, delivery_ids, body, created_at)
		SELECT 'k' || i % 10, i, 'o', 'order-outcome', '', '{}', `+
		fmt.Sprint(time.Date(2020, time.May, 13, 0, 0, 0, 0, time.UTC).UnixMicro())+" FROM generate_series(1, 20000) AS i")
	for _, statistics := range []string{"SELECT 1", "ANALYZE " + part} {
		rawsql.Exec(t, target, statistics)
		var plan strings.Builder
		for _, row := range rawsql.Rows(t, target, "EXPLAIN "+partition.EventsGone(part)) {
			plan.WriteString(row[0] + "\n")
		}
		if p := plan.String(); !strings.Contains(p, "Index Only Scan Backward") || strings.Contains(p, "Seq Scan on "+part) {
			t.Errorf("%s: the plan is\n%s", statistics, p)
		}
	}
}

// TestPartitions_Moved loads rows of past months, from either engine: they are in their parts afterwards.
func TestPartitions_Moved(t *testing.T) {
	t.Parallel()
	storetest.EachTarget(t, func(t *testing.T, from string) {
		s := storetest.Open(t, from)
		past := time.Now().UTC().AddDate(0, -3, 0)
		id := put(t, from, past, "past")
		target := pgtest.Database(t)
		_, err := dump.Load(t.Context(), target, bytes.NewReader(storetest.Dump(t, s)))
		must.NoError(t, err)
		part := past.Format("deliveries_p200601") + "01"
		got := rawsql.Rows(t, target, "SELECT tableoid::regclass::text FROM deliveries")
		if len(got) != 1 || got[0][0] != part {
			t.Errorf("%s is in %v, want %s", id, got, part)
		}
		if got := rawsql.Rows(t, target, "SELECT COUNT(*) FROM events_rest")[0][0]; got != "0" {
			t.Errorf("%s events are in the rest", got)
		}
	})
}

// TestPartitions_Snapshot has housekeeping come between the beginning of a snapshot and its reading: it comes again,
// and the snapshot misses nothing.
func TestPartitions_Snapshot(t *testing.T) {
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	may, july := time.Date(2020, time.May, 10, 12, 0, 0, 0, time.UTC), time.Date(2020, time.July, 1, 0, 0, 0, 0, time.UTC)
	_, err := s.MakePartitions(t.Context(), may)
	must.NoError(t, err)
	for i := range 10 {
		id := put(t, target, may.Add(time.Duration(i)*time.Second), fmt.Sprintf("%06d", i))
		rawsql.Exec(t, target, "UPDATE delivery_attempts SET kept = 1 WHERE delivery_id = '"+id+"'")
		rawsql.Exec(t, target, fmt.Sprintf(`INSERT INTO delivery_queue (endpoint_id, due_at, delivery_id, failures, attempts)
			VALUES ('e', 1, '%s', 0, 1)`, id)) // which lets it survive its part
	}
	setManyAttempts(t, 5)
	drop := func() (dropped int) {
		attempts, _, err := s.DropOldAttempts(t.Context(), july)
		must.NoError(t, err)
		deliveries, err := s.DropOld(t.Context(), "deliveries", july)
		if err != nil && !errors.Is(err, partition.ErrBusy) {
			t.Fatal(err)
		}
		return attempts + deliveries
	}
	must.NoError(t, s.SnapshotTx(t.Context(), func(tx *sql.Tx) error {
		var version int64
		must.NoError(t, tx.QueryRowContext(t.Context(), "SELECT MAX(version_id) FROM goose_db_version").Scan(&version))
		if n := drop(); n != 0 {
			t.Errorf("%d parts were dropped", n)
		}
		put(t, target, may.Add(time.Hour), "late")
		for _, table := range []string{"deliveries", "delivery_attempts", "events"} {
			var rows int64
			must.NoError(t, tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&rows))
			if rows != 10 {
				t.Errorf("%d rows of %s, want 10", rows, table)
			}
		}
		return nil
	}))
	if n := drop(); n == 0 {
		t.Error("no part was dropped after the snapshot")
	}
}

// TestPartitions_WhileQueued drops a part while an event is between inserting its delivery and queueing it: it waits
// for the event, and the event not for it.
func TestPartitions_WhileQueued(t *testing.T) {
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	may, july := time.Date(2020, time.May, 10, 12, 0, 0, 0, time.UTC), time.Date(2020, time.July, 1, 0, 0, 0, 0, time.UTC)
	_, err := s.MakePartitions(t.Context(), may)
	must.NoError(t, err)
	pool, err := sql.Open("pgx", target)
	must.NoError(t, err)
	must.CloseLater(t, pool)
	must.NoError(t, pool.PingContext(t.Context()))
	try := func() (dropped int) {
		tx, err := pool.BeginTx(t.Context(), nil)
		must.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		id := uuid7.New()
		_, err = tx.ExecContext(t.Context(), `INSERT INTO deliveries (id, endpoint_id, account_id, environment, event, body,
			created_at) VALUES ($1, 'e', 'a', 'live', 'order-outcome', '{}', 1)`, id)
		must.NoError(t, err)
		ended := make(chan int, 1)
		go func() {
			n, err := s.DropOld(t.Context(), "deliveries", july)
			if err != nil && !errors.Is(err, partition.ErrBusy) {
				t.Error(err)
			}
			ended <- n
		}()
		must.Eventually(t, time.Minute, "it waits", func() bool {
			var waiting bool
			err := tx.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)").Scan(&waiting)
			must.NoError(t, err)
			return waiting || len(ended) > 0
		})
		_, err = tx.ExecContext(t.Context(), `INSERT INTO delivery_queue (endpoint_id, due_at, delivery_id, failures,
			attempts) VALUES ('e', 1, $1, 0, 0)`, id)
		must.NoError(t, err)
		must.NoError(t, tx.Commit())
		return <-ended
	}
	for range 5 { // a try ends after half a second, which may be too short for a machine that is busy
		if try() > 0 {
			return
		}
	}
	t.Error("the part is not dropped")
}

// TestPartitions_SnapshotAfter begins a snapshot while the parts are being changed: it waits, and shows what became of
// them.
func TestPartitions_SnapshotAfter(t *testing.T) {
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		rawsql.Exec(t, target, `DO $$ BEGIN
			LOCK TABLE delivery_attempts, deliveries IN ACCESS EXCLUSIVE MODE;
			PERFORM pg_sleep(1);
			INSERT INTO deliveries (id, endpoint_id, account_id, environment, order_id, event, body, created_at)
				VALUES ('`+uuid7.New()+`', 'e', 'a', 'live', 'o', 'order-outcome', '{}', 1);
		END $$`)
	}()
	must.Eventually(t, time.Minute, "the tables are locked", func() bool {
		return rawsql.Rows(t, target, `SELECT COUNT(*) FROM pg_locks
			WHERE relation = 'deliveries'::regclass AND mode = 'AccessExclusiveLock' AND granted`)[0][0] != "0"
	})
	must.NoError(t, s.SnapshotTx(t.Context(), func(tx *sql.Tx) error {
		var rows int64
		must.NoError(t, tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM deliveries").Scan(&rows))
		if rows != 1 {
			t.Errorf("%d deliveries, want 1", rows)
		}
		return nil
	}))
	<-changed
}

// setManyAttempts changes how many attempts make a part one that is replaced as a whole, until the test ends.
func setManyAttempts(t *testing.T, n int) {
	before := partition.ManyAttempts
	partition.ManyAttempts = n
	t.Cleanup(func() { partition.ManyAttempts = before })
}
