package spec

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is a node of the document with its position. The zero place does not exist; reading it gives zero values.
type place struct {
	node    *yaml.Node
	pointer string
	root    *yaml.Node
}

// get returns the value of a key.
func (p place) get(key string) place {
	if p.node == nil || p.node.Kind != yaml.MappingNode {
		return place{}
	}
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		if p.node.Content[i].Value == key {
			return place{node: p.node.Content[i+1], pointer: p.pointer + "/" + escape(key), root: p.root}
		}
	}
	return place{}
}

func (p place) has(key string) bool { return p.get(key).node != nil }

// keys returns the keys of a mapping in the order of the document.
func (p place) keys() []string {
	if p.node == nil || p.node.Kind != yaml.MappingNode {
		return nil
	}
	out := make([]string, 0, len(p.node.Content)/2)
	for i := 0; i < len(p.node.Content); i += 2 {
		out = append(out, p.node.Content[i].Value)
	}
	return out
}

// items returns the entries of a sequence.
func (p place) items() []place {
	if p.node == nil || p.node.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]place, len(p.node.Content))
	for i, n := range p.node.Content {
		out[i] = place{node: n, pointer: fmt.Sprintf("%s/%d", p.pointer, i), root: p.root}
	}
	return out
}

// text returns the value of a scalar, without trailing line breaks.
func (p place) text() string {
	if p.node == nil || p.node.Kind != yaml.ScalarNode {
		return ""
	}
	return strings.TrimRight(p.node.Value, "\n")
}

// texts returns the scalars of a sequence, or the one scalar.
func (p place) texts() []string {
	if p.node != nil && p.node.Kind == yaml.ScalarNode {
		return []string{p.text()}
	}
	var out []string
	for _, item := range p.items() {
		out = append(out, item.text())
	}
	return out
}

// json returns the node as JSON, or nil when it does not exist.
func (p place) json() ([]byte, error) {
	if p.node == nil {
		return nil, nil
	}
	var b bytes.Buffer
	if err := writeJSON(&b, p.node); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// resolve follows a reference; any other place resolves to itself.
func (p place) resolve() (place, error) {
	for range 8 {
		ref := p.get("$ref").text()
		if ref == "" {
			return p, nil
		}
		target, err := p.follow(ref)
		if err != nil {
			return place{}, err
		}
		p = target
	}
	return place{}, fmt.Errorf("%s: references go in a circle", p.pointer)
}

// follow finds the target of a reference inside the document.
func (p place) follow(ref string) (place, error) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return place{}, fmt.Errorf("%s: the reference %s leaves the document", p.pointer, ref)
	}
	target := place{node: p.root, root: p.root}
	for part := range strings.SplitSeq(path, "/") {
		target = target.get(unescape(part))
	}
	if target.node == nil {
		return place{}, fmt.Errorf("%s: the reference %s has no target", p.pointer, ref)
	}
	return target, nil
}

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func escape(key string) string    { return pointerEscaper.Replace(key) }
func unescape(part string) string { return pointerUnescaper.Replace(part) }
