package tracing_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/assayhq/assay/internal/tracing"
)

// TestOff: while tracing is off, its calls allocate nothing and change nothing.
func TestOff(t *testing.T) {
	header := http.Header{}
	ctx := t.Context()
	allocations := testing.AllocsPerRun(100, func() {
		span := tracing.Transaction(ctx, "sqlite3")
		inner, attempt := tracing.Attempt(ctx, "", "id", "order-outcome", 1)
		tracing.Inject(inner, header)
		tracing.EndAttempt(attempt, http.StatusOK, "", nil)
		span.End(context.Canceled)
		if tracing.Parent(ctx) != "" || inner != ctx {
			t.Error("there is a trace")
		}
	})
	if allocations != 0 || len(header) != 0 {
		t.Errorf("%v allocations, headers %v", allocations, header)
	}
}

func TestCheckEndpoint(t *testing.T) {
	for _, good := range []string{"http://127.0.0.1:4318", "https://collector.example/otlp/v1/traces"} {
		if err := tracing.CheckEndpoint(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"collector:4317", "grpc://c:4317", "http://", "https://u:p@c", "http://c?x=1", "http://c#x",
	} {
		if tracing.CheckEndpoint(bad) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
