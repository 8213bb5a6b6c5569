package input

import (
	"fmt"
	"strconv"

	"github.com/assayhq/assay/internal/domain/fault"
)

// Object reads the properties of a JSON object and collects every problem; Done returns them all at once. A
// property that no method has asked for is a problem. null counts as absent.
//
// The zero Object is a missing one: reading it returns zero values and reports nothing. Strings share the memory of the
// body. An Object is for one goroutine.
type Object struct {
	value Value
}

// ParseObject parses a body that must be one JSON object. Text that is not JSON is a bad-request fault, and JSON that
// is not an object a validation fault of the field "body".
func ParseObject(body []byte) (Object, error) {
	text := string(body)
	nodes, defects, err := parse(text)
	if err != nil {
		return Object{}, err
	}
	if kind := nodes[0].kind; kind != KindObject {
		return Object{}, fault.InvalidField("body", CodeType, "must be an object, is "+kind.String())
	}
	return Value{&document{text: text, nodes: nodes, defects: defects}, 0}.Object(), nil
}

// Exists reports whether the object is there.
func (o Object) Exists() bool { return o.value.doc != nil }

// Raw returns the property whatever it is, for a rule that does not fit the other methods.
func (o Object) Raw(name string) Value {
	v := o.find(name)
	if v.doc != nil {
		v.node().flags |= flagRead
	}
	return v
}

// String returns a string property that keeps the rules, else "".
func (o Object) String(name string, rules ...Rule) string {
	mustFit(rules, stringRules, name)
	s, _ := o.read(name, rules).readString(rules)
	return s
}

// OptString is String for callers that tell an absent property (nil) from an empty one.
func (o Object) OptString(name string, rules ...Rule) *string {
	mustFit(rules, stringRules, name)
	if s, ok := o.read(name, rules).readString(rules); ok {
		return &s
	}
	return nil
}

// Int returns an integer property that keeps the rules, else 0.
func (o Object) Int(name string, rules ...Rule) int64 {
	mustFit(rules, intRules, name)
	n, _ := o.read(name, rules).readInt(rules)
	return n
}

// Bool returns true for a property that is true, else false. The only rule is Required.
func (o Object) Bool(name string, rules ...Rule) bool {
	mustFit(rules, ruleRequired, name)
	return o.read(name, rules).Bool()
}

// Object returns the object that is the property, or the missing one. The only rule is Required.
func (o Object) Object(name string, rules ...Rule) Object {
	mustFit(rules, ruleRequired, name)
	return o.read(name, rules).Object()
}

// Objects returns the elements of an array property, which must all be objects. An element that is not is reported and
// returned as the missing object, so that indexes stay right.
func (o Object) Objects(name string, rules ...Rule) []Object {
	mustFit(rules, arrayRules, name)
	elements := o.read(name, rules).readArray(rules)
	if elements == nil {
		return nil
	}
	objects := make([]Object, len(elements))
	for i, v := range elements {
		objects[i] = v.Object()
	}
	return objects
}

// Strings returns an array property whose elements are strings. Rules for arrays apply to the array, rules for strings
// to each element. Elements that break a rule are left out.
func (o Object) Strings(name string, rules ...Rule) []string {
	mustFit(rules, stringRules|arrayRules|ruleUnique, name)
	elements := o.read(name, rules).readArray(rules)
	if elements == nil {
		return nil
	}
	out := make([]string, 0, len(elements))
	var first map[string]int // where a value stood first
	if has(rules, ruleUnique) {
		first = make(map[string]int, len(elements))
	}
	for i, v := range elements {
		s, ok := v.readString(rules)
		if !ok {
			continue
		}
		if first != nil {
			if j, again := first[s]; again {
				v.Problem(CodeDuplicate, fmt.Sprintf("must not repeat %s[%d]", name, j))
				continue
			}
			first[s] = i
		}
		out = append(out, s)
	}
	return out
}

// Problem reports a problem of a property, or of the object itself when name is "".
func (o Object) Problem(name, code, message string) {
	switch {
	case o.value.doc == nil || o.value.doc.full(): // a path is not free
	case name == "":
		o.value.Problem(code, message)
	default:
		o.value.doc.add(join(o.value.doc.path(o.value.at), name), code, message)
	}
}

// Done returns nil, or one validation fault with every problem of the whole document: first those of the properties in
// the order in which they were read, then unknown and duplicate properties and text that cannot be stored, in the order
// of the document. Problems after maxProblems are left out.
func (o Object) Done() error {
	d := o.value.doc
	if d == nil {
		return nil
	}
	if !d.swept {
		d.swept = true
		d.sweep(0)
	}
	return d.err()
}

// read returns a property's value and marks the property as known. An absent one is reported if it is required.
func (o Object) read(name string, rules []Rule) Value {
	v := o.Raw(name)
	if v.Exists() {
		return v
	}
	if has(rules, ruleRequired) {
		o.Problem(name, CodeRequired, "is required")
	}
	return Value{}
}

// find returns the first property of the name, or the missing value.
func (o Object) find(name string) Value {
	d := o.value.doc
	if d == nil {
		return Value{}
	}
	end := int(o.value.node().next)
	for i := o.value.at + 1; i < end; i = int(d.nodes[i].next) {
		if nodeKey(d.text, &d.nodes[i]) == name {
			return Value{d, i}
		}
	}
	return Value{}
}

// sweep reports what no reader could see: unknown properties of the objects that were read, duplicate properties and
// text that cannot be stored. An unknown property is one problem, whatever is inside.
func (d *document) sweep(at int) {
	parent := &d.nodes[at]
	open := parent.flags&flagOpen != 0
	if !open && d.defects == 0 && parent.kind == KindObject {
		return
	}
	for i := at + 1; i < int(parent.next) && !d.full(); i = int(d.nodes[i].next) {
		v, n := Value{d, i}, &d.nodes[i]
		switch {
		case n.flags&flagDuplicate != 0:
			v.Problem(CodeDuplicate, "must not be given more than once")
		case open && n.flags&flagRead == 0:
			v.Problem(CodeUnknown, "is not a known property")
		case n.flags&flagUnstorable != 0:
			v.Problem(CodeInvalidCharacter, unstorable)
		case n.kind == KindObject || n.kind == KindArray:
			d.sweep(i)
		}
	}
}

// path returns the path of a node, such as photos[3].url; the root's is empty.
func (d *document) path(at int) string {
	path := ""
	for parent := 0; parent != at; {
		index, child := 0, parent+1
		for at >= int(d.nodes[child].next) {
			index, child = index+1, int(d.nodes[child].next)
		}
		if d.nodes[parent].kind == KindArray {
			path += "[" + strconv.Itoa(index) + "]"
		} else {
			path = join(path, nodeKey(d.text, &d.nodes[child]))
		}
		parent = child
	}
	return path
}
