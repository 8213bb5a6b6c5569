package ui

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
)

const (
	maxFormBytes  = 1 << 20
	maxEntryBytes = 16 << 10
)

// Form is what a visitor has entered and what is wrong with it. It is shown again with the same values. The nil form is
// an empty one for templates.
type Form struct {
	Values url.Values
	errors map[string]formError
	alert  *formError
}

// formError is a message, or a text that has no translation.
type formError struct {
	key  string
	args []any
	text string
}

// NewForm returns a form with values to begin with: pairs of name and value.
func NewForm(pairs ...string) *Form {
	f := &Form{Values: url.Values{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		f.Values.Set(pairs[i], pairs[i+1])
	}
	return f
}

var plainText = strings.NewReplacer("\x00", "\uFFFD", "\r\n", "\n")

// PlainText returns the value of a field without what cannot be stored, and with lines that end as they did on the page
// before the browser sent them: what is counted and shown again is what was entered. ReadForm does it by itself.
func PlainText(value string) string { return plainText.Replace(strings.ToValidUTF8(value, "\uFFFD")) }

// ReadForm reads the fields that were sent in the body, 1 MiB at most. Files are not read: an upload has its own
// handler.
func ReadForm(w http.ResponseWriter, r *http.Request) (*Form, error) {
	return readForm(w, r, maxFormBytes)
}

// WithForm adapts a handler that is given the form of the request, as ReadForm reads it.
func WithForm[V any](
	h func(w http.ResponseWriter, r *http.Request, who V, form *Form) error,
) func(http.ResponseWriter, *http.Request, V) error {
	return func(w http.ResponseWriter, r *http.Request, who V) error {
		form, err := ReadForm(w, r)
		if err != nil {
			return err
		}
		return h(w, r, who, form)
	}
}

// ReadEntryForm is ReadForm for pages that are open to everybody, 16 KiB at most: nobody has to be somebody to send it.
func ReadEntryForm(w http.ResponseWriter, r *http.Request) (*Form, error) {
	return readForm(w, r, maxEntryBytes)
}

func readForm(w http.ResponseWriter, r *http.Request, limit int64) (*Form, error) {
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, fault.New(fault.TooLarge, "form-too-large", "The form is too large.").Because(err)
		}
		return nil, fault.BadRequest("The form cannot be read.").Because(err)
	}
	for _, values := range r.PostForm {
		for i, v := range values {
			values[i] = PlainText(v)
		}
	}
	return &Form{Values: r.PostForm}, nil
}

// Get returns a field without the spaces around it.
func (f *Form) Get(name string) string { return strings.TrimSpace(f.Raw(name)) }

// Raw returns a field exactly as it was entered: a password may begin with a space.
func (f *Form) Raw(name string) string {
	if f == nil {
		return ""
	}
	return f.Values.Get(name)
}

// All returns all values of a field, without empty ones.
func (f *Form) All(name string) []string {
	if f == nil {
		return nil
	}
	var values []string
	for _, v := range f.Values[name] {
		if v = strings.TrimSpace(v); v != "" {
			values = append(values, v)
		}
	}
	return values
}

// Checked reports whether a field has the value among its values.
func (f *Form) Checked(name, value string) bool {
	return f != nil && slices.Contains(f.Values[name], value)
}

// Set replaces the value of a field.
func (f *Form) Set(name, value string) { f.Values.Set(name, value) }

// Fail marks a field as wrong, with a message. The first one stays.
func (f *Form) Fail(field, key string, args ...any) { f.fail(field, formError{key: key, args: args}) }

// Alert says what is wrong with the form as a whole.
func (f *Form) Alert(key string, args ...any) { f.alert = &formError{key: key, args: args} }

func (f *Form) fail(field string, e formError) {
	if f.errors == nil {
		f.errors = make(map[string]formError)
	}
	if _, ok := f.errors[field]; !ok {
		f.errors[field] = e
	}
}

// OK reports whether nothing is wrong.
func (f *Form) OK() bool { return len(f.errors) == 0 && f.alert == nil }

// Refuse takes what a use case has refused, so that the form can be shown again: problems go to their fields, other
// faults to the top. It returns the error when it is not the visitor's: the handler returns it then.
//
//	if err := use(…); err != nil {
//		if err := form.Refuse(err); err != nil { return err }
//		return pages.Render(w, r, ui.Page{Template: "x", Data: …, Status: http.StatusUnprocessableEntity})
//	}
func (f *Form) Refuse(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e == nil || e.Code == access.ApprovalRequested.Code { // which is told on a page of its own
		return err
	}
	switch e.Kind {
	case fault.Invalid, fault.Conflict, fault.Gone, fault.PaymentRequired, fault.RateLimited, fault.TooLarge:
	default:
		return err
	}
	problems := fault.ProblemsOf(err)
	for _, p := range problems {
		f.fail(p.Field, formError{key: "ui.problem." + p.Code, text: p.Message})
	}
	if len(problems) == 0 {
		f.alert = &formError{key: "ui.fault." + e.Code, text: e.Message}
	}
	return nil
}

// Refuse is form.Refuse in the words of the pages where they have some: AREA.problem.CODE for a field, AREA.fault.CODE
// for the form as a whole.
func (p *Pages) Refuse(form *Form, err error) error {
	problems := fault.ProblemsOf(err)
	for _, problem := range problems {
		if key := p.name + ".problem." + problem.Code; p.site.Messages.Has(key) {
			form.Fail(problem.Field, key)
		}
	}
	f, ok := errors.AsType[*fault.Error](err)
	if ok && len(problems) == 0 && f.Kind != fault.NotFound && p.site.Messages.Has(p.name+".fault."+f.Code) {
		form.Alert(p.name + ".fault." + f.Code)
		return nil
	}
	return form.Refuse(err)
}

// Networks reads a field of networks, separated by spaces, commas or lines, and marks what is wrong with it.
func (f *Form) Networks(field string) access.Networks {
	texts := access.SplitNetworks(f.Raw(field))
	for _, text := range texts {
		if _, problem := access.CheckNetworks(field, []string{text}); problem != nil {
			f.Fail(field, "ui.problem.network", "text", text)
			return nil
		}
	}
	networks, problem := access.CheckNetworks(field, texts)
	if problem != nil {
		f.Fail(field, "ui.problem.networks", "n", access.MaxNetworks)
	}
	return networks
}

// DayRange reads the days "from" and "to" of a filter; the last day itself is included. What is no day does not filter.
func DayRange(get func(string) string) (from, to *time.Time) {
	if t, err := time.Parse(time.DateOnly, get("from")); err == nil {
		from = &t
	}
	if t, err := time.Parse(time.DateOnly, get("to")); err == nil {
		t = t.AddDate(0, 0, 1)
		to = &t
	}
	return from, to
}
