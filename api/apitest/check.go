package apitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/assayhq/assay/api/spec"
)

const (
	jsonType      = "application/json"
	requestIDName = "X-Request-Id"
	errorSchema   = "/components/schemas/Error"
)

// exchange is a request with its response, both read completely.
type exchange struct {
	method, path  string
	query         url.Values
	requestHeader http.Header
	requestBody   []byte // nil: none, or not JSON
	status        int
	header        http.Header
	body          []byte
}

// envelope is the part of an error that must agree with the response.
type envelope struct {
	StatusCode int    `json:"statusCode"`
	Code       string `json:"code"`
	Path       string `json:"path"`
	RequestID  string `json:"request_id"`
	Details    struct {
		RetryAfterSeconds *int `json:"retry_after_seconds"`
	} `json:"details"`
}

// check reports everything undocumented in an exchange as one test error.
func (v *Validator) check(x exchange) {
	v.tb.Helper()
	op := v.match(x.method, x.path)
	if x.method == http.MethodHead {
		op = v.match(http.MethodGet, x.path)
	}
	var problems []string
	add := func(what string, err error) {
		if err != nil {
			problems = append(problems, what+": "+err.Error())
		}
	}
	add("header "+requestIDName, v.checkRequestID(x))
	switch {
	case x.method == http.MethodHead: // as GET, without a body
		if op != nil && op.Response(x.status) == nil {
			add("status", errors.New("is not documented for GET"))
		}
		if len(x.body) > 0 {
			add("body", errors.New("must be empty"))
		}
	case op != nil:
		v.checkOperation(op, x, add)
	default:
		v.checkUnmatched(x, add)
	}
	if len(problems) == 0 {
		return
	}
	name := "no operation"
	if op != nil {
		name = op.ID
	}
	v.tb.Errorf("%s %s (%s) answered %d against the document:\n\t%s\nbody: %s", x.method, x.path, name, x.status,
		strings.ReplaceAll(strings.Join(problems, "\n"), "\n", "\n\t"), shorten(x.body))
}

func (v *Validator) checkRequestID(x exchange) error {
	id := x.header.Get(requestIDName)
	if id == "" {
		return errors.New("is missing")
	}
	if !v.firstUse(id) {
		return fmt.Errorf("%s was used before", id)
	}
	return nil
}

func (v *Validator) checkOperation(op *spec.Operation, x exchange, add func(string, error)) {
	response := op.Response(x.status)
	if response == nil {
		add("status", errors.New("is not documented for this operation"))
		return
	}
	v.checkHeaders(response, x, add)
	if len(response.Content) == 0 {
		if len(x.body) > 0 {
			add("body", errors.New("must be empty"))
		}
	} else {
		content := response.Content[0]
		add("header Content-Type", checkMediaType(x.header, content.MediaType))
		add("body", v.schemas.body(content.Schema.Pointer, x.body))
	}
	if x.status >= http.StatusBadRequest {
		v.record(Case{Operation: op.ID, Status: x.status, Code: checkEnvelope(x, add)})
		return
	}
	v.record(Case{Operation: op.ID, Status: x.status})
	v.checkAccepted(op, x, add)
}

// checkUnmatched checks the response for an unknown route: only the envelope.
func (v *Validator) checkUnmatched(x exchange, add func(string, error)) {
	expected := []int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusServiceUnavailable,
	}
	if !slices.Contains(expected, x.status) {
		add("status", errors.New("is not one that an unknown route answers"))
	}
	add("header Content-Type", checkMediaType(x.header, jsonType))
	add("body", v.schemas.body(errorSchema, x.body))
	code := checkEnvelope(x, add)
	if x.status == http.StatusNotFound && code != "not-found" {
		add("body", fmt.Errorf("the code of an unknown route is not-found, not %s", code))
	}
}

func (v *Validator) checkHeaders(response *spec.Response, x exchange, add func(string, error)) {
	documented := make(map[string]bool, len(response.Headers))
	for _, h := range response.Headers {
		name := http.CanonicalHeaderKey(h.Name)
		documented[name] = true
		values := x.header[name]
		switch {
		case len(values) > 1:
			add("header "+h.Name, errors.New("is there more than once"))
		case len(values) == 1:
			add("header "+h.Name, v.schemas.text(h.Schema, values[0]))
		case h.Required:
			add("header "+h.Name, errors.New("is missing"))
		}
	}
	for name := range x.header {
		ours := strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Idempotency-")
		if ours && !documented[name] {
			add("header "+name, errors.New("is not documented for this answer"))
		}
	}
}

// checkAccepted checks that a request that the server accepted is valid according to the document.
func (v *Validator) checkAccepted(op *spec.Operation, x exchange, add func(string, error)) {
	for _, p := range op.Parameters {
		var values []string
		switch p.In {
		case "query":
			values = x.query[p.Name]
		case "header":
			values = x.requestHeader.Values(p.Name)
		default:
			continue
		}
		if p.Required && len(values) == 0 {
			add("accepted without the "+p.In+" parameter "+p.Name, errors.New("the document requires it"))
		}
		for _, value := range values {
			add("accepted "+p.In+" parameter "+p.Name, v.schemas.text(p.Schema, value))
		}
	}
	if op.Body == nil {
		return
	}
	for _, c := range op.Body.Content {
		if c.MediaType == jsonType && (op.Body.Required || len(x.requestBody) > 0) {
			add("accepted body "+shorten(x.requestBody), v.schemas.body(c.Schema.Pointer, x.requestBody))
		}
	}
}

func checkMediaType(header http.Header, want string) error {
	got, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || got != want {
		return fmt.Errorf("is %q, not %s", header.Get("Content-Type"), want)
	}
	return nil
}

// checkEnvelope checks that an error agrees with its response, and returns its code.
func checkEnvelope(x exchange, add func(string, error)) string {
	var e envelope
	if err := json.Unmarshal(x.body, &e); err != nil {
		return "" // already reported by the schema
	}
	if e.StatusCode != x.status {
		add("body", fmt.Errorf("statusCode is %d", e.StatusCode))
	}
	if id := x.header.Get(requestIDName); e.RequestID != id {
		add("body", fmt.Errorf("request_id %s is not the header's %s", e.RequestID, id))
	}
	if e.Path != x.path {
		add("body", fmt.Errorf("path is %s", e.Path))
	}
	retryAfter := x.header.Get("Retry-After")
	if seconds := e.Details.RetryAfterSeconds; seconds != nil && strconv.Itoa(*seconds) != retryAfter {
		add("body", fmt.Errorf("retry_after_seconds %d is not the header's %s", *seconds, retryAfter))
	}
	return e.Code
}

func shorten(body []byte) string {
	const most = 2000
	if len(body) <= most {
		return string(body)
	}
	return string(body[:most]) + "…"
}
