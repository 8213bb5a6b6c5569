package must

import (
	"testing"
	"time"
)

// Eventually waits until a condition holds, and ends the test if it does not within a time. What counts is when a check
// starts: on a busy machine its result may arrive long after.
func Eventually(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		began := time.Now()
		if holds() {
			return
		}
		if began.After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}
