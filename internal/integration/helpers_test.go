package integration_test

import (
	"testing"

	"github.com/assayhq/assay/internal/integration/integrationtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

type (
	world   = integrationtest.World
	client  = integrationtest.Client
	request = integrationtest.Request
	obj     = integrationtest.M
)

// rows reads the database behind the service's back.
func rows(t *testing.T, w *world, query string, args ...any) [][]string {
	t.Helper()
	return rawsql.Rows(t, w.Target, query, args...)
}

// with returns a copy of the body with one property changed; nil removes it.
func with(body obj, name string, value any) obj { return integrationtest.With(body, obj{name: value}) }
