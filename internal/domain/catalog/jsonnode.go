package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/assayhq/assay/internal/domain/wire"
)

// jsonNode reads a JSON document into YAML nodes with line numbers. The first byte of data is on the given line.
func jsonNode(data []byte, line int) (*yaml.Node, *Problem) {
	// Validating first keeps the reader below simple: its input is well formed and at most 10,000 levels deep.
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		at := len(data)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(min(syntax.Offset, int64(len(data))))
		}
		return nil, &Problem{
			Line:    line + bytes.Count(data[:max(at-1, 0)], []byte("\n")),
			Message: fmt.Sprintf("the document is not valid JSON: %s", err),
		}
	}
	r := &jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: line}
	r.decoder.UseNumber()
	root, err := r.value()
	if err != nil {
		return nil, &Problem{Line: r.line, Message: fmt.Sprintf("the document is not valid JSON: %s", err)}
	}
	return root, nil
}

type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	offset  int64
	line    int // of offset
}

// value reads the next value with everything in it.
func (r *jsonReader) value() (*yaml.Node, error) {
	token, err := r.next()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			node.Kind, node.Tag = yaml.MappingNode, "!!map"
		} else {
			node.Kind, node.Tag = yaml.SequenceNode, "!!seq"
		}
		for r.decoder.More() {
			child, err := r.value()
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		_, err := r.next()
		return node, err
	case string:
		node.Tag, node.Value = "!!str", t
	case json.Number:
		node.Tag, node.Value = "!!int", t.String()
		if strings.ContainsAny(node.Value, ".eE") {
			node.Tag = "!!float"
		}
	case bool:
		node.Tag, node.Value = "!!bool", fmt.Sprint(t)
	default:
		node.Tag, node.Value = "!!null", "null"
	}
	return node, nil
}

// next returns the next token and moves the line to it. No token of JSON spans lines.
func (r *jsonReader) next() (json.Token, error) {
	token, err := r.decoder.Token()
	offset := r.decoder.InputOffset()
	raw := r.data[r.offset:offset]
	r.line += bytes.Count(raw, []byte("\n"))
	r.offset = offset
	if err == nil {
		err = checkSurrogates(string(raw))
	}
	return token, err
}

// checkSurrogates refuses what the decoder would replace: the escape of half a character.
func checkSurrogates(token string) error {
	for i := strings.IndexByte(token, '\\'); i >= 0; i = strings.IndexByte(token, '\\') {
		token = token[i:]
		n, storable := wire.EscapeLen(token)
		if escape := token[:n]; !storable && escape != `\u0000` { // which is told of with its path
			return fmt.Errorf("%s is half a character: the other half of its pair is missing", escape)
		}
		token = token[n:]
	}
	return nil
}
