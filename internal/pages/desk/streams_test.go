package desk

import "testing"

// TestStreamLimit checks that one session cannot hold streams without end, and that others are not affected.
func TestStreamLimit(t *testing.T) {
	f := newFeed(nil, nil)
	f.watching = true // nobody looks at numbers in this test
	var open []chan struct{}
	for range feedsPerPerson {
		open = append(open, f.join("a"))
	}
	if f.join("a") != nil {
		t.Error("a session has more streams than it may have")
	}
	if f.join("b") == nil {
		t.Error("another session is refused")
	}
	f.leave(open[0])
	if f.join("a") == nil {
		t.Error("a stream that has ended still counts")
	}
}
