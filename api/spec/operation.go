package spec

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

func readOperation(n node, method, path string) (*Operation, error) {
	op := &Operation{
		ID: n.get("operationId").text(), Method: strings.ToUpper(method), Path: path, Summary: n.get("summary").text(),
		Description: n.get("description").text(), Scope: n.get("x-required-scope").text(),
		Category: n.get("x-rate-limit-category").text(), Public: n.has("security") && len(n.get("security").items()) == 0,
	}
	if tags := n.get("tags").texts(); len(tags) > 0 {
		op.Tag = tags[0]
	}
	for _, item := range n.get("parameters").items() {
		parameter, err := readParameter(item)
		if err != nil {
			return nil, err
		}
		op.Parameters = append(op.Parameters, parameter)
	}
	if n.has("requestBody") {
		body, err := n.get("requestBody").resolve()
		if err != nil {
			return nil, err
		}
		content, err := readContent(body.get("content"))
		if err != nil {
			return nil, err
		}
		op.Body = &Body{
			Description: body.get("description").text(), Required: body.get("required").text() == "true", Content: content,
		}
	}
	responses := n.get("responses")
	for _, status := range responses.keys() {
		r, err := readResponse(responses.get(status), status)
		if err != nil {
			return nil, err
		}
		op.Responses = append(op.Responses, r)
	}
	return op, nil
}

func readParameter(n node) (*Parameter, error) {
	n, err := n.resolve()
	if err != nil {
		return nil, err
	}
	s, err := readSchema(n.get("schema"))
	if err != nil {
		return nil, err
	}
	return &Parameter{
		Name: n.get("name").text(), In: n.get("in").text(), Description: n.get("description").text(),
		Example: n.get("example").text(), Required: n.get("required").text() == "true", Schema: s,
	}, nil
}

func readResponse(n node, status string) (*Response, error) {
	n, err := n.resolve()
	if err != nil {
		return nil, err
	}
	r := &Response{Status: status, Description: n.get("description").text()}
	headers := n.get("headers")
	for _, name := range headers.keys() {
		h, err := readParameter(headers.get(name))
		if err != nil {
			return nil, err
		}
		h.Name, h.In = name, "header"
		r.Headers = append(r.Headers, h)
	}
	r.Content, err = readContent(n.get("content"))
	return r, err
}

func readContent(n node) ([]*Content, error) {
	var out []*Content
	for _, mediaType := range n.keys() {
		media := n.get(mediaType)
		s, err := readSchema(media.get("schema"))
		if err != nil {
			return nil, err
		}
		c := &Content{MediaType: mediaType, Schema: s}
		examples := media.get("examples")
		for _, name := range examples.keys() {
			e, err := examples.get(name).resolve()
			if err != nil {
				return nil, err
			}
			value, err := e.get("value").json()
			if err != nil {
				return nil, err
			}
			c.Examples = append(c.Examples, Example{Name: name, Summary: e.get("summary").text(), JSON: value})
		}
		out = append(out, c)
	}
	return out, nil
}

// quoted returns a scalar of a schema as in JSON, with strings unquoted.
func quoted(n node) string {
	if n.node == nil {
		return ""
	}
	if n.node.Kind == yaml.ScalarNode {
		return n.text()
	}
	out, err := n.json()
	if err != nil {
		return ""
	}
	return string(out)
}
