package input

import (
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
)

// The problem codes of this package. Handlers may add their own.
const (
	CodeRequired         = "required"
	CodeType             = "type"
	CodeEmpty            = "empty"
	CodeMaxLength        = "max_length"
	CodeMin              = "min"
	CodeMax              = "max"
	CodeMinItems         = "min_items"
	CodeMaxItems         = "max_items"
	CodeEnum             = "enum"
	CodeFormat           = "format"
	CodeUnknown          = "unknown"
	CodeDuplicate        = "duplicate"
	CodeInvalidCharacter = "invalid_character"
)

const (
	// maxProblems bounds the answer to a hostile request. It is more than a body of known properties can have: 75 photos
	// with a problem in each of their properties.
	maxProblems = 300
	// maxFieldChars bounds a field path, which may contain property names chosen by the client.
	maxFieldChars = 200
)

const unstorable = "must not contain NUL or invalid Unicode"

// problems collects the broken rules of one request.
type problems struct {
	list []fault.Problem
}

func (p *problems) add(field, code, message string) {
	if !p.full() {
		p.list = append(p.list, fault.Problem{Field: text.Clip(field, maxFieldChars), Code: code, Message: message})
	}
}

func (p *problems) full() bool { return len(p.list) == maxProblems }

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return fault.Validation(p.list...)
}

// count says a number of things: "1 item", "3 items".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// join is the path of a property inside the value at parent; the root has the empty path.
func join(parent, name string) string {
	if name == "" {
		name = `""`
	}
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func alternatives(values []string) string {
	if len(values) == 1 {
		return "must be " + values[0]
	}
	return "must be one of " + strings.Join(values, ", ")
}
