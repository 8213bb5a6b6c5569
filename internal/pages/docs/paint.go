package docs

import (
	"html/template"
	"regexp"
	"strings"
)

// languages are those of samples, in the order of their tabs.
var languages = []struct{ Name, Label string }{
	{"sh", "curl"},
	{"go", "Go"},
	{"ts", "TypeScript"},
	{"python", "Python"},
	{"php", "PHP"},
	{"ruby", "Ruby"},
}

func languageName(name string) string {
	for _, l := range languages {
		if l.Name == name {
			return l.Label
		}
	}
	return name
}

// grammar finds comments, strings, words and numbers of a language, as far as colours need it.
func grammar(comment, words string) *regexp.Regexp {
	return regexp.MustCompile(`(` + comment + `)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`" + `)|\b(` + words +
		`)\b|(-?\b\d+(?:\.\d+)?\b)`)
}

const never = `\x00`

var grammars = map[string]*regexp.Regexp{
	"sh": grammar(`(?m:(?:^|\s)#.*$)`, `curl|export|jq|if|then|fi|for|do|done|while`),
	"go": grammar(`//.*`, `package|import|func|return|if|else|for|range|var|const|type|struct|switch|case|default|`+
		`defer|go|nil|true|false|error|string`),
	"ts": grammar(`//.*`, `import|from|export|const|let|async|await|function|return|if|else|for|of|new|throw|try|catch|`+
		`null|undefined|true|false`),
	"python": grammar(`(?m:(?:^|\s)#.*$)`, `import|from|def|return|if|elif|else|for|in|with|as|not|and|or|while|try|`+
		`except|raise|lambda|None|True|False|print`),
	"php": grammar(`//.*`, `function|return|if|else|foreach|as|echo|null|true|false|new|array|string|int|bool`),
	"ruby": grammar(`(?m:(?:^|\s)#.*$)`, `require|def|end|return|unless|if|else|do|puts|nil|true|false|each|class|`+
		`module`),
	"json": grammar(never, `true|false|null`),
}

// paint marks up code with colours.
func paint(language, code string) template.HTML {
	g := grammars[language]
	if g == nil {
		return template.HTML(template.HTMLEscapeString(code)) //nolint:gosec // escaped
	}
	var b strings.Builder
	end := 0
	for _, m := range g.FindAllStringSubmatchIndex(code, -1) {
		b.WriteString(template.HTMLEscapeString(code[end:m[0]]))
		class := "lit"
		switch {
		case m[2] >= 0:
			class = "comment"
		case m[4] >= 0 && language == "json" && strings.HasPrefix(strings.TrimLeft(code[m[1]:], " "), ":"):
			class = "key"
		case m[4] >= 0:
			class = "str"
		case m[6] >= 0:
			class = "word"
		}
		b.WriteString(`<span class="` + class + `">` + template.HTMLEscapeString(code[m[0]:m[1]]) + `</span>`)
		end = m[1]
	}
	b.WriteString(template.HTMLEscapeString(code[end:]))
	return template.HTML(b.String()) //nolint:gosec // everything is escaped above
}
