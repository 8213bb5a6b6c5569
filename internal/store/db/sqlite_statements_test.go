package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"testing"
)

func openStatements(t *testing.T, limit int) (_ *statements, prepared func() []*sql.Stmt) {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []*sql.Stmt
	s := newStatements(func(ctx context.Context, text string) (*sql.Stmt, error) {
		stmt, err := db.PrepareContext(ctx, text) //nolint:sqlclosecheck // the cache closes it
		mu.Lock()
		defer mu.Unlock()
		all = append(all, stmt)
		return stmt, err
	}, limit)
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, func() []*sql.Stmt {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// open reports whether the statement can still be used.
func open(t *testing.T, s *sql.Stmt) bool {
	t.Helper()
	rows, err := s.QueryContext(t.Context())
	if err != nil {
		return false
	}
	defer rows.Close()
	return rows.Next() && rows.Err() == nil
}

func selectNumber(t *testing.T, s *statements, n int) {
	t.Helper()
	rows, err := s.query(t.Context(), fmt.Sprintf("SELECT %d", n), nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer rows.Close()
	var got int
	if !rows.Next() || rows.Scan(&got) != nil || got != n || rows.Err() != nil {
		t.Errorf("got %d, %v; want %d", got, rows.Err(), n)
	}
}

// TestStatements_Bound checks that the statement that was not used for the longest time is closed.
func TestStatements_Bound(t *testing.T) {
	s, prepared := openStatements(t, 3)
	for _, n := range []int{1, 2, 3, 1, 4, 5, 1} {
		selectNumber(t, s, n)
	}
	all := prepared() // 1, 2, 3, 4, 5: each once
	if len(all) != 5 {
		t.Fatalf("%d statements were prepared, want 5", len(all))
	}
	for i, want := range []bool{true, false, false, true, true} {
		if got := open(t, all[i]); got != want {
			t.Errorf("statement %d is open: %t, want %t", i+1, got, want)
		}
	}
}

// TestStatements_InUse checks that a statement that is dropped while it is in use is closed by its last user.
func TestStatements_InUse(t *testing.T) {
	s, prepared := openStatements(t, 1)
	stmt, err := s.acquire(t.Context(), "SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	selectNumber(t, s, 2)
	first := prepared()[0]
	if !open(t, first) {
		t.Error("a statement was closed under its user")
	}
	if err := s.release(stmt); err != nil {
		t.Fatal(err)
	}
	if open(t, first) {
		t.Error("the statement was not closed after its use")
	}
}

func TestStatements_Concurrent(t *testing.T) {
	s, _ := openStatements(t, 2)
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for n := range 200 {
				selectNumber(t, s, n%5)
			}
		})
	}
	readers.Wait()
	if got := s.used.Len(); got != 2 || len(s.byText) != 2 {
		t.Errorf("%d statements are kept under %d texts, want 2", got, len(s.byText))
	}
}

// TestDB_Statements checks that neither readers nor the writer keep a statement for every text.
func TestDB_Statements(t *testing.T) {
	s := openTest(t)
	var got int
	err := s.Update(t.Context(), func(tx *Tx) error {
		for n := range maxStatements + 50 {
			text := fmt.Sprintf("SELECT %d", n)
			if err := tx.Row(t.Context(), text, nil, &got); err != nil {
				return err
			}
			if err := s.Row(t.Context(), text, nil, &got); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, w := s.readers.used.Len(), s.writer.used.Len(); r != maxStatements || w != maxStatements {
		t.Errorf("readers keep %d statements and the writer %d, want %d", r, w, maxStatements)
	}
}
