package apitest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assayhq/assay/api/spec"
)

const documentURL = "https://assay.invalid/openapi.json"

// schemas validates values against the schemas of a document, including formats.
type schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

func newSchemas(documentJSON []byte) (*schemas, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(documentJSON))
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(documentURL, document); err != nil {
		return nil, fmt.Errorf("add document: %w", err)
	}
	return &schemas{compiler: c, compiled: make(map[string]*jsonschema.Schema)}, nil
}

// at returns the schema at a JSON pointer of the document.
func (s *schemas) at(pointer string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.compiled[pointer]; ok {
		return known, nil
	}
	schema, err := s.compiler.Compile(documentURL + "#" +
		strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(pointer))
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", pointer, err)
	}
	s.compiled[pointer] = schema
	return schema, nil
}

// body validates a JSON body.
func (s *schemas) body(pointer string, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	schema, err := s.at(pointer)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// text validates the value of a header or parameter.
func (s *schemas) text(of *spec.Schema, text string) error {
	schema, err := s.at(of.Pointer)
	if err != nil {
		return err
	}
	var value any = text
	if len(of.Types) == 1 && of.Types[0] == "integer" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		value = n
	}
	return schema.Validate(value)
}
