// Package apitest checks a running API against its OpenAPI document. Tests send requests through
// Validator.Transport, which checks that each response is documented for the operation: status, headers, media
// type, body and error code. It records the responses, so that a test can check that every documented one occurred.
package apitest

import (
	"sync"
	"testing"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
)

// Validator reports deviations from the document as test errors.
type Validator struct {
	tb testing.TB
	*contract
}

// contract is a document with the responses seen so far.
type contract struct {
	prefix   string
	document *spec.Document
	schemas  *schemas

	mu         sync.Mutex
	seen       map[Case]int
	requestIDs map[string]struct{}
}

// New returns a validator of the integration API.
func New(tb testing.TB) *Validator {
	tb.Helper()
	return newValidator(tb, api.IntegrationPrefix, api.Integration(), api.IntegrationAt("https://assay.example").JSON)
}

// NewDesk returns a validator of the desk API.
func NewDesk(tb testing.TB) *Validator {
	tb.Helper()
	return newValidator(tb, api.DeskPrefix, api.Desk(), api.DeskAt("https://assay.example").JSON)
}

func newValidator(tb testing.TB, prefix string, document *spec.Document, documentJSON []byte) *Validator {
	tb.Helper()
	schemas, err := newSchemas(documentJSON)
	if err != nil {
		tb.Fatalf("apitest: %v", err)
	}
	return &Validator{tb: tb, contract: &contract{
		prefix: prefix, document: document, schemas: schemas,
		seen: make(map[Case]int), requestIDs: make(map[string]struct{}),
	}}
}

// For returns a validator that reports to another test and shares the record of responses.
func (v *Validator) For(tb testing.TB) *Validator { return &Validator{tb: tb, contract: v.contract} }
