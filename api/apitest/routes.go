package apitest

import (
	"strings"

	"github.com/assayhq/assay/api/spec"
)

// Route is a route of the document.
type Route struct {
	Method      string
	Path        string // relative to the prefix of the API, such as /orders/{id}
	Scope       string // empty: none
	Category    string // of the rate limit; empty: not limited
	OperationID string
	Public      bool // needs no credentials
}

// Routes returns the routes in document order.
func (v *Validator) Routes() []Route {
	out := make([]Route, len(v.document.Operations))
	for i, op := range v.document.Operations {
		out[i] = Route{
			Method: op.Method, Path: op.Path, Scope: op.Scope, Category: op.Category, OperationID: op.ID, Public: op.Public,
		}
	}
	return out
}

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
