package docs

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// value is JSON with its properties in their order, to be written in the words of a programming language.
type value struct {
	names []string // of an object; nil: a list, or a single value
	items []value
	list  bool
	text  string // JSON of a single value
}

func readValue(body []byte) (value, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return nextValue(d)
}

func nextValue(d *json.Decoder) (value, error) {
	token, err := d.Token()
	if err != nil {
		return value{}, err
	}
	delimiter, ok := token.(json.Delim)
	if !ok {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		err := e.Encode(token)
		return value{text: strings.TrimSpace(b.String())}, err
	}
	v := value{list: delimiter == '['}
	if !v.list {
		v.names = []string{}
	}
	for d.More() {
		if !v.list {
			name, err := d.Token()
			if err != nil {
				return value{}, err
			}
			v.names = append(v.names, name.(string))
		}
		item, err := nextValue(d)
		if err != nil {
			return value{}, err
		}
		v.items = append(v.items, item)
	}
	_, err = d.Token()
	return v, err
}

// notation is how a language writes values.
type notation struct {
	object, array [2]string                // what opens and closes
	name          func(name string) string // of a property, with what separates it from the value
	words         map[string]string        // of true, false and null, where they differ from JSON
	indent        string
}

var identifier = regexp.MustCompile(`^[A-Za-z_]\w*$`)

var notations = map[string]notation{
	"ts": {[2]string{"{", "}"}, [2]string{"[", "]"}, func(name string) string {
		if identifier.MatchString(name) {
			return name + ": "
		}
		return `"` + name + `": `
	}, nil, "  "},
	"python": {
		[2]string{"{", "}"},
		[2]string{"[", "]"},
		func(name string) string { return `"` + name + `": ` },
		map[string]string{"true": "True", "false": "False", "null": "None"},
		"    ",
	},
	"php": {
		[2]string{"[", "]"}, [2]string{"[", "]"}, func(name string) string { return `"` + name + `" => ` }, nil, "    ",
	},
	"ruby": {
		[2]string{"{", "}"},
		[2]string{"[", "]"},
		func(name string) string { return `"` + name + `" => ` },
		map[string]string{"null": "nil"},
		"  ",
	},
}

const maxLine = 76

// literal writes a value in a language, on one line where it fits behind indented columns.
func literal(language string, v value, depth int) string {
	n := notations[language]
	if v.names == nil && !v.list {
		if word, ok := n.words[v.text]; ok {
			return word
		}
		if language == "php" || language == "ruby" {
			return strings.NewReplacer("$", `\$`, "#{", `\#{`).Replace(v.text)
		}
		return v.text
	}
	marks := n.object
	if v.list {
		marks = n.array
	}
	if len(v.items) == 0 {
		if language == "php" && !v.list {
			return "new stdClass()"
		}
		return marks[0] + marks[1]
	}
	lines := make([]string, len(v.items))
	width := depth * len(n.indent)
	for i, item := range v.items {
		lines[i] = literal(language, item, depth+1)
		if !v.list {
			lines[i] = n.name(v.names[i]) + lines[i]
		}
		width += len(lines[i]) + 2
	}
	if text := strings.Join(lines, ", "); width <= maxLine && !strings.Contains(text, "\n") {
		if !v.list && (language == "ts" || language == "ruby") {
			text = " " + text + " "
		}
		return marks[0] + text + marks[1]
	}
	inner := strings.Repeat(n.indent, depth+1)
	return marks[0] + "\n" + inner + strings.Join(lines, ",\n"+inner) + ",\n" + strings.Repeat(n.indent, depth) + marks[1]
}
