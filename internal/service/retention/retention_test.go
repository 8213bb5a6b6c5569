package retention

import (
	"errors"
	"fmt"
	"testing"

	"github.com/assayhq/assay/internal/store"
)

// TestBusyPartitions checks that partitions which are in use for long are told about, and those of a moment are not.
func TestBusyPartitions(t *testing.T) {
	c := New(nil, nil, nil, nil)
	busy := fmt.Errorf("drop: %w", store.ErrPartitionBusy)
	for range 2 {
		for try := 1; try <= busyTries+1; try++ {
			if err := c.bear("events", busy); (err != nil) != (try >= busyTries) {
				t.Errorf("try %d: %v", try, err)
			}
		}
		if err := c.bear("deliveries", busy); err != nil {
			t.Errorf("the first try of another table: %v", err)
		}
		for _, err := range []error{nil, errors.New("another")} {
			if got := c.bear("events", err); !errors.Is(got, err) {
				t.Errorf("%v became %v", err, got)
			}
		}
	}
}
