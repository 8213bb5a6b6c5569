package spec

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

func readOperation(p place, method, path string) (*Operation, error) {
	op := &Operation{
		ID: p.get("operationId").text(), Method: strings.ToUpper(method), Path: path,
		Summary: p.get("summary").text(), Description: p.get("description").text(),
		Scope: p.get("x-required-scope").text(), Category: p.get("x-rate-limit-category").text(),
		Public: p.has("security") && len(p.get("security").items()) == 0,
	}
	if tags := p.get("tags").texts(); len(tags) > 0 {
		op.Tag = tags[0]
	}
	for _, item := range p.get("parameters").items() {
		parameter, err := readParameter(item)
		if err != nil {
			return nil, err
		}
		op.Parameters = append(op.Parameters, parameter)
	}
	if p.has("requestBody") {
		body, err := p.get("requestBody").resolve()
		if err != nil {
			return nil, err
		}
		content, err := readContent(body.get("content"))
		if err != nil {
			return nil, err
		}
		op.Body = &Body{
			Description: body.get("description").text(),
			Required:    body.get("required").text() == "true",
			Content:     content,
		}
	}
	responses := p.get("responses")
	for _, status := range responses.keys() {
		r, err := readResponse(responses.get(status), status)
		if err != nil {
			return nil, err
		}
		op.Responses = append(op.Responses, r)
	}
	return op, nil
}

func readParameter(p place) (*Parameter, error) {
	p, err := p.resolve()
	if err != nil {
		return nil, err
	}
	s, err := readSchema(p.get("schema"))
	if err != nil {
		return nil, err
	}
	return &Parameter{
		Name:        p.get("name").text(),
		In:          p.get("in").text(),
		Description: p.get("description").text(),
		Example:     p.get("example").text(),
		Required:    p.get("required").text() == "true",
		Schema:      s,
	}, nil
}

func readResponse(p place, status string) (*Response, error) {
	p, err := p.resolve()
	if err != nil {
		return nil, err
	}
	r := &Response{Status: status, Description: p.get("description").text()}
	headers := p.get("headers")
	for _, name := range headers.keys() {
		h, err := readParameter(headers.get(name))
		if err != nil {
			return nil, err
		}
		h.Name, h.In = name, "header"
		r.Headers = append(r.Headers, h)
	}
	r.Content, err = readContent(p.get("content"))
	return r, err
}

func readContent(p place) ([]*Content, error) {
	var out []*Content
	for _, mediaType := range p.keys() {
		media := p.get(mediaType)
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
func quoted(p place) string {
	if p.node == nil {
		return ""
	}
	if p.node.Kind == yaml.ScalarNode {
		return p.text()
	}
	out, err := p.json()
	if err != nil {
		return ""
	}
	return string(out)
}
