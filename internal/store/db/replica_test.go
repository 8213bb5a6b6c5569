package db

import (
	"context"
	"database/sql"
	"testing"
	"testing/synctest"

	"github.com/assayhq/assay/internal/testkit/must"
)

// named is a connection whose reads tell its name.
type named struct {
	conn
	db   *sql.DB
	name string
	late bool // a read ends when it is canceled, and has succeeded
}

func (n named) query(ctx context.Context, _ string, _ []any) (*sql.Rows, error) {
	if n.late {
		<-ctx.Done()
	}
	return n.db.QueryContext(context.WithoutCancel(ctx), "SELECT $1", n.name)
}

func (n named) records(ctx context.Context, q string, args []any, r *Record, each func() error) error {
	rows, err := n.query(ctx, q, args)
	if err != nil {
		return err
	}
	return scanRecords(rows, r, each)
}

// TestReplica_Late checks that the primary is asked where the time of the replica is up at the moment at which it
// answers: its rows have ended.
func TestReplica_Late(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			db, err := sql.Open("sqlite", ":memory:")
			must.NoError(t, err)
			defer func() { must.NoError(t, db.Close()) }()
			r := &replica{pool: named{db: db, name: "replica", late: late}, primary: named{db: db, name: "primary"}}
			r.state.Store(new(replicaState))
			want := "replica"
			if late {
				want = "primary"
			}
			var got []string
			q := Queries{c: replicaConn{r}}
			must.NoError(t, q.Records(t.Context(), "", nil, func(r *Record) error {
				got = append(got, r.Text(0))
				return nil
			}))
			text, err := Value[string](t.Context(), q, "")
			must.NoError(t, err)
			if len(got) != 1 || got[0] != want || text != want {
				t.Errorf("late %v: got %q and %q, want %q", late, got, text, want)
			}
			if n := db.Stats().InUse; n != 0 {
				t.Errorf("late %v: %d connections are in use", late, n)
			}
		})
	}
}
