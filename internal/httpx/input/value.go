package input

// document is a parsed body and the problems found while reading it.
type document struct {
	problems
	text    string
	nodes   []node
	defects int
	swept   bool
}

// Value is one value of a body. The zero Value is a missing one: reading it returns zero values and reports nothing,
// because whatever made it missing has been reported already.
type Value struct {
	doc *document
	at  int
}

func (v Value) node() *node { return &v.doc.nodes[v.at] }

// Kind returns the kind of the value.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return KindMissing
	}
	return v.node().kind
}

// Exists reports whether the value is there and not null.
func (v Value) Exists() bool { return v.Kind() > KindNull }

// Text returns the text of a string without checking any rule, and false for everything else. Text that cannot be
// stored counts as something else; Done reports it.
func (v Value) Text() (string, bool) {
	if v.Kind() != KindString || v.node().flags&flagUnstorable != 0 {
		return "", false
	}
	n := v.node()
	raw := v.doc.text[n.start:n.end]
	if n.flags&flagEscaped != 0 {
		return unescape(raw), true
	}
	return raw, true
}

// readString returns the text of a string that obeys the rules.
func (v Value) readString(rules []Rule) (s string, ok bool) {
	if !v.is(KindString) {
		return "", false
	}
	if s, ok = v.Text(); !ok {
		return "", false
	}
	if code, message := checkString(s, rules); code != "" {
		v.Problem(code, message)
		return "", false
	}
	return s, true
}

// readInt returns an integer that obeys the rules. A number is an integer when its value is one: 30.0 is 30.
func (v Value) readInt(rules []Rule) (n int64, ok bool) {
	if v.doc == nil {
		return 0, false
	}
	if kind := v.Kind(); kind != KindNumber {
		v.Problem(CodeType, "must be an integer, is "+kind.String())
		return 0, false
	}
	n, fits, ok := integer(v.doc.text[v.node().start:v.node().end])
	if !ok {
		v.Problem(CodeType, "must be an integer")
		return 0, false
	}
	code, message := checkInt(n, rules)
	if code == "" && !fits {
		code, message = beyond64(n)
	}
	if code != "" {
		v.Problem(code, message)
		return 0, false
	}
	return n, true
}

// Bool returns true for true, else false.
func (v Value) Bool() bool {
	return v.is(KindBool) && v.doc.text[v.node().start] == 't'
}

// Object returns the object, or the missing one.
func (v Value) Object() Object {
	if !v.is(KindObject) {
		return Object{}
	}
	v.node().flags |= flagOpen
	return Object{v}
}

// readArray returns the elements of an array, also of one with too few or too many: their own problems are reported
// too.
func (v Value) readArray(rules []Rule) []Value {
	if !v.is(KindArray) {
		return nil
	}
	n := v.checkedLen(rules)
	if n == 0 {
		return nil
	}
	elements := make([]Value, 0, n)
	for i := v.at + 1; len(elements) < n; i = int(v.doc.nodes[i].next) {
		elements = append(elements, Value{v.doc, i})
	}
	return elements
}

// checkedLen returns the number of elements of an array and reports it if it breaks a rule.
func (v Value) checkedLen(rules []Rule) int {
	n, end := 0, int(v.node().next)
	for i := v.at + 1; i < end; i = int(v.doc.nodes[i].next) {
		n++
	}
	if code, message := checkLen(n, rules); code != "" {
		v.Problem(code, message)
	}
	return n
}

// Problem reports a problem of the value itself.
func (v Value) Problem(code, message string) {
	if v.doc == nil || v.doc.full() {
		return
	}
	field := v.doc.path(v.at)
	if field == "" {
		field = "body"
	}
	v.doc.add(field, code, message)
}

// is reports whether the value is of the kind; a value that is there and of another kind is a problem.
func (v Value) is(want Kind) bool {
	if v.doc == nil {
		return false
	}
	if kind := v.Kind(); kind != want {
		v.Problem(CodeType, "must be "+want.String()+", is "+kind.String())
		return false
	}
	return true
}
