// Package spec reads an OpenAPI 3.1 document into the part that reference pages and contract tests need. References
// are resolved, and everything stays in document order.
package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Document is an OpenAPI document.
type Document struct {
	Title, Version, Summary, Description string

	Server     string // default of the server's base URL
	Tags       []Tag
	Operations []*Operation // in the order of the document
	Webhooks   []*Operation // requests that the service makes; Path is the name of the event
	RateLimits map[string]int
	Schemas    []*Schema // the named ones
}

// Tag groups operations.
type Tag struct{ Name, Description string }

// Operation is one method of one path.
type Operation struct {
	ID, Method, Path, Tag, Summary, Description string

	Scope    string // scope that the key needs; empty: none
	Category string // rate-limit category; empty: not limited
	Public   bool   // needs no credentials

	Parameters []*Parameter
	Body       *Body // nil: none
	Responses  []*Response
}

// Parameter is a parameter in path, query or header.
type Parameter struct {
	Name, In, Description, Example string

	Required bool
	Schema   *Schema
}

// Body is the body of a request.
type Body struct {
	Description string
	Required    bool
	Content     []*Content
}

// Response is a response of an operation.
type Response struct {
	Status      string // 200, 2XX or default
	Description string
	Headers     []*Parameter
	Content     []*Content
}

// Content is a body in one media type.
type Content struct {
	MediaType string
	Schema    *Schema
	Examples  []Example
}

// Example is an example of a body.
type Example struct {
	Name, Summary string

	JSON []byte
}

// Codes returns the error codes of the response, nil for a success.
func (r *Response) Codes() []string {
	for _, c := range r.Content {
		if code := c.Schema.Property("code"); code != nil && c.Schema.Property("statusCode") != nil {
			return code.Schema.Enum
		}
	}
	return nil
}

// Response returns the response with the status, or nil.
func (o *Operation) Response(status int) *Response {
	want := strconv.Itoa(status)
	i := slices.IndexFunc(o.Responses, func(r *Response) bool { return r.Status == want })
	if i < 0 {
		return nil
	}
	return o.Responses[i]
}

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// Parse reads a document written in YAML (or JSON).
func Parse(document []byte) (*Document, error) {
	top, err := readMapping(document)
	if err != nil {
		return nil, err
	}
	t := &tree{root: top}
	root := node{node: top, tree: t}

	info := root.get("info")
	d := &Document{
		Title: info.get("title").text(), Version: info.get("version").text(), Summary: info.get("summary").text(),
		Description: info.get("description").text(), RateLimits: make(map[string]int),
	}
	for _, s := range root.get("servers").items() {
		d.Server = s.get("variables").get("base_url").get("default").text()
	}
	for _, t := range root.get("tags").items() {
		d.Tags = append(d.Tags, Tag{Name: t.get("name").text(), Description: t.get("description").text()})
	}
	limits := root.get("x-rate-limits")
	for _, category := range limits.keys() {
		n, err := strconv.Atoi(limits.get(category).text())
		if err != nil {
			return nil, fmt.Errorf("x-rate-limits: %s: %w", category, err)
		}
		d.RateLimits[category] = n
	}
	d.Operations, d.Webhooks = readOperations(root.get("paths")), readOperations(root.get("webhooks"))
	schemas := root.get("components").get("schemas")
	for _, name := range schemas.keys() {
		s := readSchema(schemas.get(name))
		s.Name = name
		d.Schemas = append(d.Schemas, s)
	}
	if t.err != nil {
		return nil, t.err
	}
	return d, nil
}

func readOperations(paths node) []*Operation {
	var out []*Operation
	for _, path := range paths.keys() {
		methodsOfPath := paths.get(path)
		for _, method := range methodsOfPath.keys() {
			if slices.Contains(methods, method) {
				out = append(out, readOperation(methodsOfPath.get(method), method, path))
			}
		}
	}
	return out
}

// WithServer returns a YAML document whose only server is the URL. Everything else keeps its bytes.
func WithServer(document []byte, url string) ([]byte, error) {
	const key = "\nservers:\n"
	start := bytes.Index(document, []byte(key))
	if start < 0 {
		return nil, errors.New("the document has no servers")
	}
	end := start + len(key)
	for end < len(document) && (document[end] == ' ' || document[end] == '\n') {
		line := bytes.IndexByte(document[end:], '\n')
		if line < 0 {
			return nil, errors.New("the document ends with its servers")
		}
		end += line + 1
	}
	quoted, err := json.Marshal(url) // a JSON string is a YAML string
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{
		document[:start], []byte(key), []byte("  - url: "), quoted, []byte("\n"), document[end:],
	}, nil), nil
}
