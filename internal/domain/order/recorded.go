package order

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/text"
)

// DecodeRecorded reads what json.Marshal has written. Orders without a verdict, which are read the most, record what
// the item is and nothing else; that is read without the general decoder.
func DecodeRecorded(stored string) (r Recorded, err error) {
	s := recordedScanner{rest: stored}
	if r.Classification = s.classification(); s.bad || s.rest != "" {
		r = Recorded{}
		err = json.Unmarshal([]byte(stored), &r)
	}
	return r, err
}

// recordedScanner reads the stored form word for word. What it does not expect makes it bad.
type recordedScanner struct {
	rest string
	bad  bool
}

func (s *recordedScanner) classification() (c Classification) {
	s.expect(`{"classification":{"category_code":`)
	c.CategoryCode = s.string()
	s.expect(`,"category_name":`)
	c.CategoryName = s.text()
	s.expect(`,"brand_code":`)
	c.BrandCode = s.string()
	s.expect(`,"brand_name":`)
	c.BrandName = s.text()
	if s.has(`,"model_code":`) {
		c.ModelCode = s.string()
	}
	if s.has(`,"model_name":`) {
		c.ModelName = new(s.text())
	}
	s.expect(`}}`)
	return c
}

func (s *recordedScanner) text() (t text.Text) {
	s.expect(`{"en":`)
	t.EN = s.string()
	if s.has(`,"ja":`) {
		t.JA = s.string()
	}
	s.expect(`}`)
	return t
}

// string reads a string without escapes.
func (s *recordedScanner) string() string {
	s.expect(`"`)
	i := strings.IndexAny(s.rest, `"\\`)
	if i < 0 || s.rest[i] != '"' {
		s.bad = true
		return ""
	}
	word := s.rest[:i]
	s.rest = s.rest[i+1:]
	return word
}

func (s *recordedScanner) expect(word string) { s.bad = !s.has(word) || s.bad }

func (s *recordedScanner) has(word string) bool {
	rest, ok := strings.CutPrefix(s.rest, word)
	s.rest = rest
	return ok
}

// EraseTexts removes what reviewers wrote in words of their own: reasons without a code, and comments.
func (r *Recorded) EraseTexts() {
	r.Reasons = slices.DeleteFunc(r.Reasons, func(c CodedText) bool { return c.Code == "" })
	for i := range r.Requested {
		r.Requested[i].Comment = ""
	}
}
