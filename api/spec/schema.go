package spec

import (
	"slices"
	"strings"
)

// Schema is the part of a JSON schema that fits into a table. Validators find the complete schema by Pointer.
type Schema struct {
	Pointer string // JSON pointer of its definition
	Name    string // of the component, if it has one

	Title, Description, Format, Pattern, Const, Default string

	Types      []string // more than one only with null
	Enum       []string
	Examples   []string
	Bounds     Bounds
	Unique     bool
	WriteOnly  bool
	Properties []*Property
	Items      *Schema
	Variants   []*Schema // exactly one of them applies besides the rest
}

// Bounds are the limits of a value as written; empty ones do not apply.
type Bounds struct{ Minimum, Maximum, MinLength, MaxLength, MinItems, MaxItems string }

// Property is a property of an object.
type Property struct {
	Name     string
	Required bool
	Schema   *Schema
}

// Property returns the property with a name, or nil.
func (s *Schema) Property(name string) *Property {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.Properties, func(p *Property) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return s.Properties[i]
}

// Nullable reports whether null is allowed.
func (s *Schema) Nullable() bool { return slices.Contains(s.Types, "null") }

const schemaPrefix = "#/components/schemas/"

// readSchema reads a schema and resolves references. Descriptions and examples beside a reference override those of
// its target; the parts of allOf are merged.
func readSchema(n node) (*Schema, error) {
	if n.node == nil {
		return nil, nil
	}
	s := &Schema{Pointer: n.pointer}
	if err := s.read(n); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Schema) read(n node) error {
	if ref := n.get("$ref").text(); ref != "" {
		target, err := n.follow(ref)
		if err != nil {
			return err
		}
		if err := s.read(target); err != nil {
			return err
		}
		s.Name = strings.TrimPrefix(ref, schemaPrefix)
	}
	for _, part := range n.get("allOf").items() {
		if part.has("if") {
			continue // conditions are described in prose
		}
		name := s.Name
		if err := s.read(part); err != nil {
			return err
		}
		s.Name = name // a part does not name the schema
	}
	s.readScalars(n)
	if err := s.readProperties(n); err != nil {
		return err
	}
	if n.has("items") {
		items, err := readSchema(n.get("items"))
		if err != nil {
			return err
		}
		s.Items = items
	}
	for _, part := range append(n.get("oneOf").items(), n.get("anyOf").items()...) {
		variant, err := readSchema(part)
		if err != nil {
			return err
		}
		s.Variants = append(s.Variants, variant)
	}
	return nil
}

func (s *Schema) readScalars(n node) {
	for key, field := range map[string]*string{
		"title": &s.Title, "description": &s.Description, "format": &s.Format, "pattern": &s.Pattern,
		"minimum": &s.Bounds.Minimum, "maximum": &s.Bounds.Maximum,
		"minLength": &s.Bounds.MinLength, "maxLength": &s.Bounds.MaxLength,
		"minItems": &s.Bounds.MinItems, "maxItems": &s.Bounds.MaxItems,
		"const": &s.Const, "default": &s.Default,
	} {
		if n.has(key) {
			*field = n.get(key).text()
		}
	}
	if n.has("type") {
		s.Types = n.get("type").texts()
	}
	if n.has("enum") {
		s.Enum = nil
		for _, item := range n.get("enum").items() {
			s.Enum = append(s.Enum, quoted(item))
		}
	}
	if n.has("examples") {
		s.Examples = nil
		for _, item := range n.get("examples").items() {
			s.Examples = append(s.Examples, quoted(item))
		}
	}
	s.Unique = s.Unique || n.get("uniqueItems").text() == "true"
	s.WriteOnly = s.WriteOnly || n.get("writeOnly").text() == "true"
}

// readProperties adds properties and refines those of an earlier part.
func (s *Schema) readProperties(n node) error {
	properties := n.get("properties")
	for _, name := range properties.keys() {
		at := properties.get(name)
		if known := s.Property(name); known != nil {
			if err := known.Schema.read(at); err != nil {
				return err
			}
			continue
		}
		property, err := readSchema(at)
		if err != nil {
			return err
		}
		s.Properties = append(s.Properties, &Property{Name: name, Schema: property})
	}
	for _, name := range n.get("required").texts() {
		if known := s.Property(name); known != nil {
			known.Required = true
		}
	}
	return nil
}
