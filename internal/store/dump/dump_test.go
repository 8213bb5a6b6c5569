package dump_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/dump"
	"github.com/assayhq/assay/internal/store/schema"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

var dumpedAt = time.Date(2026, time.April, 1, 12, 0, 0, 0, time.UTC)

func written(t testing.TB, s *store.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := dump.Write(t.Context(), s, &b, dumpedAt); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// lines are those of a dump, sorted: the order of rows is the engine's.
func lines(b []byte) []string {
	l := strings.Split(string(b), "\n")
	slices.Sort(l)
	return l
}

// engines returns an empty database of each kind to load into.
var engines = map[string]func(testing.TB) string{"sqlite": storetest.SQLite, "postgres": pgtest.Database}

func TestLoad(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Trade(t)
		// Values that a careless copy would change.
		rawsql.Exec(t, target, `INSERT INTO answer_time_turns (answer_time, turns)
			VALUES (9223372036854775807, -9223372036854775808)`)
		rawsql.Exec(t, target, "UPDATE ledger_entries SET note = '<&> \"\\\" '' \u2028 写真 🙂' "+
			"WHERE seq = 1 AND environment = 'live'")
		want := written(t, s.Store)
		for name, fresh := range engines {
			t.Run("To-"+name, func(t *testing.T) {
				copied := fresh(t)
				h, err := dump.Load(t.Context(), copied, bytes.NewReader(want))
				if err != nil {
					t.Fatal(err)
				}
				if h.Rows("orders") != 8 || h.Rows("accounts") != 1 || h.Rows("nothing") != 0 {
					t.Errorf("rows: %+v", h)
				}
				if h.Total() < 50 || !h.CreatedAt.Equal(dumpedAt) {
					t.Errorf("header: %+v", h)
				}
				other := shop.Open(t, copied, t.TempDir())
				if got := written(t, other.Store); !slices.Equal(lines(got), lines(want)) {
					t.Errorf("the copy differs:\n%s\nwant\n%s", got, want)
				}
				// The copy can be used like the original.
				(&shop.Shop{Installation: other}).Order(t, s.Test, order.MockAuthentic)
				key := s.Test.Actor(access.Origin{})
				if _, total, err := other.Service.OrderPage(t.Context(), key, order.Filter{}, 1, 10); err != nil || total != 6 {
					t.Errorf("%d orders, %v after one more, want 6", total, err)
				}
				if _, err := dump.Load(t.Context(), copied, bytes.NewReader(want)); !errors.Is(err, dump.ErrNotEmpty) {
					t.Errorf("loading again: %v, want ErrNotEmpty", err)
				}
			})
		}
	})
}

// TestLoad_RowIDs checks that orders in SQLite get the rowids that reads look for, and that two with the same one are
// loaded all the same.
func TestLoad_RowIDs(t *testing.T) {
	from, to := storetest.SQLite(t), storetest.SQLite(t)
	s := shop.New(t, from)
	s.Trade(t)
	// Of each order another one with an id of the same moment.
	if err := rawsql.Multiply(t.Context(), from, "orders", "1 = 1", 1, map[string]string{
		"id": "substr(o.id, 1, 35) || CASE WHEN o.id LIKE '%0' THEN '1' ELSE '0' END", "number": "o.number || '2'",
		"seq": "o.seq + 1000",
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := dump.Load(t.Context(), to, bytes.NewReader(written(t, s.Store))); err != nil {
		t.Fatal(err)
	}
	kept := 0
	rows := rawsql.Rows(t, to, "SELECT id, rowid FROM orders")
	for _, row := range rows {
		if row[1] == strconv.FormatInt(store.RowID(row[0]), 10) {
			kept++
		}
	}
	if len(rows) != 16 || kept != 8 {
		t.Errorf("%d of %d orders have their rowid, want 8 of 16: %v", kept, len(rows), rows)
	}
}

// TestLoad_AnyOrder loads rows in another order than they were made in: PostgreSQL puts a row where there is space, so
// that a refund may come before its charge.
func TestLoad_AnyOrder(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, storetest.SQLite(t))
		s.Trade(t)
		want := written(t, s.Store)
		var h dump.Header
		head, rest, _ := bytes.Cut(want, []byte("\n"))
		if err := json.Unmarshal(head, &h); err != nil {
			t.Fatal(err)
		}
		all := strings.Split(string(rest), "\n")
		from := int64(0)
		for _, table := range h.Tables {
			slices.Reverse(all[from : from+table.Rows])
			from += table.Rows
		}
		turned := string(head) + "\n" + strings.Join(all, "\n")
		if h.Rows("ledger_entries") == 0 || turned == string(want) {
			t.Fatal("nothing was turned round")
		}
		if _, err := dump.Load(t.Context(), target, strings.NewReader(turned)); err != nil {
			t.Fatal(err)
		}
		if got := written(t, storetest.Open(t, target)); !slices.Equal(lines(got), lines(want)) {
			t.Error("the copy differs")
		}
	})
}

