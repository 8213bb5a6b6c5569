package input

import (
	"encoding/json"

	"github.com/assayhq/assay/internal/domain/wire"
)

// str parses a string from its opening quote on and returns where its content lies. The flags say whether it holds
// escapes, and whether these make text that cannot be stored.
func (p *parser) str() (start, end uint32, flags nodeFlags, ok bool) {
	open := p.pos
	i := open + 1
	for i < len(p.text) {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return offset(open + 1), offset(i), flags, true
		case c == '\\':
			n, storable := wire.EscapeLen(p.text[i:])
			if n == 0 {
				return 0, 0, 0, p.fail(i, "broken escape")
			}
			flags |= flagEscaped
			if !storable {
				flags |= flagUnstorable
			}
			i += n
		case c < ' ':
			return 0, 0, 0, p.fail(i, "control character in a string")
		default:
			i++
		}
	}
	return 0, 0, 0, p.fail(len(p.text), "unexpected end of the text")
}

// unescape returns the text of a string's content that the parser has accepted. An unpaired surrogate becomes U+FFFD.
func unescape(raw string) string {
	var s string
	if err := json.Unmarshal([]byte(`"`+raw+`"`), &s); err != nil {
		panic(err) // the parser has accepted it
	}
	return s
}
