package deliver

import (
	"math/bits"
	"time"
)

const (
	// maxLoad and minLoad bound the load of a fast endpoint, when it is alone and when there are many: buffered
	// deliveries are sent while the database is busy.
	maxLoad = 32 * maxInFlightPerEndpoint
	minLoad = 4 * maxInFlightPerEndpoint

	// loadPerSlot is the maximum total load per slot.
	loadPerSlot = 4
)

// quota is how many deliveries a fetch may read.
type quota struct {
	all, notFast, slow int
	perFast            int // per fast endpoint
}

func (s *scheduler) quota(now time.Time) quota {
	total := loadPerSlot * s.limit
	r := quota{all: total - s.load, notFast: max(s.limit*3/4, 1), slow: max(s.limit/2, 1)}
	r.perFast = min(max(total/max(len(s.line), len(s.busy), 1), minLoad), maxLoad)
	for _, q := range s.busy {
		switch q.healthAt(now) {
		case fast:
		case unknown:
			r.notFast -= q.load()
		case slow:
			r.notFast -= q.load()
			r.slow -= q.load()
		}
	}
	return r
}

// grant returns how many deliveries to read for the queue and deducts them. A fast endpoint gets many at a time,
// and no more before half of them are sent.
func (r *quota) grant(q *endpointQueue, now time.Time) int {
	n := 0
	switch q.healthAt(now) {
	case fast:
		if q.load() <= r.perFast/2 {
			n = powerOfTwo(min(r.perFast-q.load(), r.all))
		}
	case unknown:
		n = min(1-q.load(), r.notFast, r.all)
		r.notFast -= max(n, 0)
	case slow:
		n = min(maxInFlightPerEndpoint-q.load(), r.notFast, r.slow, r.all)
		r.notFast -= max(n, 0)
		r.slow -= max(n, 0)
	}
	n = max(n, 0)
	r.all -= n
	return n
}

// powerOfTwo rounds down to a power of two, so that the database sees few different statements.
func powerOfTwo(n int) int {
	if n <= 0 {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}
