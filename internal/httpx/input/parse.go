package input

import (
	"fmt"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/fault"
)

const (
	// MaxBody is the size limit of a JSON body in bytes.
	MaxBody = 1 << 20
	// MaxDepth is how deep objects and arrays may be nested; the root is the first level.
	MaxDepth = 32
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds. A property that is not there is missing.
const (
	KindMissing Kind = iota
	KindNull
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

// String returns the kind with its article, as messages say it.
func (k Kind) String() string {
	return [...]string{"missing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

type nodeFlags uint8

const (
	flagEscaped    nodeFlags = 1 << iota // the string has escapes
	flagKeyEscaped                       // the property name has escapes
	flagUnstorable                       // the string has NUL or an unpaired surrogate
	flagDuplicate                        // an earlier property of the object has the same name
	flagRead                             // a reader has asked for the property
	flagOpen                             // a reader reads the object's properties
)

// node is one value of a document. A document is the slice of its nodes in the order of the text: the children of a
// node stand right behind it, and next is the index of the first node after them. Names and values are offsets into the
// text: nothing is copied while parsing. 32 bits are enough for MaxBody.
type node struct {
	keyStart, keyEnd uint32 // the property name between its quotes, when the node is a property
	start, end       uint32 // the value; a string's between its quotes
	next             uint32
	kind             Kind
	flags            nodeFlags
}

// offset narrows an index into a body or its nodes.
func offset(i int) uint32 {
	return uint32(i) //nolint:gosec // bodies are at most MaxBody bytes long, and a node takes at least one byte
}

// parser checks JSON text (RFC 8259) and records its nodes.
type parser struct {
	text    string
	pos     int
	depth   int
	nodes   []node
	defects int // strings that cannot be stored and duplicate properties
	err     *fault.Error
}

// parse returns the nodes of a text that is one JSON value, and how many of them have defects that are valid JSON and
// still no valid request. The error is a bad-request fault that names the offset.
func parse(text string) (nodes []node, defects int, err error) {
	if len(text) > MaxBody {
		return nil, 0, tooLarge()
	}
	if !utf8.ValidString(text) {
		return nil, 0, fault.BadRequest("The body is not valid UTF-8.")
	}
	p := parser{text: text, nodes: make([]node, 0, min(len(text)/24+8, 512))}
	p.space()
	if p.pos == len(text) {
		return nil, 0, fault.BadRequest("The body is empty; a JSON object is expected.")
	}
	if !p.value(node{}) {
		return nil, 0, p.err
	}
	p.space()
	if p.pos < len(text) {
		p.unexpected("after the end of the JSON value")
		return nil, 0, p.err
	}
	return p.nodes, p.defects, nil
}

// fail stops the parser with the reason and the offset; it returns false for its callers to return.
func (p *parser) fail(at int, reason string) bool {
	p.err = fault.BadRequest(fmt.Sprintf("The body is not valid JSON: %s at byte %d.", reason, at)).With("offset", at)
	return false
}

func (p *parser) unexpected(where string) bool {
	if p.pos >= len(p.text) {
		return p.fail(len(p.text), "unexpected end of the text")
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return p.fail(p.pos, fmt.Sprintf("unexpected %q %s", r, where))
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\n', '\r', '\t':
			p.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the next byte without consuming it, or 0 at the end of the text.
func (p *parser) next() byte {
	p.space()
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// value parses one value into n, which has the property name if there is one, and appends n.
func (p *parser) value(n node) bool {
	c := p.next()
	at, start, ok := len(p.nodes), p.pos, false
	switch c {
	case '{', '[':
		return p.container(n)
	case '"':
		var flags nodeFlags
		n.start, n.end, flags, ok = p.str()
		n.kind, n.flags, n.next = KindString, n.flags|flags, offset(at+1)
		if flags&flagUnstorable != 0 {
			p.defects++
		}
		p.nodes = append(p.nodes, n)
		return ok
	case 't':
		n.kind, ok = KindBool, p.literal("true")
	case 'f':
		n.kind, ok = KindBool, p.literal("false")
	case 'n':
		n.kind, ok = KindNull, p.literal("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		n.kind, ok = KindNumber, p.number()
	default:
		return p.unexpected("instead of a value")
	}
	n.start, n.end, n.next = offset(start), offset(p.pos), offset(at+1)
	p.nodes = append(p.nodes, n)
	return ok
}

// container parses an object or an array with all that is inside.
func (p *parser) container(n node) bool {
	if p.depth == MaxDepth {
		return p.fail(p.pos, fmt.Sprintf("nesting over %d levels", MaxDepth))
	}
	p.depth++
	at, start, ok := len(p.nodes), p.pos, false
	p.nodes = append(p.nodes, n) // before the children
	if p.text[p.pos] == '{' {
		n.kind, ok = KindObject, p.object(at)
	} else {
		n.kind, ok = KindArray, p.array()
	}
	n.start, n.end, n.next = offset(start), offset(p.pos), offset(len(p.nodes))
	p.nodes[at] = n
	p.depth--
	return ok
}

// object parses the members of the object at a node, from its opening brace on.
func (p *parser) object(at int) bool {
	p.pos++
	if p.next() == '}' {
		p.pos++
		return true
	}
	plain := true
	for members := 1; ; members++ {
		if p.next() != '"' {
			return p.unexpected("instead of a property name")
		}
		var n node
		var flags nodeFlags
		var ok bool
		if n.keyStart, n.keyEnd, flags, ok = p.str(); !ok {
			return false
		}
		if flags&flagEscaped != 0 {
			n.flags, plain = flagKeyEscaped, false
		}
		if p.next() != ':' {
			return p.unexpected("instead of a colon after the property name")
		}
		p.pos++
		if !p.value(n) {
			return false
		}
		switch p.next() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			p.markDuplicates(at, members, plain)
			return true
		default:
			return p.unexpected("instead of a comma or the end of the object")
		}
	}
}

// array parses the elements of an array, from its opening bracket on.
func (p *parser) array() bool {
	p.pos++
	if p.next() == ']' {
		p.pos++
		return true
	}
	for {
		if !p.value(node{}) {
			return false
		}
		switch p.next() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return true
		default:
			return p.unexpected("instead of a comma or the end of the array")
		}
	}
}

// markDuplicates flags the members of the object at a node whose name an earlier member has. All members are parsed,
// and nothing follows them yet. Plain names have no escapes.
func (p *parser) markDuplicates(at, members int, plain bool) {
	const pairwise = 16 // up to here comparing each with each is faster than a map
	end := len(p.nodes)
	if plain && members <= pairwise {
		for i := at + 1; i < end; i = int(p.nodes[i].next) {
			for j := at + 1; j < i; j = int(p.nodes[j].next) {
				if nodeKey(p.text, &p.nodes[i]) == nodeKey(p.text, &p.nodes[j]) {
					p.nodes[i].flags |= flagDuplicate
					p.defects++
					break
				}
			}
		}
		return
	}
	seen := make(map[string]struct{}, members)
	for i := at + 1; i < end; i = int(p.nodes[i].next) {
		name := nodeKey(p.text, &p.nodes[i])
		if _, ok := seen[name]; ok {
			p.nodes[i].flags |= flagDuplicate
			p.defects++
		}
		seen[name] = struct{}{}
	}
}

func (p *parser) literal(word string) bool {
	for i := range len(word) {
		if p.pos == len(p.text) || p.text[p.pos] != word[i] {
			return p.unexpected("inside the word " + word)
		}
		p.pos++
	}
	return true
}

func (p *parser) number() bool {
	if p.text[p.pos] == '-' {
		p.pos++
	}
	if p.pos < len(p.text) && p.text[p.pos] == '0' {
		p.pos++
	} else if !p.digits() {
		return false
	}
	if p.pos < len(p.text) && p.text[p.pos] == '.' {
		p.pos++
		if !p.digits() {
			return false
		}
	}
	if p.pos < len(p.text) && p.text[p.pos]|0x20 == 'e' {
		p.pos++
		if p.pos < len(p.text) && (p.text[p.pos] == '+' || p.text[p.pos] == '-') {
			p.pos++
		}
		return p.digits()
	}
	return true
}

// digits consumes at least one digit.
func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	if p.pos == start {
		return p.unexpected("instead of a digit")
	}
	return true
}

// nodeKey returns the property name of a node.
func nodeKey(text string, n *node) string {
	raw := text[n.keyStart:n.keyEnd]
	if n.flags&flagKeyEscaped != 0 {
		return unescape(raw)
	}
	return raw
}
