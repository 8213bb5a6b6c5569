package sqltrace

import (
	"fmt"
	"strconv"
	"strings"
)

// parameter returns the number of the parameter at the beginning of a text, 0 for the next one, and the length of its
// name; 0: there is none.
func parameter(text string) (n, length int) {
	if text[0] != '$' && text[0] != '?' {
		return 0, 0
	}
	length = 1
	for length < len(text) && '0' <= text[length] && text[length] <= '9' {
		length++
	}
	if text[:length] == "?" {
		return 0, length
	}
	n, err := strconv.Atoi(text[1:length])
	if err != nil {
		return 0, 0
	}
	return n, length
}

// literal returns the value at the beginning of a text, and the length of its literal.
func literal(text string) (value any, length int, err error) {
	if rest, ok := strings.CutPrefix(text, "NULL"); ok {
		return nil, len(text) - len(rest), nil
	}
	if strings.HasPrefix(text, "'") {
		var b strings.Builder
		for i := 1; i < len(text); i++ {
			if text[i] == '\'' {
				if i+1 == len(text) || text[i+1] != '\'' {
					return b.String(), i + 1, nil
				}
				i++
			}
			b.WriteByte(text[i])
		}
		return nil, 0, fmt.Errorf("a text without an end: %.80s", text)
	}
	for length < len(text) && strings.IndexByte("-+0123456789", text[length]) >= 0 {
		length++
	}
	n, err := strconv.ParseInt(text[:length], 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("neither a text nor a whole number: %.80s", text)
	}
	return n, length, nil
}

// quote returns a literal of PostgreSQL without a colon, which pgbench would take for a variable.
func quote(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`, ":", `\x3a`).Replace(text) + "'"
}
