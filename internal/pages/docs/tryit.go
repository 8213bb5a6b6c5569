package docs

import "strings"

// try is the form that sends an operation to the Test environment.
type try struct {
	ID, Method, Path, Server string

	Fields []tryField
	Body   string // JSON to begin with; empty: none
	Files  bool
}

// tryField is a parameter that the form asks for.
type tryField struct {
	ID, Name, In, Value, Type string

	Required bool
	Values   []string // to choose from; empty: any text
}

// tryOf returns the form of an operation, or nil where there is none: without a Test key there is nothing to try, and
// the desk has no Test environment.
func tryOf(s shown) (*try, error) {
	if !s.API.Clients {
		return nil, nil
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
		return t, nil
	}
	content := s.Body.Content[0]
	if t.Files = content.MediaType != "application/json"; t.Files || len(content.Examples) == 0 {
		return t, nil
	}
	var err error
	t.Body, err = indent(content.Examples[0].JSON)
	return t, err
}

// plainMarkdown is a description without most of its markup, for the search.
func plainMarkdown(text string) string {
	text = strings.NewReplacer("`", "", "**", "", "*", "", "| --- ", "", "|", " ").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}
