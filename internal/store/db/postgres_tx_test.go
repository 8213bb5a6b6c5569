package db

import (
	"errors"
	"testing"

	"github.com/assayhq/assay/internal/testkit/pgtest"
)

// TestBatch_RefusedByItsCaller checks that nothing of a batch is committed when the caller finds its results wrong,
// also where it ends its transaction.
func TestBatch_RefusedByItsCaller(t *testing.T) {
	s, err := Open(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Update(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec("CREATE TABLE entries (v TEXT)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("wrong")
	for name, command := range map[string]Command{
		"Changed": {Text: "INSERT INTO entries VALUES ('a')", Changed: func(int64) error { return wrong }},
		"Each":    {Text: "INSERT INTO entries VALUES ('a') RETURNING v", Each: func(*Record) error { return wrong }},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Update(t.Context(), func(tx *Tx) error { return tx.Batch([]Command{command}, true) })
			if !errors.Is(err, wrong) {
				t.Errorf("got %v, want %v", err, wrong)
			}
			n, err := Value[int64](t.Context(), s.Queries, "SELECT COUNT(*) FROM entries")
			if n != 0 || err != nil {
				t.Errorf("%d entries are committed, %v", n, err)
			}
		})
	}
	if err := s.Update(t.Context(), func(tx *Tx) error {
		return tx.Batch([]Command{{
			Text: "INSERT INTO entries VALUES ('b')", Changed: func(int64) error { return nil },
		}}, true)
	}); err != nil {
		t.Error(err)
	}
	n, err := Value[int64](t.Context(), s.Queries, "SELECT COUNT(*) FROM entries")
	if n != 1 || err != nil {
		t.Errorf("%d entries are committed, %v, want 1", n, err)
	}
}
