package httpx

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
)

// Panicked reports whether what recover has returned is a panic. http.ErrAbortHandler, the way to abort on purpose,
// passes through.
func Panicked(recovered any) bool {
	if err, ok := recovered.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	return recovered != nil
}

// Recover turns a panic into the envelope of an internal error and logs it with its stack. When the response has
// already begun, the connection is aborted instead.
func (p *Responder) Recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := Record(w)
		defer func() {
			v := recover()
			if !Panicked(v) {
				return
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
