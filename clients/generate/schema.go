package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is what the clients need of the OpenAPI document.
type document struct {
	Schemas    []named
	Operations []string // ids of the operations that a client calls
	Codes      []string // error codes that the document shows
}

type named struct {
	Name   string
	Schema *schema
}

// schema is the part of a JSON schema that becomes a type. Rules about values (patterns, lengths, conditions) do not.
type schema struct {
	Ref         string     `yaml:"$ref"`
	Type        types      `yaml:"type"`
	Description string     `yaml:"description"`
	Enum        []any      `yaml:"enum"`
	Const       any        `yaml:"const"`
	Required    []string   `yaml:"required"`
	Properties  properties `yaml:"properties"`
	Items       *schema    `yaml:"items"`
	OneOf       []*schema  `yaml:"oneOf"`
	AllOf       []*schema  `yaml:"allOf"`
}

// types is the keyword type: one name or several.
type types []string

func (t *types) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*t = types{node.Value}
		return nil
	}
	return node.Decode((*[]string)(t))
}

// properties keep the order of the document.
type properties []named

func (p *properties) UnmarshalYAML(node *yaml.Node) error {
	list, err := ordered(node)
	*p = list
	return err
}

func ordered(node *yaml.Node) ([]named, error) {
	list := make([]named, 0, len(node.Content)/2)
	for pair := range slices.Chunk(node.Content, 2) {
		s := &schema{}
		if err := pair[1].Decode(s); err != nil {
			return nil, fmt.Errorf("%s: %w", pair[0].Value, err)
		}
		list = append(list, named{pair[0].Value, s})
	}
	return list, nil
}

func parse(text []byte) (*document, error) {
	var raw struct {
		Paths map[string]map[string]struct {
			OperationID string `yaml:"operationId"`
		} `yaml:"paths"`
		Components struct {
			Schemas yaml.Node `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	var all any
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	schemas, err := ordered(&raw.Components.Schemas)
	if err != nil {
		return nil, err
	}
	for i := range schemas {
		schemas[i].Name = typeName(schemas[i].Name)
	}
	d := &document{Schemas: schemas}
	for _, path := range raw.Paths {
		for _, operation := range path {
			if id := operation.OperationID; id != "" && !strings.HasPrefix(id, "getOpenAPI") {
				d.Operations = append(d.Operations, id)
			}
		}
	}
	slices.Sort(d.Operations)
	codes := map[string]bool{}
	collectCodes(all, codes)
	d.Codes = slices.Sorted(maps.Keys(codes))
	return d, nil
}

// collectCodes finds the codes of all examples of the error envelope.
func collectCodes(value any, codes map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		code, ok := value["code"].(string)
		if _, envelope := value["request_id"]; ok && envelope {
			codes[code] = true
		}
		for _, v := range value {
			collectCodes(v, codes)
		}
	case []any:
		for _, v := range value {
			collectCodes(v, codes)
		}
	}
}

// field is a property of an object, with the schemas of allOf merged into one.
type field struct {
	named
	Required bool
}

// fields returns the properties of an object and of all schemas that it extends. A property that is given again
// narrows the earlier one.
func (d *document) fields(s *schema) []field {
	var list []field
	required := map[string]bool{}
	d.merge(s, &list, required)
	for i := range list {
		list[i].Required = required[list[i].Name]
	}
	return list
}

func (d *document) merge(s *schema, list *[]field, required map[string]bool) {
	if s.Ref != "" {
		d.merge(d.find(s.Ref), list, required)
		return
	}
	for _, part := range s.AllOf {
		d.merge(part, list, required)
	}
	for _, name := range s.Required {
		required[name] = true
	}
	for _, p := range s.Properties {
		i := slices.IndexFunc(*list, func(f field) bool { return f.Name == p.Name })
		if i < 0 {
			*list = append(*list, field{named: p})
			continue
		}
		if narrowed := p.Schema; narrowed.Description == "" {
			narrowed.Description = (*list)[i].Schema.Description
		}
		(*list)[i].Schema = p.Schema
	}
}

func (d *document) find(ref string) *schema {
	name := refName(ref)
	for _, s := range d.Schemas {
		if s.Name == name {
			return s.Schema
		}
	}
	return &schema{}
}

func refName(ref string) string { return typeName(ref[strings.LastIndexByte(ref, '/')+1:]) }

// typeName is the name of a schema in the clients: languages have an Error of their own.
func typeName(name string) string {
	if name == "Error" {
		return "ErrorEnvelope"
	}
	return name
}

// isObject reports whether the schema becomes a type with fields.
func (s *schema) isObject() bool {
	return slices.Contains(s.Type, "object") && (len(s.Properties) > 0 || len(s.AllOf) > 0)
}

// declares reports whether the schema itself has the property, or requires it; parts without a name are its own.
func (s *schema) declares(name string) bool {
	return slices.Contains(s.Required, name) ||
		slices.ContainsFunc(s.Properties, func(p named) bool { return p.Name == name }) ||
		slices.ContainsFunc(s.AllOf, func(part *schema) bool { return part.Ref == "" && part.declares(name) })
}

// values returns the permitted values, null among them, or nil when the schema permits any.
func (s *schema) values() []any {
	if s.Const != nil {
		return []any{s.Const}
	}
	return s.Enum
}

// summary returns the first line of the description.
func (s *schema) summary() string {
	text, _, _ := strings.Cut(strings.TrimSpace(s.Description), "\n")
	return text
}
