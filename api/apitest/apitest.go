// Package apitest checks a running API against its OpenAPI document. Tests send requests through
// Validator.Transport, which checks that each response is documented for the operation: status, headers, media
// type, body and error code. It records the responses, so that a test can check that every documented one occurred.
package apitest

import (
	"slices"
	"strings"
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

// Delivery checks the body of a webhook delivery against the payload documented for its event.
func (v *Validator) Delivery(event string, body []byte) {
	v.tb.Helper()
	i := slices.IndexFunc(v.document.Webhooks, func(op *spec.Operation) bool { return op.Path == event })
	if i < 0 {
		v.tb.Errorf("the document has no webhook %s", event)
		return
	}
	for _, c := range v.document.Webhooks[i].Body.Content {
		if err := v.schemas.body(c.Schema.Pointer, body); err != nil {
			v.tb.Errorf("the delivery of %s is against the document: %v\nbody: %s", event, err, shorten(body))
		}
	}
}

// Routes returns the operations in document order.
func (v *Validator) Routes() []*spec.Operation { return v.document.Operations }

// match returns the operation of a request, or nil. The path is escaped, so that an encoded slash is part of an id;
// a literal path takes precedence over one with a parameter.
func (c *contract) match(method, escapedPath string) *spec.Operation {
	path, ok := strings.CutPrefix(escapedPath, c.prefix)
	if !ok {
		return nil
	}
	var found *spec.Operation
	for _, op := range c.document.Operations {
		if op.Method != method || !fits(op.Path, path) {
			continue
		}
		if op.Path == path {
			return op
		}
		found = op
	}
	return found
}

func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if strings.HasPrefix(want[i], "{") && got[i] != "" {
			continue
		}
		if want[i] != got[i] {
			return false
		}
	}
	return true
}
