package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/assayhq/assay/internal/buildinfo"
)

// Tracer exports the spans of this process to a collector.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// Config says where spans go and what this process is.
type Config struct {
	Endpoint string // base URL of a collector that takes OTLP over HTTP
	Roles    string // of this node
	Log      *slog.Logger
}

// CheckEndpoint refuses what is no address of a collector.
func CheckEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" ||
		u.User != nil {
		return fmt.Errorf("must be an http or https URL such as http://127.0.0.1:4318, without user, query and fragment; " +
			"headers come from OTEL_EXPORTER_OTLP_HEADERS")
	}
	return nil
}

// New turns tracing on for this process, until Close. A collector that is away costs nothing but its spans: they are
// kept in a queue of bounded length and sent in the background. Sampling, headers and limits follow the variables of
// OpenTelemetry (OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS, OTEL_RESOURCE_ATTRIBUTES and so on).
func New(ctx context.Context, c Config) (*Tracer, error) {
	if err := CheckEndpoint(c.Endpoint); err != nil {
		return nil, err
	}
	address := strings.TrimSuffix(c.Endpoint, "/")
	if u, err := url.Parse(address); err == nil && u.Path == "" {
		address += "/v1/traces"
	}
	client, err := newUploader(address)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // an empty name says as much
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "assay"), attribute.String("service.version", buildinfo.Version),
		attribute.String("service.instance.id", uuid.NewString()), attribute.String("host.name", host),
		attribute.String("assay.roles", c.Roles),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		c.Log.Warn("spans could not be sent", "error", err)
	}))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	t := &Tracer{provider: provider, tracer: provider.Tracer("github.com/assayhq/assay")}
	current.Store(t)
	return t, nil
}

// Close sends what is left, as long as ctx lasts, and turns tracing off.
func (t *Tracer) Close(ctx context.Context) error {
	current.CompareAndSwap(t, nil)
	return t.provider.Shutdown(ctx)
}

// Request begins the span of a request. It goes on the trace that the client names in traceparent.
func (t *Tracer) Request(ctx context.Context, h http.Header) (context.Context, Span) {
	ctx, span := t.tracer.Start(traceContext.Extract(ctx, propagation.HeaderCarrier(h)), "request",
		trace.WithSpanKind(trace.SpanKindServer))
	return ctx, Span{span}
}

// EndRequest ends the span of a request. route is the pattern that served it, with its method, never the path: that may
// hold what a client has chosen.
func EndRequest(s Span, route, requestID string, status int) {
	if route != "" {
		s.span.SetName(route)
		if method, pattern, ok := strings.Cut(route, " "); ok {
			s.Set(attribute.String("http.request.method", method), attribute.String("http.route", pattern))
		}
	}
	s.Set(attribute.Int("http.response.status_code", status), attribute.String("assay.request_id", requestID))
	if status >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}
