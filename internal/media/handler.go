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

const (
	immutable = "public, max-age=31536000, immutable"
	// redirectCache lets clients keep a redirect for less than the URL is valid that it leads to.
	redirectCache = "private, max-age=60"
)

func disposition(name string) string { return `inline; filename="` + name + `"` }

func tagOf(name string) string { return `"` + name + `"` }

// defaultRetryAfter is used when the store's error has no retry time.
const defaultRetryAfter = 5 * time.Second

// Handler serves GET and HEAD of /{name}: the stored bytes, unchanged. The caller strips the path prefix.
//
// A name never refers to other bytes, so that responses are immutable and the name is the ETag. The bytes are
// untrusted: the content type is the one recognised at upload, browsers must not sniff another, and scripts must
// not run. There is no authentication: whoever knows a name may see the photo. A store that is a Locator may have the
// client fetch the bytes elsewhere, with a redirect.
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
		if !ok || r.URL.RawPath != "" { // an escaped path is not the managed URL
			refuse(w, http.StatusNotFound, "not found")
			return
		}
		if locator, ok := store.(Locator); ok && r.Header.Get("If-None-Match") != tagOf(name) {
			location, err := locator.Location(r.Context(), r.Method, name)
			if err != nil {
				refuseOpen(r.Context(), w, log, name, err)
				return
			}
			if location != "" {
				header.Set("Cache-Control", redirectCache)
				http.Redirect(w, r, location, http.StatusFound) //nolint:gosec // of the bucket, signed by this program
				return
			}
		}
		file, err := store.Open(r.Context(), name)
		if err != nil {
			refuseOpen(r.Context(), w, log, name, err)
			return
		}
		defer func() { _ = file.Close() }() // opened for reading only
		header.Set("Content-Type", format.ContentType())
		header.Set("Content-Disposition", disposition(name))
		header.Set("Cache-Control", immutable)
		header.Set("Cross-Origin-Resource-Policy", "cross-origin")
		header.Set("ETag", tagOf(name))
		http.ServeContent(w, r, "", file.ModTime(), file)
	})
}

// refuseOpen responds for a file that could not be opened.
func refuseOpen(ctx context.Context, w http.ResponseWriter, log *slog.Logger, name string, err error) {
	if errors.Is(err, ErrNotFound) {
		refuse(w, http.StatusNotFound, "not found")
		return
	}
	after := defaultRetryAfter
	if f, ok := errors.AsType[*fault.Error](err); ok && f.RetryAfter > 0 {
		after = f.RetryAfter
	}
	if ctx.Err() == nil { // otherwise the client is gone
		log.ErrorContext(ctx, "photo cannot be served", slog.String("name", name), slog.Any("error", err))
	}
	seconds := int((after + time.Second - 1) / time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	refuse(w, http.StatusServiceUnavailable, "temporarily unavailable")
}

// refuse responds with a short text that is not cached, because the photo may be available soon.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, status)
}
