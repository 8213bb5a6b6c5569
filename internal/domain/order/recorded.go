package order

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/text"
)

// DecodeRecorded reads what json.Marshal has written: without the general decoder, which takes longer than the database
// for an order, unless there are texts with escapes. The strings of the result are parts of what was stored.
func DecodeRecorded(stored string) (r Recorded, err error) {
	s := recordedScanner{rest: stored}
	if r = s.recorded(); s.bad || s.rest != "" {
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

func (s *recordedScanner) recorded() (r Recorded) {
	r.Classification = s.after(`{"classification":`).classification()
	if s.has(`,"reasons":`) {
		r.Reasons = scanned(s, s.codedText)
	}
	if s.has(`,"outcome_indexes":`) {
		r.OutcomeIndexes = scanned(s, s.string)
	}
	if s.has(`,"requested":`) {
		r.Requested = scanned(s, s.photoRequest)
	}
	s.expect(`}`)
	return r
}

// scanned reads a list that is not empty.
func scanned[T any](s *recordedScanner, item func() T) (items []T) {
	s.expect(`[`)
	for {
		items = append(items, item())
		if s.bad || !s.has(`,`) {
			break
		}
	}
	s.expect(`]`)
	return items
}

func (s *recordedScanner) codedText() (c CodedText) {
	s.expect(`{`)
	if s.has(`"code":`) {
		c.Code = s.string()
		s.expect(`,`)
	}
	c.Text = s.after(`"text":`).text()
	s.expect(`}`)
	return c
}

func (s *recordedScanner) photoRequest() (p PhotoRequest) {
	p.IndexCode = s.after(`{"index_code":`).string()
	p.Name = s.after(`,"name":`).text()
	if s.has(`,"condition":`) {
		p.Condition = new(s.codedText())
	}
	if s.has(`,"requirements":`) {
		p.Requirements = scanned(s, s.codedText)
	}
	if s.has(`,"comment":`) {
		p.Comment = s.string()
	}
	if s.has(`,"reference_photo_url":`) {
		p.ReferencePhotoURL = s.string()
	}
	p.MaxPhotos = s.after(`,"max_photos":`).integer()
	s.expect(`}`)
	return p
}

func (s *recordedScanner) classification() (c Classification) {
	c.CategoryCode = s.after(`{"category_code":`).string()
	c.CategoryName = s.after(`,"category_name":`).text()
	c.BrandCode = s.after(`,"brand_code":`).string()
	c.BrandName = s.after(`,"brand_name":`).text()
	if s.has(`,"model_code":`) {
		c.ModelCode = s.string()
	}
	if s.has(`,"model_name":`) {
		c.ModelName = new(s.text())
	}
	s.expect(`}`)
	return c
}

func (s *recordedScanner) text() (t text.Text) {
	t.EN = s.after(`{"en":`).string()
	if s.has(`,"ja":`) {
		t.JA = s.string()
	}
	s.expect(`}`)
	return t
}

// string reads a string without escapes.
func (s *recordedScanner) string() string {
	s.expect(`"`)
	i := strings.IndexByte(s.rest, '"')
	if i < 0 || strings.IndexByte(s.rest[:i], '\\') >= 0 {
		s.bad = true
		return ""
	}
	word := s.rest[:i]
	s.rest = s.rest[i+1:]
	return word
}

// integer reads a number as far as its digits go.
func (s *recordedScanner) integer() int {
	digits := 0
	for digits < len(s.rest) && (s.rest[digits] == '-' || '0' <= s.rest[digits] && s.rest[digits] <= '9') {
		digits++
	}
	n, err := strconv.Atoi(s.rest[:digits])
	s.bad = s.bad || err != nil
	s.rest = s.rest[digits:]
	return n
}

// after goes past a word, to what follows it.
func (s *recordedScanner) after(word string) *recordedScanner {
	s.expect(word)
	return s
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
