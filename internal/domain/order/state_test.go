package order_test

import (
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
)

// machine is the whole state machine as it is promised: the status that each move leads to from each status. An empty
// status is a refusal.
var machine = map[order.Move]map[order.Status]order.Status{
	order.Claim:         {"queued": "processing", "processing": "", "update-photos": "", "completed": "", "error": ""},
	order.Release:       {"queued": "", "processing": "queued", "update-photos": "", "completed": "", "error": ""},
	order.RequestPhotos: {"queued": "", "processing": "update-photos", "update-photos": "", "completed": "", "error": ""},
	order.SubmitPhotos:  {"queued": "", "processing": "", "update-photos": "processing", "completed": "", "error": ""},
	order.Complete:      {"queued": "", "processing": "completed", "update-photos": "", "completed": "", "error": ""},
	order.Fail:          {"queued": "", "processing": "error", "update-photos": "", "completed": "", "error": ""},
	order.Cancel: {
		"queued": "completed", "processing": "completed", "update-photos": "completed", "completed": "", "error": "",
	},
	order.Expire: {"queued": "", "processing": "", "update-photos": "completed", "completed": "", "error": ""},
}

// TestNext tries every move on every status.
func TestNext(t *testing.T) {
	if len(machine) != len(order.Moves) {
		t.Fatalf("the test knows %d moves, there are %d", len(machine), len(order.Moves))
	}
	for _, move := range order.Moves {
		for _, from := range order.Statuses {
			want, known := machine[move][from]
			if !known {
				t.Fatalf("the test does not know %s from %s", move, from)
			}
			t.Run(string(move)+"/"+string(from), func(t *testing.T) {
				to, err := order.Next(from, move)
				if want != "" {
					if err != nil || to != want {
						t.Errorf("leads to %q (%v), not %q", to, err, want)
					}
					return
				}
				refusal, ok := err.(*fault.Error) //nolint:errorlint // the rule itself is asked
				if !ok || to != "" || refusal.Code != "invalid-transition" || refusal.Kind != fault.Conflict ||
					refusal.Details["status"] != string(from) {
					t.Errorf("leads to %q with %v, not to a refusal", to, err)
				}
			})
		}
	}
}

// TestCanMove tries every status against every other.
func TestCanMove(t *testing.T) {
	allowed := map[order.Status][]order.Status{
		"queued":        {"processing", "completed"},
		"processing":    {"queued", "update-photos", "completed", "error"},
		"update-photos": {"processing", "completed"},
	}
	for _, from := range order.Statuses {
		for _, to := range order.Statuses {
			t.Run(string(from)+"/"+string(to), func(t *testing.T) {
				leads := func(move order.Move) bool {
					next, err := order.Next(from, move)
					return err == nil && next == to
				}
				if got, want := slices.ContainsFunc(order.Moves, leads), slices.Contains(allowed[from], to); got != want {
					t.Errorf("can move is %v, not %v", got, want)
				}
			})
		}
	}
}

// TestStatus holds the values of the wire, and which of them end an order.
func TestStatus(t *testing.T) {
	t.Run("Values", func(t *testing.T) {
		want := []order.Status{"queued", "processing", "update-photos", "completed", "error"}
		if !slices.Equal(order.Statuses, want) {
			t.Errorf("the statuses are %q, not %q", order.Statuses, want)
		}
	})
	t.Run("Terminal", func(t *testing.T) {
		for _, s := range order.Statuses {
			if got, want := s.Terminal(), s == "completed" || s == "error"; got != want {
				t.Errorf("%s is terminal: %v", s, got)
			}
			for _, move := range order.Moves {
				if _, err := order.Next(s, move); s.Terminal() && err == nil {
					t.Errorf("%s follows %s", move, s)
				}
			}
		}
	})
}

// TestOutcome holds the values of the wire and their labels.
func TestOutcome(t *testing.T) {
	labels := map[order.Outcome][2]string{
		"authentic":        {"Authentic", "真正品"},
		"fake":             {"Fake", "偽造品"},
		"unable-to-verify": {"Unable to verify", "判定不能"},
		"canceled":         {"Canceled", "キャンセル"},
	}
	t.Run("Values", func(t *testing.T) {
		if want := []order.Outcome{"authentic", "fake", "unable-to-verify", "canceled"}; !slices.Equal(order.Outcomes, want) {
			t.Errorf("the outcomes are %q, not %q", order.Outcomes, want)
		}
	})
	t.Run("Labels", func(t *testing.T) {
		for outcome, want := range labels {
			if got := outcome.Label(); got.EN != want[0] || got.JA != want[1] {
				t.Errorf("%s is %q and %q", outcome, got.EN, got.JA)
			}
		}
	})
	t.Run("MockOutcomes", func(t *testing.T) {
		if want := []order.MockOutcome{
			"authentic", "fake", "unable-to-verify", "update-photos",
		}; !slices.Equal(order.MockOutcomes, want) {
			t.Errorf("the mock outcomes are %q, not %q", order.MockOutcomes, want)
		}
		for _, s := range []string{"", "canceled", "Fake", "fake "} {
			if m, ok := order.ParseMockOutcome(s); ok || m != "" {
				t.Errorf("%q is read as %q", s, m)
			}
		}
	})
}
