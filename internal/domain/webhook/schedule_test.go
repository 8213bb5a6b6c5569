package webhook

import (
	"testing"
	"time"
)

func TestSchedule(t *testing.T) {
	s := DefaultSchedule()
	if len(s.Delays)+1 != 4 {
		t.Errorf("%d attempts in total, want 4", len(s.Delays)+1)
	}
	for name, test := range map[string]struct {
		attempt int
		jitter  float64
		want    time.Duration
		more    bool
	}{
		"First":       {1, 0, 1 * time.Minute, true},
		"Second":      {2, 0, 3 * time.Minute, true},
		"Third":       {3, 0, 7 * time.Minute, true},
		"Fourth":      {4, 0, 0, false},
		"SentAgain":   {5, 0, 0, false},
		"None":        {0, 0, 0, false},
		"HalfJitter":  {2, 0.5, 3*time.Minute + 9*time.Second, true},
		"FirstJitter": {1, 0.5, 1*time.Minute + 3*time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, more := s.Next(test.attempt, test.jitter)
			if got != test.want || more != test.more {
				t.Errorf("Next(%d, %v) = %v, %v, want %v, %v", test.attempt, test.jitter, got, more, test.want, test.more)
			}
		})
	}
	if got, _ := s.Next(3, 0.999999); got <= 7*time.Minute || got > 7*time.Minute+42*time.Second {
		t.Errorf("the most jitter gives %v, want at most a tenth more", got)
	}
}

func TestScheduleWithoutDelays(t *testing.T) {
	var s Schedule
	if _, more := s.Next(1, 0); more || len(s.Delays)+1 != 1 {
		t.Error("a schedule without delays has one attempt")
	}
}
