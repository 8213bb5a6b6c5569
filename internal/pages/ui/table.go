package ui

import (
	"fmt"
	"html/template"
)

// column is the heading of a table's column.
type column struct {
	Label  string
	Class  string
	Hidden bool // only for screen readers
}

// thead is the head of a table: {{thead (t "x.name") (num (t "x.price")) (hidden (t "x.actions"))}}.
func (f *functions) thead(headings ...any) (template.HTML, error) {
	columns := make([]column, len(headings))
	for i, h := range headings {
		switch h := h.(type) {
		case string:
			columns[i].Label = h
		case column:
			columns[i] = h
		default:
			return "", fmt.Errorf("thead wants texts, num or hidden, not %T", h)
		}
	}
	return f.component("ui-thead", columns)
}

// numColumn is the heading of a column of numbers.
func numColumn(label string) column { return column{Label: label, Class: "num"} }

// hiddenColumn is a heading for screen readers only, of a column of buttons.
func hiddenColumn(label string) column { return column{Label: label, Hidden: true} }

// older links the pages of a list that continues from a cursor: back to its newest entries and on to older ones. Either
// address may be empty.
func (f *functions) older(newest, older string) (template.HTML, error) {
	if newest == "" && older == "" {
		return "", nil
	}
	return f.component("ui-older", map[string]string{"Newest": newest, "Older": older})
}
