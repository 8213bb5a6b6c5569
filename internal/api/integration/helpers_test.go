package integration_test

import (
	"encoding/json"
	"testing"

	"github.com/assayhq/assay/internal/testkit/integrationtest"
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

// encoded is a body as JSON text.
func encoded(t *testing.T, body obj) string {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
