package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// maxBytes bounds a document, read or written.
	maxBytes = 8 << 20
	// maxSeparators bounds what can start a further value, so that eight megabytes of commas do not become
	// gigabytes of nodes. A full document of ordinary entries stays below it.
	maxSeparators = 1 << 20
)

// source parses the bytes of a document into its root node. JSON has a separate reader because YAML does not
// support surrogate pairs in \u escapes, which JSON encoders commonly write. What is not JSON may still be a YAML
// mapping in braces.
func source(data []byte) (*yaml.Node, []Problem) {
	if p := checkBytes(data); p != nil {
		return nil, []Problem{*p}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	body := bytes.TrimLeft(data, " \t\r\n")
	if len(body) == 0 || body[0] != '{' {
		return yamlNode(data)
	}
	root, jsonProblem := jsonNode(body, 1+bytes.Count(data[:len(data)-len(body)], []byte("\n")))
	if jsonProblem == nil {
		return root, nil
	}
	root, problems := yamlNode(data)
	if problems != nil && bytes.HasPrefix(bytes.TrimLeft(body[1:], " \t\r\n"), []byte(`"`)) {
		return nil, []Problem{*jsonProblem}
	}
	return root, problems
}

// checkBytes rejects input that is too large or not plain UTF-8 text.
func checkBytes(data []byte) *Problem {
	if message := exceeds(data); message != "" {
		return &Problem{Line: 1, Message: message}
	}
	line := 1
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			return &Problem{Line: line, Message: "the document must be UTF-8 text"}
		case c == '\n':
			line++
		case c == '\t' || c == '\r' || c == '\u0085':
		case unicode.IsControl(c):
			return &Problem{Line: line, Message: fmt.Sprintf("control characters such as %U are not allowed", c)}
		}
		i += size
	}
	return nil
}

// exceeds returns the size limit that the document exceeds, or "".
func exceeds(data []byte) string {
	if len(data) > maxBytes {
		return fmt.Sprintf("the document is larger than %d MiB", maxBytes>>20)
	}
	if separators(data) > maxSeparators {
		return fmt.Sprintf("the document has too many values (more than %d separators)", maxSeparators)
	}
	return ""
}

// separators counts the characters that can begin a further value in YAML or JSON.
func separators(data []byte) int {
	n := 0
	for i, c := range data {
		switch c {
		case ',', '[', '{', ':', '\n', '\r':
			n++
		case '-', '?':
			if i+1 == len(data) || data[i+1] <= ' ' {
				n++
			}
		}
	}
	return n
}

// yamlNode parses one YAML document. Aliases stay references in the tree; nothing is expanded here.
func yamlNode(data []byte) (root *yaml.Node, problems []Problem) {
	in := &lineReader{rest: data}
	defer func() {
		// The YAML parser reports internal inconsistencies as panics.
		if p := recover(); p != nil {
			root, problems = nil, []Problem{{Line: in.line(), Message: "the document is not valid YAML"}}
		}
	}()

	decoder := yaml.NewDecoder(in)
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, []Problem{{Line: 1, Message: "the document is empty"}}
	case err != nil:
		return nil, []Problem{syntaxProblem(err, data, in.line())}
	}

	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
		return document.Content[0], nil
	case err != nil:
		return nil, []Problem{syntaxProblem(err, data, in.line())}
	default:
		return nil, []Problem{{Line: second.Line, Message: "a second document starts here; the catalog is one document"}}
	}
}

// lineReader returns one line per read, so that it knows how far the parser got before an error: the parser reports
// where the broken block starts, which may be a thousand lines earlier.
type lineReader struct {
	rest  []byte
	lines int // handed out completely
	begun bool
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	if end := bytes.IndexByte(p[:n], '\n'); end >= 0 {
		n = end + 1
	}
	r.begun = true
	if n > 0 && r.rest[n-1] == '\n' {
		r.lines++
		r.begun = false
	}
	r.rest = r.rest[n:]
	return n, nil
}

// line returns the number of the last line read.
func (r *lineReader) line() int {
	if r.begun || r.lines == 0 {
		return r.lines + 1
	}
	return r.lines
}

// syntaxProblem translates an error of the YAML parser and corrects its line number: the parser omits it on the
// first line, counts from 0 in grammar errors, and reports the start of the block instead of the error's position.
func syntaxProblem(err error, data []byte, read int) Problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if after, ok := strings.CutPrefix(message, "line "); ok {
		if number, rest, ok := strings.Cut(after, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, message = n, rest
			}
		}
	}

	switch {
	case message == "did not find expected '-' indicator" || message == "did not find expected key":
		line++
		if line < read-1 {
			message = fmt.Sprintf("%s, at this line or just before it, in the block that starts at line %d; "+
				"is the indentation right?", message, line)
			line = read
		}
	case message == "found a tab character that violates indentation":
		message, line = "indentation must be spaces, not tabs", read
	case strings.HasPrefix(message, "did not find expected ',' or"),
		message == "did not find expected node content",
		message == "did not find expected <document start>",
		message == "found undefined tag handle":
		line++
	case message == "found incompatible YAML document":
		message = "the line that begins with %YAML names another version than 1.1; remove it"
		line++
	case message == "control characters are not allowed":
		line = read
	case strings.HasPrefix(message, "unknown anchor '"):
		name, _, _ := strings.Cut(strings.TrimPrefix(message, "unknown anchor '"), "'")
		line = read
		if i := bytes.Index(data, []byte("*"+name)); i >= 0 {
			line = 1 + bytes.Count(data[:i], []byte("\n"))
		}
		message = fmt.Sprintf("the alias *%s refers to no anchor", name)
	}
	return Problem{Line: max(line, 1), Message: "the document is not valid YAML: " + message}
}
