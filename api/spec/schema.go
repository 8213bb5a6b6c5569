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
func readSchema(n node) *Schema {
	if n.node == nil {
		return nil
	}
	s := &Schema{Pointer: n.pointer}
	s.read(n)
	return s
}

func (s *Schema) read(n node) {
	if ref := n.get("$ref").text(); ref != "" {
		s.read(n.follow(ref))
		s.Name = strings.TrimPrefix(ref, schemaPrefix)
	}
	for _, part := range n.get("allOf").items() {
		if part.has("if") {
			continue // conditions are described in prose
		}
		name := s.Name
		s.read(part)
		s.Name = name // a part does not name the schema
	}
	s.readScalars(n)
	s.readProperties(n)
	if n.has("items") {
		s.Items = readSchema(n.get("items"))
	}
	for _, part := range append(n.get("oneOf").items(), n.get("anyOf").items()...) {
		s.Variants = append(s.Variants, readSchema(part))
	}
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
	for key, list := range map[string]*[]string{"enum": &s.Enum, "examples": &s.Examples} {
		if n.has(key) {
			*list = nil
			for _, item := range n.get(key).items() {
				*list = append(*list, quoted(item))
			}
		}
	}
	s.Unique = s.Unique || n.get("uniqueItems").text() == "true"
	s.WriteOnly = s.WriteOnly || n.get("writeOnly").text() == "true"
}

// readProperties adds properties and refines those of an earlier part.
func (s *Schema) readProperties(n node) {
	properties := n.get("properties")
	for _, name := range properties.keys() {
		at := properties.get(name)
		if known := s.Property(name); known != nil {
			known.Schema.read(at)
		} else {
			s.Properties = append(s.Properties, &Property{Name: name, Schema: readSchema(at)})
		}
	}
	for _, name := range n.get("required").texts() {
		if known := s.Property(name); known != nil {
			known.Required = true
		}
	}
}
