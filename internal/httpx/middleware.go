package httpx

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// Recover turns a panic into the envelope of an internal error and logs it with its stack. When the response has
// already begun, the connection is aborted instead. http.ErrAbortHandler, the way to abort on purpose, passes through.
func (p *Responder) Recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := Record(w)
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(http.ErrAbortHandler)
			}
			err := fmt.Errorf("panic: %v", v)
			p.log().LogAttrs(r.Context(), slog.LevelError, "panic in a handler",
				append(p.attrs(r, err), slog.String("stack", string(debug.Stack())))...)
			if rec.Begun() {
				panic(http.ErrAbortHandler)
			}
			p.writeFault(rec, r, internalError())
		}()
		next.ServeHTTP(rec, r)
	})
}

// AccessLog writes one line for each request when it has ended, an aborted one included. It never writes query strings
// or headers: they may contain credentials or personal data.
func (p *Responder) AccessLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log := p.log()
		if !log.Enabled(r.Context(), slog.LevelInfo) {
			next.ServeHTTP(w, r)
			return
		}
		rec, start, aborted := Record(w), p.now(), true
		defer func() {
			status := rec.Status()
			if status == 0 && !aborted {
				status = http.StatusOK // what net/http sends for a handler that wrote nothing
			}
			route := RouteFrom(r.Context())
			if route == "" {
				route = r.Pattern
			}
			attrs := make([]slog.Attr, 0, 12)
			attrs = append(
				attrs, slog.String("method", r.Method), slog.String("path", requestPath(r)), slog.String("route", route),
				slog.Int("status", status), slog.Int64("bytes", rec.Bytes()), slog.Duration("duration", p.now().Sub(start)),
				slog.String("request_id", RequestIDFrom(r.Context())), slog.String("remote", ClientIP(r)),
			)
			if aborted {
				attrs = append(attrs, slog.Bool("aborted", true))
			}
			log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
		}()
		next.ServeHTTP(rec, r)
		aborted = false
	})
}
