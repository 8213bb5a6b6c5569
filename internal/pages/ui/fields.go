package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/text"
)

// field is one field of a form as its template shows it.
type field struct {
	ID       string
	Name     string
	Label    string
	Hint     string
	Error    string
	Value    string
	Required bool
	Depends  bool // required where another field says so, which browsers do not check
	Class    string
	Attrs    []template.HTMLAttr
	Options  []optionView
	Multiple bool // of the options several may be chosen
	Element  string
}

// Option is one of the values to choose from.
type Option struct {
	Value string
	Label string
	Hint  string
}

// Options returns an option for each value, after those that come first.
func Options[T any](values []T, option func(T) Option, first ...Option) []Option {
	for _, v := range values {
		first = append(first, option(v))
	}
	return first
}

// Words returns an option for each value, labelled with a text: its key is the prefix and the value.
func Words[T ~string](s *Site, r *http.Request, prefix string, values []T, first ...Option) []Option {
	word := func(v T) Option { return Option{Value: string(v), Label: s.T(r, prefix+string(v))} }
	return Options(values, word, first...)
}

// Languages returns the languages as options.
func Languages(first ...Option) []Option {
	name := func(l text.Locale) Option { return Option{Value: string(l), Label: LanguageNames[l]} }
	return Options(text.Locales, name, first...)
}

type optionView struct {
	Option
	ID      string
	Checked bool
}

// attributes are those that a template may give a field besides hint, value, class and id; true ones have no value.
var attributes = []string{
	"type", "autocomplete", "autofocus", "placeholder", "inputmode", "min", "max", "step", "minlength", "maxlength",
	"pattern", "readonly", "disabled",
	"spellcheck", "rows", "accept", "multiple", "list", "form", "data-focus",
}

// newField makes a field from its options: pairs of name and value after the label.
func (f *functions) newField(form *Form, name, label string, pairs []any) (*field, error) {
	x := &field{
		ID: "f-" + strings.NewReplacer(".", "-", "[", "-", "]", "").Replace(name), Name: name, Label: label,
		Value: form.Raw(name),
	}
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("field %s: options are pairs of name and value", name)
	}
	for i := 0; i < len(pairs); i += 2 {
		option, value := fmt.Sprint(pairs[i]), pairs[i+1]
		switch {
		case option == "hint":
			x.Hint = fmt.Sprint(value)
		case option == "class":
			x.Class = fmt.Sprint(value)
		case option == "id":
			x.ID = fmt.Sprint(value)
		case option == "value":
			if form == nil || !form.Values.Has(name) {
				x.Value = fmt.Sprint(value)
			}
		case option == "required":
			x.Required = value == true
		case option == "depends":
			x.Depends = value == true
		case slices.Contains(attributes, option):
			x.attr(option, value)
		default:
			return nil, fmt.Errorf("field %s: unknown option %q", name, option)
		}
	}
	if x.Required {
		x.attr("required", true)
	}
	if form != nil {
		if e, ok := form.errors[name]; ok {
			x.Error = f.errorText(e)
		}
	}
	var describedBy []string
	if x.Hint != "" {
		describedBy = append(describedBy, x.ID+"-hint")
	}
	if x.Error != "" {
		describedBy = append(describedBy, x.ID+"-error")
		x.attr("aria-invalid", "true")
	}
	if len(describedBy) > 0 {
		x.attr("aria-describedby", strings.Join(describedBy, " "))
	}
	return x, nil
}

func (x *field) attr(name string, value any) {
	switch value {
	case false:
	case true:
		x.Attrs = append(x.Attrs, template.HTMLAttr(name)) //nolint:gosec // one of a fixed list
	default:
		attr := name + `="` + template.HTMLEscapeString(fmt.Sprint(value)) + `"`
		x.Attrs = append(x.Attrs, template.HTMLAttr(attr)) //nolint:gosec // escaped here
	}
}

// errorText prefers the visitor's language.
func (f *functions) errorText(e formError) string {
	if s, err := f.t(e.key, e.args...); err == nil {
		return s
	}
	return cmp.Or(e.text, e.key)
}

// input is a field of one line: {{input .Form "email" (t "x.email") "type" "email" "required" true}}. A password is
// never shown again.
func (f *functions) input(form *Form, name, label string, pairs ...any) (template.HTML, error) {
	x, err := f.newField(form, name, label, pairs)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(x.Attrs, func(a template.HTMLAttr) bool { return a == `type="password"` }) {
		x.Value = ""
	}
	return f.component("ui-field", x)
}

// textarea is a field of several lines.
func (f *functions) textarea(form *Form, name, label string, pairs ...any) (template.HTML, error) {
	x, err := f.newField(form, name, label, pairs)
	if err != nil {
		return "", err
	}
	x.Element = "textarea"
	return f.component("ui-field", x)
}

// choice is a list to choose one value from: {{choice .Form "role" (t "x.role") .Roles}}.
func (f *functions) choice(form *Form, name, label string, options []Option, pairs ...any) (template.HTML, error) {
	return f.chooser("ui-field", form, name, label, options, pairs)
}

// radios shows all values to choose one from; with "multiple" true several may be chosen.
func (f *functions) radios(form *Form, name, label string, options []Option, pairs ...any) (template.HTML, error) {
	return f.chooser("ui-choices", form, name, label, options, pairs)
}

func (f *functions) chooser(component string, form *Form, name, label string, options []Option,
	pairs []any,
) (template.HTML, error) {
	multiple := false
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == "multiple" && pairs[i+1] == true {
			pairs, multiple = slices.Delete(slices.Clone(pairs), i, i+2), true
			break
		}
	}
	x, err := f.newField(form, name, label, pairs)
	if err != nil {
		return "", err
	}
	x.Multiple, x.Element = multiple, "select"
	chosen := []string{x.Value}
	if form != nil && form.Values.Has(name) {
		chosen = form.Values[name]
	}
	for i, o := range options {
		x.Options = append(x.Options, optionView{
			Option: o, ID: fmt.Sprintf("%s-%d", x.ID, i),
			Checked: slices.Contains(chosen, o.Value),
		})
	}
	return f.component(component, x)
}

// checkbox is a single yes or no: {{checkbox .Form "agree" "yes" (t "x.agree")}}.
func (f *functions) checkbox(form *Form, name, value, label string, pairs ...any) (template.HTML, error) {
	x, err := f.newField(form, name, label, pairs)
	if err != nil {
		return "", err
	}
	x.Value = value
	if form.Checked(name, value) {
		x.attr("checked", true)
	}
	return f.component("ui-checkbox", x)
}

// problem says what is wrong with a field that the page draws by itself: {{problem .Form "photos"}}.
func (f *functions) problem(form *Form, name string) (template.HTML, error) {
	x, err := f.newField(form, name, "", nil)
	if err != nil {
		return "", err
	}
	return f.component("ui-field-notes", x)
}

// formAlert says above a form what is wrong with it: {{formalert .Form}}.
func (f *functions) formAlert(form *Form) (template.HTML, error) {
	switch {
	case form == nil || form.OK():
		return "", nil
	case form.alert != nil:
		return f.alert(Bad, f.errorText(*form.alert))
	}
	// Problems of fields that the page does not show have no other place.
	s, err := f.t("ui.form.check", "n", len(form.errors))
	if err != nil {
		return "", err
	}
	return f.alert(Bad, s)
}
