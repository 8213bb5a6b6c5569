package deliver

import (
	"fmt"
	"testing"

	"github.com/assayhq/assay/internal/store/uuid7"
)

// TestPresence checks that all senders choose the same node for an endpoint, that endpoints are spread evenly, and
// that those of remaining nodes do not move.
func TestPresence(t *testing.T) {
	const endpoints = 1000
	owner := make(map[string]string)
	var nodes []string
	for n := 1; n <= 6; n++ {
		nodes = append(nodes, uuid7.New())
		p := new(presence)
		if !p.set(nodes) || p.set(nodes) {
			t.Error("news is not told from what is known")
		}
		parts := make(map[string]int)
		for i := range endpoints {
			id := fmt.Sprint(i)
			var chosen []string
			for _, node := range nodes {
				if p.owns(node, id) {
					chosen = append(chosen, node)
				}
			}
			if len(chosen) != 1 {
				t.Fatalf("endpoint %s has %d senders", id, len(chosen))
			}
			if chosen[0] != owner[id] && chosen[0] != nodes[n-1] {
				t.Errorf("endpoint %s went from one old sender to another", id)
			}
			owner[id] = chosen[0]
			parts[chosen[0]]++
		}
		for _, node := range nodes {
			if parts[node] < endpoints/n/2 {
				t.Errorf("%d of %d endpoints for one of %d senders", parts[node], endpoints, n)
			}
		}
	}
	if !new(presence).owns("a", "b") {
		t.Error("a sender that knows of no other does not send")
	}
}
