package spec

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

func readOperation(n node, method, path string) *Operation {
	op := &Operation{
		ID: n.get("operationId").text(), Method: strings.ToUpper(method), Path: path, Summary: n.get("summary").text(),
		Description: n.get("description").text(), Scope: n.get("x-required-scope").text(),
		Category: n.get("x-rate-limit-category").text(), Public: n.has("security") && len(n.get("security").items()) == 0,
	}
	if tags := n.get("tags").texts(); len(tags) > 0 {
		op.Tag = tags[0]
	}
	for _, item := range n.get("parameters").items() {
		op.Parameters = append(op.Parameters, readParameter(item))
	}
	if n.has("requestBody") {
		body := n.get("requestBody").resolve()
		op.Body = &Body{
			Description: body.get("description").text(), Required: body.get("required").text() == "true",
			Content: readContent(body.get("content")),
		}
	}
	responses := n.get("responses")
	for _, status := range responses.keys() {
		op.Responses = append(op.Responses, readResponse(responses.get(status), status))
	}
	return op
}

func readParameter(n node) *Parameter {
	n = n.resolve()
	return &Parameter{
		Name: n.get("name").text(), In: n.get("in").text(), Description: n.get("description").text(),
		Example: n.get("example").text(), Required: n.get("required").text() == "true",
		Schema: readSchema(n.get("schema")),
	}
}

func readResponse(n node, status string) *Response {
	n = n.resolve()
	r := &Response{Status: status, Description: n.get("description").text(), Content: readContent(n.get("content"))}
	headers := n.get("headers")
	for _, name := range headers.keys() {
		h := readParameter(headers.get(name))
		h.Name, h.In = name, "header"
		r.Headers = append(r.Headers, h)
	}
	return r
}

func readContent(n node) []*Content {
	var out []*Content
	for _, mediaType := range n.keys() {
		media := n.get(mediaType)
		c := &Content{MediaType: mediaType, Schema: readSchema(media.get("schema"))}
		examples := media.get("examples")
		for _, name := range examples.keys() {
			e := examples.get(name).resolve()
			c.Examples = append(c.Examples, Example{
				Name: name, Summary: e.get("summary").text(), JSON: e.get("value").json(),
			})
		}
		out = append(out, c)
	}
	return out
}

// quoted returns a scalar of a schema as in JSON, with strings unquoted.
func quoted(n node) string {
	if n.node != nil && n.node.Kind == yaml.ScalarNode {
		return n.text()
	}
	return string(n.json())
}
