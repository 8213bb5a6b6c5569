package docs_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/order"
)

// TestStates compares the table of moves in states.md with the state machine and the rules of the database.
func TestStates(t *testing.T) {
	text, err := os.ReadFile("states.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("Moves", func(t *testing.T) {
		code := regexp.MustCompile("`([a-z-]+)`")
		written := make(map[order.Move]map[order.Status]order.Status)
		for line := range strings.SplitSeq(string(text), "\n") {
			cells := strings.Split(line, "|")
			if len(cells) < 5 || strings.TrimSpace(cells[1]) == "create" {
				continue
			}
			move := order.Move(strings.TrimSpace(cells[1]))
			to := code.FindStringSubmatch(cells[3])
			if !slices.Contains(order.Moves, move) || to == nil {
				continue
			}
			written[move] = make(map[order.Status]order.Status)
			for _, from := range code.FindAllStringSubmatch(cells[2], -1) {
				written[move][order.Status(from[1])] = order.Status(to[1])
			}
		}
		for _, move := range order.Moves {
			for _, from := range order.Statuses {
				to, _ := order.Next(from, move)
				if written[move][from] != to {
					t.Errorf("%s from %s leads to %q, states.md says %q", move, from, to, written[move][from])
				}
			}
		}
	})
	schema, err := os.ReadFile("../internal/store/schema/migrations/00001_foundation.sql")
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(column string) []string {
		m := regexp.MustCompile(column+` +TEXT[A-Z ]*CHECK \(`+column+` IN \(([^)]*)\)`).FindAllStringSubmatch(string(schema),
			-1)
		var values []string
		for _, list := range m {
			for value := range strings.SplitSeq(list[1], ",") {
				values = append(values, strings.Trim(value, " '"))
			}
		}
		return values
	}
	t.Run("DatabaseStatuses", func(t *testing.T) {
		values := quoted("status")
		for _, s := range order.Statuses {
			if !slices.Contains(values, string(s)) {
				t.Errorf("the database does not take the status %s: %q", s, values)
			}
		}
	})
	t.Run("DatabaseOutcomes", func(t *testing.T) {
		values := quoted("outcome")
		if len(values) != len(order.Outcomes) {
			t.Errorf("the database takes the outcomes %q", values)
		}
		for _, o := range order.Outcomes {
			if !slices.Contains(values, string(o)) {
				t.Errorf("the database does not take the outcome %s: %q", o, values)
			}
		}
	})
}
