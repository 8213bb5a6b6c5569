package media

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
)

// defaultRetryAfter is told when the store's error does not say when to come back.
const defaultRetryAfter = 5 * time.Second

// Handler serves GET and HEAD of /{name}: the stored bytes, unchanged. The caller strips what stands before that.
//
// A name is never given to other bytes, so an answer may be kept for good and the name is its entity tag. The bytes are
// a stranger's: the type is the one that the upload was recognised as, browsers may not guess another, and nothing
// inside may run. No credentials are asked for: who knows a name may see the photo.
func Handler(store Store, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "method not allowed")
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		format, ok := photo.ParseName(name)
		if !ok || r.URL.RawPath != "" { // another spelling of a path is not the managed URL
			refuse(w, http.StatusNotFound, "not found")
			return
		}
		file, err := store.Open(r.Context(), name)
		if err != nil {
			refuseOpen(r.Context(), w, log, name, err)
			return
		}
		defer func() { _ = file.Close() }() // opened for reading only
		header.Set("Content-Type", format.ContentType())
		header.Set("Content-Disposition", `inline; filename="`+name+`"`)
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
		header.Set("Cross-Origin-Resource-Policy", "cross-origin")
		header.Set("ETag", `"`+name+`"`)
		http.ServeContent(w, r, "", file.ModTime(), file)
	})
}

// refuseOpen answers for a file that could not be opened.
func refuseOpen(ctx context.Context, w http.ResponseWriter, log *slog.Logger, name string, err error) {
	if errors.Is(err, ErrNotFound) {
		refuse(w, http.StatusNotFound, "not found")
		return
	}
	after := defaultRetryAfter
	if f, ok := errors.AsType[*fault.Error](err); ok {
		if f.RetryAfter > 0 {
			after = f.RetryAfter
		}
		if cause := f.Unwrap(); cause != nil {
			err = cause
		}
	}
	if ctx.Err() == nil { // else the client has gone and the store is not to blame
		log.ErrorContext(ctx, "photo cannot be served", slog.String("name", name), slog.Any("error", err))
	}
	seconds := int((after + time.Second - 1) / time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	refuse(w, http.StatusServiceUnavailable, "temporarily unavailable")
}

// refuse answers with a short text that no cache keeps: the photo may be there in a moment.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, status)
}
