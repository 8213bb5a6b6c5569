package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxVisits bounds the number of values that are read. A document within the size limits can exceed it only through
// aliases that repeat the same values.
const maxVisits = 4 << 20

// reader collects the problems of a document while cursors traverse it.
type reader struct {
	problems []Problem
	visits   int  // values read
	bytes    int  // of the scalars read
	aliased  bool // whether any alias was followed
	stopped  bool // a limit is reached: nothing more is read or reported
}

func (r *reader) report(line int, path, format string, args ...any) {
	if r.stopped {
		return
	}
	if len(r.problems) == maxProblems {
		r.problems = append(r.problems, tooManyProblems(line))
		r.stopped = true
		return
	}
	r.problems = append(r.problems, Problem{Line: line, Path: path, Message: fmt.Sprintf(format, args...)})
}

// cursor is a value of the document and its position. A nil node is an absent value; its line is that of the
// mapping that lacks it.
type cursor struct {
	r    *reader
	node *yaml.Node
	line int
	path string
}

// at returns the cursor of a node, following an alias. A null counts as absent.
func (r *reader) at(node *yaml.Node, path string) cursor {
	c := cursor{r: r, node: node, line: node.Line, path: path}
	if node.Kind == yaml.AliasNode {
		c.node = node.Alias
		r.aliased = true
	}
	r.visits++
	r.bytes += len(c.node.Value)
	if r.visits > maxVisits || r.bytes > maxBytes {
		r.report(c.line, c.path, "the document is too large when its aliases are written out")
		r.stopped = true
	}
	if c.node.Kind == yaml.ScalarNode && c.node.ShortTag() == "!!null" {
		c.node = nil
	}
	return c
}

func (c cursor) present() bool { return c.node != nil }

// problem reports a broken rule of this value.
func (c cursor) problem(format string, args ...any) { c.r.report(c.line, c.path, format, args...) }

// object is a mapping with known properties.
type object struct {
	cursor
	fields []field
}

type field struct {
	key   string
	value cursor // its line is that of the key
}

// object reads a mapping. Unknown and repeated properties are problems.
func (c cursor) object(known ...string) (object, bool) {
	o := object{cursor: c}
	if !c.present() {
		return o, false
	}
	if c.node.Kind != yaml.MappingNode || c.node.ShortTag() != "!!map" {
		c.problem("must be a mapping with the properties %s, not %s", strings.Join(known, ", "), c.kind())
		return o, false
	}
	for i := 0; i+1 < len(c.node.Content) && !c.r.stopped; i += 2 {
		key, value := c.node.Content[i], c.node.Content[i+1]
		line := key.Line
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch name := key.Value; {
		case key.Kind != yaml.ScalarNode || name == "":
			c.r.report(line, c.path, "a property name must be plain text")
		case key.ShortTag() == "!!merge":
			c.r.report(line, c.child(name), "merge keys are not supported; write the properties out")
		case !slices.Contains(known, name):
			c.r.report(line, c.child(name), "unknown property; known here are %s", strings.Join(known, ", "))
		case o.field(name) != nil:
			c.r.report(line, c.child(name), "is stated twice; the first is at line %d", o.field(name).value.line)
		default:
			property := c.r.at(value, c.child(name))
			property.line = line
			o.fields = append(o.fields, field{key: name, value: property})
		}
	}
	return o, true
}

// child returns the path of a property. Names that come from the document are quoted unless they are plain.
func (c cursor) child(name string) string {
	const longest = 64
	if len(name) > longest || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		name = quote(name)
	}
	if c.path == "" {
		return name
	}
	return c.path + "." + name
}

func (o object) field(key string) *field {
	for i := range o.fields {
		if o.fields[i].key == key {
			return &o.fields[i]
		}
	}
	return nil
}

// get returns the value of a property. An absent one has the line of the mapping.
func (o object) get(key string) cursor {
	f := o.field(key)
	if f == nil {
		return cursor{r: o.r, line: o.line, path: o.child(key)}
	}
	return f.value
}

// require returns the value of a property and reports it when it is absent.
func (o object) require(key string) cursor {
	c := o.get(key)
	if !c.present() {
		c.problem("is required")
	}
	return c
}

// list returns the elements of a sequence, and whether the value is absent or a sequence.
func (c cursor) list() ([]cursor, bool) {
	if !c.present() || c.r.stopped {
		return nil, true
	}
	if c.node.Kind != yaml.SequenceNode || c.node.ShortTag() != "!!seq" {
		c.problem("must be a list, not %s", c.kind())
		return nil, false
	}
	elements := make([]cursor, 0, len(c.node.Content))
	for i, node := range c.node.Content {
		if c.r.stopped {
			break
		}
		element := c.r.at(node, c.path+"["+strconv.Itoa(i)+"]")
		if !element.present() {
			element.problem("is empty; remove it or give it a value")
			continue
		}
		elements = append(elements, element)
	}
	return elements, true
}

// kind describes the type of the value for messages.
func (c cursor) kind() string {
	if c.node.Kind == yaml.MappingNode {
		return "a mapping"
	}
	if c.node.Kind == yaml.SequenceNode {
		return "a list"
	}
	switch c.node.ShortTag() {
	case "!!str":
		return "the text " + quote(c.node.Value)
	case "!!int", "!!float":
		return "the number " + quote(c.node.Value)
	case "!!bool":
		return "the truth value " + quote(c.node.Value)
	default:
		return quote(c.node.Value) + " of type " + quote(c.node.ShortTag())
	}
}
