package webhook

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/access"
)

// Status is the state of a delivery.
type Status string

// The states of a delivery.
const (
	Pending   Status = "pending"   // an attempt is due now or later
	Delivered Status = "delivered" // an attempt was acknowledged
	Failed    Status = "failed"    // every attempt failed
)

// Statuses are all of them.
var Statuses = []Status{Pending, Delivered, Failed}

// Delivery is one event for one endpoint.
type Delivery struct {
	ID string // told to the receiver, the same in every attempt
	access.Tenant
	EndpointID    string
	EndpointURL   string // empty when the endpoint is deleted
	OrderID       string
	Event         Event
	Body          []byte // the exact bytes of every attempt
	Trace         string // traceparent of what caused it; empty: not traced
	Status        Status
	Attempts      int       // made so far
	CreatedAt     time.Time // also in the body
	NextAttemptAt time.Time // while pending
	FinishedAt    time.Time // zero while pending
}

// Retrying says whether the delivery is pending after at least one attempt.
func (d Delivery) Retrying() bool { return d.Status == Pending && d.Attempts > 0 }

// Attempt is one try to deliver, as the portal shows it.
type Attempt struct {
	DeliveryID string
	Number     int // from 1
	At         time.Time
	Duration   time.Duration
	HTTPStatus int     // 0: no answer, then Failure says why
	Failure    Failure // empty when there was an answer
	Answer     string  // the beginning of the answer's body, see Excerpt
	Headers    string  // of an answer that did not acknowledge, see HeaderExcerpt
}

// Failure says why an attempt got no answer.
type Failure string

// The failures.
const (
	FailureTimeout      Failure = "timeout"        // no answer in time
	FailureUnresolvable Failure = "unresolvable"   // the host has no address
	FailureUnsafe       Failure = "unsafe-address" // the host's address must not be called
	FailureConnection   Failure = "connection"     // refused, reset, or not HTTP
	FailureTLS          Failure = "tls"            // no trusted certificate, or no TLS at all
	FailureToken        Failure = "token"          // the token URL gave no access token
	FailurePaused       Failure = "paused"         // the endpoint was paused for too long
)

// Acknowledged reports whether the receiver accepted the delivery, with a 2xx status. Redirects are not followed.
func (a Attempt) Acknowledged() bool { return a.HTTPStatus >= 200 && a.HTTPStatus <= 299 }

// Redirected reports whether the receiver named another address, which is not followed.
func (a Attempt) Redirected() bool { return a.HTTPStatus >= 300 && a.HTTPStatus <= 399 }

// Reached reports whether the request was probably sent: not if the host has no address, must not be called or has
// no trusted certificate, or if there was no access token.
func (a Attempt) Reached() bool {
	return a.HTTPStatus != 0 || a.Failure == FailureTimeout || a.Failure == FailureConnection
}

// MaxAnswer is how much of an answer is kept, in bytes.
const MaxAnswer = 1024

// Excerpt returns the first MaxAnswer bytes of a response body as text that every database and page can store: NUL
// and bytes that are not UTF-8 become U+FFFD, and no character is cut in two.
func Excerpt(answer []byte) string {
	if len(answer) > MaxAnswer {
		answer = answer[:MaxAnswer]
		answer = answer[:len(answer)-cutRune(answer)]
	}
	var b strings.Builder
	b.Grow(len(answer))
	for len(answer) > 0 {
		r, size := utf8.DecodeRune(answer)
		answer = answer[size:]
		if r == 0 {
			r = utf8.RuneError
		}
		if b.Len()+utf8.RuneLen(r) > MaxAnswer { // replacements are longer than what they replace
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// HeaderExcerpt returns the headers of an answer as text, one a line in the order of their names, no more than
// MaxAnswer bytes of it. What a cookie says is nobody's business.
func HeaderExcerpt(headers map[string][]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			if strings.EqualFold(name, "Set-Cookie") {
				value = "••••••"
			}
			b.WriteString(name + ": " + value + "\n")
		}
		if b.Len() > MaxAnswer {
			break
		}
	}
	return strings.TrimSuffix(Excerpt([]byte(b.String())), "\n")
}

// cutRune returns the length of an incomplete UTF-8 sequence at the end of b.
func cutRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// DeliveryFilter chooses deliveries; an empty field chooses all.
type DeliveryFilter struct {
	access.Tenant
	EndpointID string
	OrderID    string
	Status     Status
	Before     string // the id of a delivery: only older ones, for the next page
}

// AttemptCount is how many attempts were acknowledged, and how many were not.
type AttemptCount struct{ Acknowledged, Failed int64 }

// HourCount is how the attempts on an endpoint went within an hour.
type HourCount struct {
	Hour time.Time
	AttemptCount
}

// EndpointHealth is how the attempts on an endpoint went lately.
type EndpointHealth struct {
	EndpointID       string
	Day, Week        AttemptCount
	LastAcknowledged time.Time // the hour; zero: none in the week
	LastFailed       time.Time
}

// MaxPause is how long a delivery waits at most for an endpoint that is paused.
const MaxPause = 7 * 24 * time.Hour

// jitterShare is the maximum jitter, as a share of the delay. It spreads deliveries that failed together.
const jitterShare = 0.10

// Schedule defines when a failed attempt is retried.
type Schedule struct {
	Delays []time.Duration // after the first, second, … failed attempt
}

// DefaultSchedule returns the documented schedule: four attempts, 1, 3 and 7 minutes apart.
func DefaultSchedule() Schedule {
	return Schedule{Delays: []time.Duration{1 * time.Minute, 3 * time.Minute, 7 * time.Minute}}
}

// Longest returns the longest delay that Next can return.
func (s Schedule) Longest() time.Duration {
	var longest time.Duration
	for _, delay := range s.Delays {
		longest = max(longest, delay+time.Duration(float64(delay)*jitterShare))
	}
	return longest
}

// Next returns the delay after the failed attempt with the given number, counted from 1, and whether there is a
// next attempt. jitter, a random number in [0,1), adds up to a tenth.
func (s Schedule) Next(attempt int, jitter float64) (time.Duration, bool) {
	if attempt < 1 || attempt > len(s.Delays) {
		return 0, false
	}
	delay := s.Delays[attempt-1]
	return delay + time.Duration(float64(delay)*jitterShare*jitter), true
}

// FailingAfter is how long an endpoint acknowledges nothing, after an attempt failed, before its owners are told;
// FailingWithin is how old that failure may be: what has long been so is no news.
const (
	FailingAfter  = time.Hour
	FailingWithin = 24 * time.Hour
)
