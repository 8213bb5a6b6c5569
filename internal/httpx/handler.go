package httpx

import (
	"log/slog"
	"net/http"
	"time"
)

// Handler answers a request or returns the reason why it cannot. A handler that returns an error has written nothing;
// the error becomes the error envelope.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Responder turns handlers and their errors into responses. The zero value logs to slog's default logger and reads the
// machine's clock.
type Responder struct {
	Log *slog.Logger
	Now func() time.Time
}

func (p *Responder) log() *slog.Logger {
	if p.Log == nil {
		return slog.Default()
	}
	return p.Log
}

func (p *Responder) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// Handle adapts a handler to net/http. An error after the response has begun cannot be sent to the client:
// it is logged, and the connection is aborted so that the client does not take a truncated body for a whole one.
func (p *Responder) Handle(h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Pattern != "" {
			SetRoute(r.Context(), r.Pattern)
		}
		rec := Record(w)
		if err := h(rec, r); err != nil {
			p.Fail(rec, r, err)
		}
	})
}

// Fail answers a request whose handler returned an error, as Handle does.
func (p *Responder) Fail(rec *Recorder, r *http.Request, err error) {
	if rec.Begun() {
		p.logTruncated(r, err)
		panic(http.ErrAbortHandler)
	}
	Drain(r, MaxDrain)
	p.WriteError(rec, r, err)
}
