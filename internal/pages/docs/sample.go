package docs

import (
	"net/url"
	"strings"

	"github.com/assayhq/assay/api/spec"
)

// sampleOf returns a command that calls the operation with the examples of its document.
func sampleOf(p page, op *spec.Operation) (string, error) {
	path := op.Path
	query := url.Values{}
	var headers []string
	for _, parameter := range op.Parameters {
		if parameter.Example == "" {
			continue
		}
		switch {
		case parameter.In == "path":
			path = strings.ReplaceAll(path, "{"+parameter.Name+"}", url.PathEscape(parameter.Example))
		case parameter.In == "query" && parameter.Required:
			query.Set(parameter.Name, parameter.Example)
		case parameter.Name == "Idempotency-Key":
			headers = append(headers, parameter.Name+": "+parameter.Example)
		}
	}
	target := p.Server + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	lines := []string{"curl"}
	if op.Method == "DELETE" || op.Method == "POST" && op.Body == nil {
		lines[0] += " -X " + op.Method
	}
	lines[0] += " " + shellQuote(target)
	if !op.Public {
		lines = append(lines, `-H "Authorization: Bearer $`+p.Key+`"`)
	}
	for _, h := range headers {
		lines = append(lines, "-H "+shellQuote(h))
	}
	if op.Body != nil {
		body, err := sampleBody(op.Body.Content[0])
		if err != nil {
			return "", err
		}
		lines = append(lines, body...)
	}
	return strings.Join(lines, " \\\n  "), nil
}

func sampleBody(c *spec.Content) ([]string, error) {
	if c.MediaType != "application/json" {
		return []string{"-F photos=@front.jpg", "-F photos=@serial.heic"}, nil
	}
	if len(c.Examples) == 0 {
		return nil, nil
	}
	body, err := indent(c.Examples[0].JSON)
	if err != nil {
		return nil, err
	}
	return []string{"-H 'Content-Type: application/json'", "-d " + shellQuote(body)}, nil
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
