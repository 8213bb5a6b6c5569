package db

import (
	"context"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store/admission"
)

// TestWriteHeldUp checks that a request whose write the disk holds up is told that the service is unavailable, and that
// what had not begun by then is never done.
func TestWriteHeldUp(t *testing.T) {
	s := openTest(t)
	s.writer.limit = 50 * time.Millisecond
	disk, begun := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- s.Update(t.Context(), func(*Tx) error {
			close(begun)
			<-disk
			return nil
		})
	}()
	<-begun
	done := false
	err := s.Update(t.Context(), func(*Tx) error {
		done = true
		return nil
	})
	for _, err := range []error{err, <-first} {
		if fault.CodeOf(err) != fault.CodeUnavailable {
			t.Errorf("%v, want %s", err, fault.CodeUnavailable)
		}
	}
	patient := make(chan error, 1)
	go func() {
		patient <- s.Update(admission.Unhurried(context.Background()), func(*Tx) error { return nil })
	}()
	select {
	case err := <-patient:
		t.Errorf("background work does not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(disk)
	if err := <-patient; err != nil {
		t.Error(err)
	}
	if done {
		t.Error("a write was done after its request was told that it was not")
	}
}
