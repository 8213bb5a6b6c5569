// Package tracing makes OpenTelemetry spans from a request over its transactions to the deliveries that it has caused.
//
// It is off unless New was called. Then a call of this package is one atomic load, and nothing is allocated. Spans name
// operations, statuses and ids of ours; they hold no path, no body, no address and no text of an error, because
// customers could have written those.
package tracing

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// current is the tracer of the process, nil while tracing is off. It is a variable of the package because a span is
// begun on every floor, and carrying a tracer there would cost each of them an argument for something that is off.
var current atomic.Pointer[Tracer]

var traceContext = propagation.TraceContext{} // W3C: traceparent and tracestate

// Span is a running operation; the zero value is none, and does nothing.
type Span struct{ span trace.Span }

// End ends the span. Of an error it is only told that there was one.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// Set adds attributes.
func (s Span) Set(attributes ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(attributes...)
	}
}

// Transaction begins the span of a transaction, with the name of the use case that asks for it. Outside of a traced
// request there is none.
func Transaction(ctx context.Context, engine string) Span {
	t := current.Load()
	if t == nil || !trace.SpanContextFromContext(ctx).IsValid() {
		return Span{}
	}
	_, span := t.tracer.Start(ctx, useCase(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.system.name", engine),
			attribute.String("db.operation.name", "transaction")))
	return Span{span}
}

// useCase is the name of the function of the service that the caller's caller works for.
func useCase() string {
	const floor = "/internal/service."
	const other = "transaction"
	pcs := make([]uintptr, 32)
	name := other
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		if _, function, ok := strings.Cut(frame.Function, floor); ok {
			function = strings.TrimPrefix(function, "(*Service).")
			name, _, _ = strings.Cut(function, ".func") // the outermost is the use case; those inside help it
		} else if name != other || !more {
			return name
		}
	}
}

// Parent returns what a later operation needs to become part of the trace of ctx, as a traceparent of W3C; empty: ctx
// belongs to no trace that is recorded.
func Parent(ctx context.Context) string {
	if current.Load() == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	traceContext.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// Attempt begins the span of an attempt to deliver, as part of the trace that parent names.
func Attempt(ctx context.Context, parent, deliveryID, event string, number int) (context.Context, Span) {
	t := current.Load()
	if t == nil {
		return ctx, Span{}
	}
	if parent != "" {
		ctx = traceContext.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	}
	ctx, span := t.tracer.Start(ctx, "webhook "+event, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
		attribute.String("assay.delivery_id", deliveryID), attribute.String("assay.event", event),
		attribute.Int("assay.attempt", number), attribute.String("http.request.method", http.MethodPost)))
	return ctx, Span{span}
}

// EndAttempt ends the span of an attempt with the answer, or the word for what went wrong.
func EndAttempt(s Span, status int, failure string, failed error) {
	if s.span == nil {
		return
	}
	if status != 0 {
		s.Set(attribute.Int("http.response.status_code", status))
	}
	if failure != "" {
		s.Set(attribute.String("error.type", failure))
	}
	s.End(failed)
}

// Inject adds the headers that tell the receiver of a request its trace.
func Inject(ctx context.Context, h http.Header) {
	if current.Load() == nil {
		return
	}
	carrier := propagation.MapCarrier{}
	traceContext.Inject(ctx, carrier)
	for name, value := range carrier {
		h[name] = []string{value} // in lower case, as W3C writes them
	}
}
