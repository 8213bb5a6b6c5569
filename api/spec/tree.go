package spec

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tree is a document that is read, with the first error of it.
type tree struct {
	root *yaml.Node
	err  error
}

// node is a YAML node with its position. The zero node does not exist; reading it gives zero values.
type node struct {
	node    *yaml.Node
	pointer string
	tree    *tree
}

// fail keeps what is wrong with a document, unless something is already, and returns the zero node.
func (n node) fail(err error) node {
	if n.tree.err == nil {
		n.tree.err = err
	}
	return node{}
}

// get returns the value of a key.
func (n node) get(key string) node {
	if n.node == nil || n.node.Kind != yaml.MappingNode {
		return node{}
	}
	for i := 0; i+1 < len(n.node.Content); i += 2 {
		if n.node.Content[i].Value == key {
			return node{node: n.node.Content[i+1], pointer: n.pointer + "/" + pointerEscaper.Replace(key), tree: n.tree}
		}
	}
	return node{}
}

func (n node) has(key string) bool { return n.get(key).node != nil }

// keys returns the keys of a mapping in the order of the document.
func (n node) keys() []string {
	if n.node == nil || n.node.Kind != yaml.MappingNode {
		return nil
	}
	out := make([]string, 0, len(n.node.Content)/2)
	for i := 0; i < len(n.node.Content); i += 2 {
		out = append(out, n.node.Content[i].Value)
	}
	return out
}

// items returns the entries of a sequence.
func (n node) items() []node {
	if n.node == nil || n.node.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]node, len(n.node.Content))
	for i, item := range n.node.Content {
		out[i] = node{node: item, pointer: fmt.Sprintf("%s/%d", n.pointer, i), tree: n.tree}
	}
	return out
}

// text returns the value of a scalar, without trailing line breaks.
func (n node) text() string {
	if n.node == nil || n.node.Kind != yaml.ScalarNode {
		return ""
	}
	return strings.TrimRight(n.node.Value, "\n")
}

// texts returns the scalars of a sequence, or the one scalar.
func (n node) texts() []string {
	if n.node != nil && n.node.Kind == yaml.ScalarNode {
		return []string{n.text()}
	}
	var out []string
	for _, item := range n.items() {
		out = append(out, item.text())
	}
	return out
}

// json returns the node as JSON, or nil when it does not exist.
func (n node) json() []byte {
	if n.node == nil {
		return nil
	}
	var b bytes.Buffer
	if err := writeJSON(&b, n.node); err != nil {
		n.fail(err)
	}
	return b.Bytes()
}

// resolve follows a reference; any other node resolves to itself.
func (n node) resolve() node {
	for range 8 {
		ref := n.get("$ref").text()
		if ref == "" {
			return n
		}
		n = n.follow(ref)
	}
	return n.fail(fmt.Errorf("%s: references go in a circle", n.pointer))
}

// follow finds the target of a reference inside the document.
func (n node) follow(ref string) node {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return n.fail(fmt.Errorf("%s: the reference %s leaves the document", n.pointer, ref))
	}
	target := node{node: n.tree.root, tree: n.tree}
	for part := range strings.SplitSeq(path, "/") {
		target = target.get(pointerUnescaper.Replace(part))
	}
	if target.node == nil {
		return n.fail(fmt.Errorf("%s: the reference %s has no target", n.pointer, ref))
	}
	return target
}

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)
