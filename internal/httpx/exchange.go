package httpx

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/fault"
)

// exchange is what the middleware knows about one request and its response, and the context of the request: all of it
// in one allocation. The handler's goroutine alone uses it, except for the context, which any may use.
type exchange struct {
	Recorder
	requestContext
	body   *limitedBody // nil: there is none, or nothing limits it
	began  time.Time
	uuid   uuid.UUID
	id     string                   // uuid as text
	ids    [1]string                // id as the values of a header
	url    *url.URL                 // as requested, before any prefix was stripped
	path   string                   // of url, escaped, once somebody has asked for it
	redact func(path string) string // nil: nothing in a path is secret
	route  string
	fault  *fault.Error // that the request was refused with
	client clientAddress
}

type exchangeKey struct{}

func exchangeFrom(ctx context.Context) *exchange {
	if x, ok := ctx.(*exchange); ok {
		return x
	}
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// EscapedPath is that of the address of a request. It is worked out once, as several ask for it.
func EscapedPath(r *http.Request) string {
	if x := exchangeFrom(r.Context()); x != nil && x.url == r.URL {
		return x.escapedPath()
	}
	return r.URL.EscapedPath()
}

func (x *exchange) escapedPath() string {
	if x.path == "" {
		x.path = x.url.EscapedPath()
	}
	return x.path
}

// Answered is what is known of a request once it has been answered.
type Answered struct {
	ID    uuid.UUID
	Began time.Time
	Route string       // empty: there is no such operation
	Fault *fault.Error // that it was refused with; nil: it was not
}

// AnsweredFrom returns what is known of the request that ctx belongs to; the zero value outside of RequestID.
func AnsweredFrom(ctx context.Context) Answered {
	x := exchangeFrom(ctx)
	if x == nil {
		return Answered{}
	}
	return Answered{x.uuid, x.began, x.route, x.fault}
}

// begin returns a new exchange and the request with it as its context.
func begin(w http.ResponseWriter, r *http.Request) (*exchange, *http.Request) {
	parent := r.Context()
	x := &exchange{
		Recorder: Recorder{ResponseWriter: w}, requestContext: requestContext{parent: parent}, began: time.Now(), url: r.URL,
	}
	x.uuid = newRequestID(x.began)
	x.id = x.uuid.String()
	x.body, _ = r.Body.(*limitedBody)
	if x.conn, _ = parent.Value(gatherKey{}).(*gatherConn); x.conn != nil {
		x.conn.client.update(r)
		x.client = x.conn.client
	}
	x.ids[0] = x.id
	return x, r.WithContext(x)
}

// Value implements context.Context.
func (x *exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return x
	}
	return x.current().Value(key)
}

// requestContext is the context of a request to which a deadline can be added. Most handlers answer long before it, and
// many never wait for anything, so that its timer is started only when somebody asks when the context is done.
type requestContext struct {
	parent context.Context

	mu       sync.Mutex
	deadline time.Time       // zero: none
	timed    context.Context // parent with the deadline, once it is needed
	cancel   context.CancelFunc
}

// limit adds a deadline. What was begun with the context before does not end with it.
func (c *requestContext) limit(deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed != nil {
		c.parent, c.timed = c.timed, nil
	}
	c.deadline = deadline
}

// end stops the timer. The parent ends later: that of net/http after its last write, that of http1.Server with its
// connection.
func (c *requestContext) end() {
	c.mu.Lock()
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// current is the context that decides now: the one with the timer if it has been started.
func (c *requestContext) current() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed != nil {
		return c.timed
	}
	return c.parent
}

// start starts the timer if there is a deadline, and returns the context that decides.
func (c *requestContext) start() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.timed != nil:
		return c.timed
	case c.deadline.IsZero():
		return c.parent
	}
	c.timed, c.cancel = context.WithDeadline(c.parent, c.deadline)
	return c.timed
}

// Deadline implements context.Context.
func (c *requestContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	parent, deadline := c.parent, c.deadline
	c.mu.Unlock()
	at, ok := parent.Deadline()
	if deadline.IsZero() || ok && at.Before(deadline) {
		return at, ok
	}
	return deadline, true
}

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} { return c.start().Done() }

// Err implements context.Context.
func (c *requestContext) Err() error {
	c.mu.Lock()
	over := c.timed == nil && !c.deadline.IsZero() && !time.Now().Before(c.deadline)
	c.mu.Unlock()
	if over {
		return c.start().Err() // from now on the error stays the same
	}
	return c.current().Err()
}
