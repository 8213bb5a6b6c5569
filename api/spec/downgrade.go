package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// JSON30 renders an OpenAPI 3.1 document in YAML as OpenAPI 3.0.3 in JSON, for generators that read no other. It
// describes the same requests and answers; what 3.0 has no words for is left out: conditions (if, then), and what an
// answer does not hold. Webhooks become x-webhooks.
func JSON30(document []byte) ([]byte, error) {
	root, err := readMapping(document)
	if err != nil {
		return nil, err
	}
	top := mapping{root}
	top.set("openapi", scalar("3.0.3"))
	if info, ok := top.get("info"); ok {
		mapping{info}.remove("summary")
	}
	top.rename("webhooks", "x-webhooks")
	downgradeObject(root)
	var compact, b bytes.Buffer
	if err := writeJSON(&compact, root); err != nil {
		return nil, err
	}
	if err := json.Indent(&b, compact.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// downgradeObject finds the schemas below an object that is none itself. Examples hold data, whatever their keys are.
func downgradeObject(n *yaml.Node) {
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			downgradeObject(item)
		}
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key, value := n.Content[i].Value, n.Content[i+1]; key {
		case "example", "examples":
		case "schema":
			downgradeSchema(value)
		case "schemas":
			eachValue(value, downgradeSchema)
		default:
			downgradeObject(value)
		}
	}
}

// notIn30 are keywords of schemas that OpenAPI 3.0 does not know.
var notIn30 = []string{
	"if", "then", "else", "contains", "unevaluatedProperties", "dependentRequired", "contentMediaType",
}

func downgradeSchema(n *yaml.Node) {
	s := mapping{n}
	if ref, ok := s.get("$ref"); ok { // nothing counts beside a reference
		n.Content = []*yaml.Node{scalar("$ref"), ref}
		return
	}
	downgradeType(s)
	downgradeNullable(s)
	if value, ok := s.get("const"); ok {
		s.remove("const")
		s.set("enum", sequence(value))
		if _, typed := s.get("type"); !typed {
			s.set("type", scalar(typeOf(value)))
		}
	}
	if list, ok := s.get("examples"); ok {
		s.remove("examples")
		s.set("example", list.Content[0])
	}
	if media, ok := s.get("contentMediaType"); ok && media.Value == "application/octet-stream" {
		s.set("format", scalar("binary"))
	}
	for _, key := range notIn30 {
		s.remove(key)
	}
	downgradeParts(s)
}

// downgradeType makes a list of types that holds null a type that is nullable.
func downgradeType(s mapping) {
	types, ok := s.get("type")
	if !ok || types.Kind != yaml.SequenceNode {
		return
	}
	for _, t := range types.Content {
		if t.Value == "null" {
			s.set("nullable", boolean(true))
		} else {
			s.set("type", t)
		}
	}
}

// downgradeNullable makes a choice between one schema and null that schema, nullable.
func downgradeNullable(s mapping) {
	choice, ok := s.get("oneOf")
	if !ok {
		return
	}
	others := slices.DeleteFunc(slices.Clone(choice.Content), isNull)
	if len(others) == len(choice.Content) || len(others) != 1 {
		return
	}
	s.remove("oneOf")
	s.set("allOf", sequence(others[0]))
	s.set("nullable", boolean(true))
}

func isNull(n *yaml.Node) bool {
	t, ok := mapping{n}.get("type")
	return ok && t.Value == "null"
}

// downgradeParts goes on with the schemas that a schema is made of. Parts of which nothing remains are left out.
func downgradeParts(s mapping) {
	if properties, ok := s.get("properties"); ok {
		p := mapping{properties}
		for _, name := range p.keys() {
			if value, _ := p.get(name); value.Kind != yaml.MappingNode || isNull(value) { // never there, or never set
				p.remove(name)
			}
		}
		eachValue(properties, downgradeSchema)
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if value, ok := s.get(key); ok && value.Kind == yaml.MappingNode {
			downgradeSchema(value)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, ok := s.get(key)
		if !ok {
			continue
		}
		for _, part := range list.Content {
			downgradeSchema(part)
		}
		list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool { return len(n.Content) == 0 })
		if len(list.Content) == 0 {
			s.remove(key)
		}
	}
	downgradeComposition(s)
}

// downgradeComposition writes compositions as generators understand them. A choice beside properties, and a part of
// allOf that only narrows the properties of others, are conditions.
func downgradeComposition(s mapping) {
	properties, ok := s.get("properties")
	if ok {
		s.remove("oneOf")
		s.remove("anyOf")
	}
	all, composed := s.get("allOf")
	if !composed {
		return
	}
	all.Content = slices.DeleteFunc(all.Content, func(n *yaml.Node) bool {
		return len(all.Content) > 1 && slices.Equal(mapping{n}.keys(), []string{"properties"})
	})
	if ok { // generators leave out properties beside allOf
		part := mapping{&yaml.Node{Kind: yaml.MappingNode}}
		part.set("type", scalar("object"))
		if required, ok := s.get("required"); ok {
			part.set("required", required)
		}
		part.set("properties", properties)
		all.Content = append(all.Content, part.Node)
		s.remove("properties")
		s.remove("required")
	}
	if len(all.Content) == 1 && len(s.Content) == 2 {
		s.Content = all.Content[0].Content
	}
}

func eachValue(n *yaml.Node, f func(*yaml.Node)) {
	for i := 1; i < len(n.Content); i += 2 {
		f(n.Content[i])
	}
}

func typeOf(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!int":
		return "integer"
	case "!!bool":
		return "boolean"
	}
	return "string"
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

func boolean(value bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(value)}
}

func sequence(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
}

// mapping changes a mapping and keeps the order of its keys.
type mapping struct{ *yaml.Node }

func (m mapping) index(key string) int {
	if m.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func (m mapping) get(key string) (*yaml.Node, bool) {
	i := m.index(key)
	if i < 0 {
		return nil, false
	}
	return m.Content[i+1], true
}

func (m mapping) set(key string, value *yaml.Node) {
	if i := m.index(key); i >= 0 {
		m.Content[i+1] = value
		return
	}
	m.Content = append(m.Content, scalar(key), value)
}

func (m mapping) remove(key string) {
	if i := m.index(key); i >= 0 {
		m.Content = slices.Delete(m.Content, i, i+2)
	}
}

func (m mapping) rename(key, to string) {
	if i := m.index(key); i >= 0 {
		m.Content[i].Value = to
	}
}

func (m mapping) keys() []string { return node{node: m.Node}.keys() }
