package ratelimit

import "time"

// expirePerCall bounds the expired windows that one call removes. It is more than the one window that a call can
// add, so that expired windows do not pile up, and small, so that no single request pays for a burst.
const expirePerCall = 4

// windows stores the windows of many keys. All have the same length, so that the list is sorted by start and by
// end, oldest first. It is not safe for concurrent use.
type windows[K comparable] struct {
	length         time.Duration // 0: Window
	byKey          map[K]*window[K]
	oldest, newest *window[K]
}

type window[K comparable] struct {
	key          K
	start        time.Duration // since the owner's epoch
	count        int
	older, newer *window[K]
}

// running returns the current window of the key, or nil. A window that starts after now belongs to a clock that was
// set back, and is over.
func (w *windows[K]) running(key K, now time.Duration) *window[K] {
	found := w.byKey[key]
	if found == nil || w.over(found, now) {
		return nil
	}
	return found
}

// begin starts a window for the key with a count of zero, reusing its previous one.
func (w *windows[K]) begin(key K, now time.Duration) *window[K] {
	started := w.byKey[key]
	if started == nil {
		if w.byKey == nil {
			w.byKey = make(map[K]*window[K])
		}
		started = &window[K]{key: key}
		w.byKey[key] = started
	} else {
		w.unlink(started)
	}
	started.start, started.count = now, 0
	started.older, started.newer = w.newest, nil
	if w.newest == nil {
		w.oldest = started
	} else {
		w.newest.newer = started
	}
	w.newest = started
	return started
}

// expire removes some expired windows.
func (w *windows[K]) expire(now time.Duration) {
	for range expirePerCall {
		if w.oldest == nil || !w.over(w.oldest, now) {
			return
		}
		w.remove(w.oldest)
	}
}

func (w *windows[K]) remove(gone *window[K]) {
	w.unlink(gone)
	delete(w.byKey, gone.key)
}

func (w *windows[K]) unlink(gone *window[K]) {
	if gone.older == nil {
		w.oldest = gone.newer
	} else {
		gone.older.newer = gone.newer
	}
	if gone.newer == nil {
		w.newest = gone.older
	} else {
		gone.newer.older = gone.older
	}
	gone.older, gone.newer = nil, nil
}

func (w *windows[K]) over(x *window[K], now time.Duration) bool {
	return now < x.start || w.left(x, now) <= 0
}

// left is the time until a running window ends.
func (w *windows[K]) left(x *window[K], now time.Duration) time.Duration {
	length := w.length
	if length == 0 {
		length = Window
	}
	return length - (now - x.start)
}
