package integrationtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Response is an answer, read to its end.
type Response struct {
	Request string // method and path, for messages
	Status  int
	Header  http.Header
	Body    []byte
}

// Envelope is the body of a refusal.
type Envelope struct {
	*Response
	StatusCode int            `json:"statusCode"`
	Code       string         `json:"code"`
	Message    string         `json:"message"`
	Details    map[string]any `json:"details"`
	Timestamp  string         `json:"timestamp"`
	Path       string         `json:"path"`
	RequestID  string         `json:"request_id"`
}

// Want ends the test unless the answer has the status.
func (r *Response) Want(t testing.TB, status int) *Response {
	t.Helper()
	if r.Status != status {
		t.Fatalf("%s answered %d, not %d: %s", r.Request, r.Status, status, r.Body)
	}
	return r
}

// Refused ends the test unless the answer refuses with the status and code.
func (r *Response) Refused(t testing.TB, status int, code string) *Envelope {
	t.Helper()
	e := &Envelope{Response: r}
	if err := json.Unmarshal(r.Body, e); r.Status < 400 || err != nil {
		t.Fatalf("%s answered %d, no refusal: %s", r.Request, r.Status, r.Body)
	}
	if r.Status != status || e.Code != code {
		t.Fatalf("%s was refused with %d %s, not %d %s: %s", r.Request, r.Status, e.Code, status, code, r.Body)
	}
	if e.Message == "" {
		t.Errorf("%s: the refusal has no message", r.Request)
	}
	return e
}

// Invalid ends the test unless the answer is a validation error with exactly these problems, each "field code".
func (r *Response) Invalid(t testing.TB, problems ...string) *Envelope {
	t.Helper()
	e := r.Refused(t, http.StatusBadRequest, "validation-error")
	if got := e.Problems(t); !slices.Equal(got, problems) {
		t.Errorf("%s: problems are %q, not %q", r.Request, got, problems)
	}
	return e
}

// Problems returns the problems of a validation error, each as "field code". Every one must say its rule.
func (e *Envelope) Problems(t testing.TB) []string {
	t.Helper()
	list, _ := e.Details["errors"].([]any)
	if len(list) == 0 {
		t.Fatalf("%s: a validation error without details.errors: %s", e.Request, e.Body)
	}
	problems := make([]string, len(list))
	for i, item := range list {
		problem, _ := item.(map[string]any)
		field, _ := problem["field"].(string)
		code, _ := problem["code"].(string)
		message, _ := problem["message"].(string)
		if field == "" || code == "" || message == "" {
			t.Errorf("%s: problem %d does not name field, code and rule: %v", e.Request, i, item)
		}
		problems[i] = field + " " + code
	}
	return problems
}

// missing stands for a property that is not there.
type missing struct{}

// At returns the value at a path such as data.0.code, or a value that equals nothing when there is none.
func (r *Response) At(t testing.TB, path string) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(r.Body))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%s: the answer is not JSON: %v: %s", r.Request, err, r.Body)
	}
	if path == "" {
		return v
	}
	for step := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return missing{}
			}
			v = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return missing{}
			}
			v = at[i]
		default:
			return missing{}
		}
	}
	return v
}

// Is reports an error unless the value at the path is the wanted one, as JSON.
func (r *Response) Is(t testing.TB, path string, want any) *Response {
	t.Helper()
	got := r.At(t, path)
	if _, gone := got.(missing); gone {
		t.Errorf("%s: %s is missing, want %v: %s", r.Request, path, want, r.Body)
		return r
	}
	if g, w := encode(t, got), encode(t, want); g != w {
		t.Errorf("%s: %s is %s, want %s", r.Request, path, g, w)
	}
	return r
}

// Lacks reports an error if there is a value at the path.
func (r *Response) Lacks(t testing.TB, paths ...string) *Response {
	t.Helper()
	for _, path := range paths {
		if got := r.At(t, path); got != (missing{}) {
			t.Errorf("%s: %s is %v, want no such property", r.Request, path, got)
		}
	}
	return r
}

// Text returns the string at the path and ends the test when there is none.
func (r *Response) Text(t testing.TB, path string) string {
	t.Helper()
	s, ok := r.At(t, path).(string)
	if !ok {
		t.Fatalf("%s: there is no string at %s: %s", r.Request, path, r.Body)
	}
	return s
}

// List returns the strings at path in every element of the array at list.
func (r *Response) List(t testing.TB, list, path string) []string {
	t.Helper()
	elements, ok := r.At(t, list).([]any)
	if !ok {
		t.Fatalf("%s: there is no array at %s: %s", r.Request, list, r.Body)
	}
	values := make([]string, len(elements))
	for i := range elements {
		values[i] = r.Text(t, list+"."+strconv.Itoa(i)+"."+path)
	}
	return values
}

// Keys returns the names of the properties of the object at the path, sorted.
func (r *Response) Keys(t testing.TB, path string) []string {
	t.Helper()
	object, ok := r.At(t, path).(map[string]any)
	if !ok {
		t.Fatalf("%s: there is no object at %q: %s", r.Request, path, r.Body)
	}
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// encode writes a value as JSON with sorted properties, so that equal values are equal texts.
func encode(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	text, err = json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
