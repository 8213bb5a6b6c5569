package docs

import (
	"slices"
	"strings"

	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/pages/ui"
)

// field is a row of a table of properties. A row with a title alone opens the properties of one variant.
type field struct {
	Title       string
	Name        string // path such as photos[].url
	Depth       int
	Type        string
	Required    bool
	Rules       []string
	Values      []string // the only ones allowed
	Description string
}

// table is the fields of a body, or the parameters or headers beside it. What a request must hold and an answer always
// holds is told differently.
type table struct {
	Fields     []field
	Parameters []*spec.Parameter
	Answer     bool
}

const maxDepth = 6

// fieldsOf lists the properties of a schema, those of nested objects with their paths.
func fieldsOf(s *spec.Schema) []field {
	var out []field
	addFields(&out, s, "", 0)
	return out
}

func addFields(out *[]field, s *spec.Schema, prefix string, depth int) {
	if s == nil || depth > maxDepth {
		return
	}
	for _, p := range s.Properties {
		name := p.Name
		if prefix != "" {
			name = prefix + "." + p.Name
		}
		f := describe(p.Schema)
		f.Name, f.Depth, f.Required = name, depth, p.Required
		*out = append(*out, f)
		addFields(out, p.Schema, name, depth+1)
	}
	if s.Items != nil {
		addFields(out, s.Items, prefix+"[]", depth)
	}
	if len(s.Properties) > 0 {
		return // variants of an object with properties only narrow them; the descriptions tell how
	}
	variants := alternatives(s)
	for _, v := range variants {
		if len(variants) > 1 && len(v.Properties) > 0 {
			title := v.Title
			if title == "" {
				title = v.Name
			}
			*out = append(*out, field{Title: title, Depth: depth})
		}
		addFields(out, v, prefix, depth)
	}
}

// alternatives are the variants of a schema other than null.
func alternatives(s *spec.Schema) []*spec.Schema {
	return slices.DeleteFunc(slices.Clone(s.Variants), func(v *spec.Schema) bool {
		return slices.Equal(v.Types, []string{"null"})
	})
}

// describe tells type and rules of a value.
func describe(s *spec.Schema) field {
	return field{Type: typeOf(s), Rules: rulesOf(s), Values: valuesOf(s), Description: s.Description}
}

func typeOf(s *spec.Schema) string {
	nullable := s.Nullable()
	var kind string
	for _, t := range s.Types {
		if t != "null" {
			kind = t
		}
	}
	switch {
	case kind == "array" && s.Items != nil && typeOf(s.Items) != "":
		kind = "array of " + plural(typeOf(s.Items))
	case kind == "" && len(s.Variants) > 0:
		others := alternatives(s)
		nullable = nullable || len(others) < len(s.Variants)
		kind = "object"
	case s.Format != "" && kind == "string":
		kind = s.Format
	}
	if nullable {
		kind += " or null"
	}
	return kind
}

func plural(kind string) string {
	if strings.HasSuffix(kind, "s") || strings.Contains(kind, " ") {
		return kind
	}
	return kind + "s"
}

// valuesOf are the allowed values without null, which the type tells.
func valuesOf(s *spec.Schema) []string {
	if s.Const != "" {
		return []string{s.Const}
	}
	values := s.Enum
	if len(values) == 0 && s.Items != nil {
		values = s.Items.Enum
	}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "null" })
}

func rulesOf(s *spec.Schema) []string {
	var out []string
	add := func(rule string) {
		if rule != "" {
			out = append(out, rule)
		}
	}
	b := s.Bounds
	add(between(b.MinItems, b.MaxItems, " entries"))
	if s.Unique {
		add("no repeats")
	}
	add(between(b.MinLength, b.MaxLength, " characters"))
	add(between(b.Minimum, b.Maximum, ""))
	if s.Default != "" {
		add("default " + s.Default)
	}
	if s.WriteOnly {
		add("never returned")
	}
	return out
}

// between says a range in words. That a text has at least one character is said as not empty.
func between(low, high, unit string) string {
	switch {
	case low == "" && high == "":
		return ""
	case low == "":
		return "at most " + high + unit
	case high == "" && low == "1" && unit == " characters":
		return "not empty"
	case high == "":
		return "at least " + low + unit
	case low == high:
		return "exactly " + low + unit
	}
	return low + " to " + high + unit
}

// try is the form that sends an operation to the Test environment.
type try struct {
	ID, Method, Path, Server string

	Fields []tryField
	Body   string // JSON to begin with; empty: none
	Photos string // what URLs of photos in the body begin with that nobody has uploaded; empty: there are none
	Files  bool
}

// tryField is a parameter that the form asks for.
type tryField struct {
	ID, Name, In, Value, Type string

	Required bool
	Values   []string // to choose from; empty: any text
}

// examplePhotos begins the URLs of photos in the examples of the documents.
const examplePhotos = "https://media.assay.example/"

// tryOf returns the form of an operation, or nil where there is none: without a Test key there is nothing to try, and
// the desk has no Test environment.
func tryOf(s shown) *try {
	if !s.API.Clients {
		return nil
	}
	t := &try{ID: s.ID, Method: s.Method, Path: s.Path, Server: s.API.Server}
	for _, p := range s.Parameters {
		if p.Name == "If-None-Match" {
			continue
		}
		f := tryField{
			ID: "try-" + s.ID + "-" + p.Name, Name: p.Name, In: p.In, Type: typeOf(p.Schema), Required: p.Required,
			Values: valuesOf(p.Schema),
		}
		if p.Required {
			f.Value = p.Example
		}
		t.Fields = append(t.Fields, f)
	}
	if s.Body == nil {
		return t
	}
	content := s.Body.Content[0]
	if t.Files = content.MediaType != "application/json"; t.Files || len(content.Examples) == 0 {
		return t
	}
	t.Body = ui.IndentedJSON(content.Examples[0].JSON)
	if strings.Contains(t.Body, examplePhotos) {
		t.Photos = examplePhotos
	}
	return t
}

// plainMarkdown is a description without most of its markup, for the search.
func plainMarkdown(text string) string {
	text = strings.NewReplacer("`", "", "**", "", "*", "", "| --- ", "", "|", " ").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}