func TestLoad_Refusals(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, storetest.SQLite(t))
		good := string(written(t, s.Store))
		for _, c := range []struct {
			name string
			text string
			want error // nil: any
		}{
			{"NewerSchema", strings.Replace(good, `"schema_version":`, `"schema_version":9`, 1), dump.ErrNewer},
			{"NewerFormat", strings.Replace(good, `"format":1`, `"format":2`, 1), dump.ErrNewer},
			{"NotADump", "{}", nil},
			{"Empty", "", io.ErrUnexpectedEOF},
			{"CutOff", good[:len(good)/2], io.ErrUnexpectedEOF},
			{"EndMissing", strings.Replace(good, `{"end":true}`, "", 1), io.ErrUnexpectedEOF},
			{"MoreAfterTheEnd", good + "[]\n", nil},
			{"UnknownColumn", strings.Replace(good, `"locale"`, `"tongue"`, 1), nil},
			{"TextForNumber", strings.Replace(good, `,1000,1000,`, `,"1000",1000,`, 1), nil},
			{"BrokenReference", strings.Replace(good, `["`+s.Account.ID+`","`, `["`+uuid7.New()+`","`, 1), nil},
		} {
			t.Run(c.name, func(t *testing.T) {
				if c.text == good {
					t.Fatal("nothing was changed")
				}
				_, err := dump.Load(t.Context(), target, strings.NewReader(c.text))
				if err == nil || c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		}
		// Nothing of all this is left: the right dump can still be loaded.
		if _, err := dump.Load(t.Context(), target, strings.NewReader(good)); err != nil {
			t.Error(err)
		}
	})
}

func TestWrite_Upgraded(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := storetest.Open(t, target)
		applied := "1"
		if store.IsPostgres(target) {
			applied = "TRUE"
		}
		rawsql.Exec(t, target, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, "+applied+")")
		if _, err := dump.Write(t.Context(), s, io.Discard, dumpedAt); !errors.Is(err, schema.ErrNewerDatabase) {
			t.Errorf("got %v, want ErrNewerDatabase: a newer program has upgraded the database meanwhile", err)
		}
	})
}

// TestWrite_BrokenText copies text that is not valid UTF-8, which SQLite accepts.
func TestWrite_BrokenText(t *testing.T) {
	target := storetest.SQLite(t)
	s := storetest.Open(t, target)
	rawsql.Exec(t, target, `INSERT INTO accounts (id, name, locale, created_at)
		VALUES ('a', CAST(x'61ff62' AS TEXT), 'en', 1)`)
	copied := storetest.SQLite(t)
	if _, err := dump.Load(t.Context(), copied, bytes.NewReader(written(t, s))); err != nil {
		t.Fatal(err)
	}
	if got := rawsql.Rows(t, copied, "SELECT hex(name) FROM accounts")[0][0]; got != "61FF62" {
		t.Errorf("got %s, want 61FF62", got)
	}
}
