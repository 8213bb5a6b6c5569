package server

import (
	"context"
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/tracing"
)

// lastSpans is how long a server that stops waits for the collector.
const lastSpans = 2 * time.Second

// startTracing turns tracing on where --otlp-endpoint is set.
func (s *Server) startTracing(ctx context.Context) (err error) {
	set := &s.app.Settings
	if set.OTLPEndpoint == "" {
		return nil
	}
	s.tracer, err = tracing.New(ctx, tracing.Config{
		Endpoint: set.OTLPEndpoint, Roles: set.Roles.String(), Log: s.app.Log,
	})
	return err
}

// traced returns next with a span for each request, or next itself where tracing is off.
func (s *Server) traced(next http.Handler) http.Handler {
	if s.tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := s.tracer.Request(r.Context(), r.Header)
		rec := httpx.Record(w)
		defer func() {
			tracing.EndRequest(span, httpx.RouteFrom(ctx), httpx.RequestIDFrom(ctx), rec.Status())
		}()
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

// stopTracing sends the last spans.
func (s *Server) stopTracing() {
	if s.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
	defer cancel()
	if err := s.tracer.Close(ctx); err != nil {
		s.app.Log.WarnContext(ctx, "the last spans could not be sent", "error", err)
	}
	s.tracer = nil
}
