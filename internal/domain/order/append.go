package order

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The answers that are sent the most are appended field by field, as the encoder of answers writes them: its reflection
// takes longer than the database for one of them.

// Append appends the detail.
func (d *Detail) Append(b []byte) []byte {
	b = appendText(append(b, `{"id":`...), d.ID)
	b = appendText(append(b, `,"status":`...), string(d.Status))
	b = appendString(append(b, `,"outcome":`...), (*string)(d.Outcome))
	b = appendString(append(b, `,"outcome_locale":`...), d.OutcomeLocale)
	b = strconv.AppendBool(append(b, `,"delayed":`...), d.Delayed)
	b = d.Classification.append(append(b, `,"classification":`...))
	b = appendTimestamp(append(b, `,"due_date":`...), d.DueDate)
	b = appendTimestamp(append(b, `,"updated_at":`...), d.UpdatedAt)
	if d.CertificateURL.Present {
		b = appendString(append(b, `,"certificate_url":`...), d.CertificateURL.Value)
	}
	b = appendPresent(b, `,"outcome_reasons":`, d.OutcomeReasons)
	b = appendPresent(b, `,"outcome_reasons_locale":`, d.OutcomeReasonsLocale)
	b = appendPresent(b, `,"outcome_indexes":`, d.OutcomeIndexes)
	for i := range d.PhotosToResubmit {
		if i == 0 {
			b = append(b, `,"photos_to_resubmit":[`...)
		} else {
			b = append(b, ',')
		}
		b = d.PhotosToResubmit[i].append(b)
	}
	if len(d.PhotosToResubmit) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

func (c *ClassificationView) append(b []byte) []byte {
	b = appendString(append(b, `{"brand_code":`...), c.BrandCode)
	b = appendString(append(b, `,"category_code":`...), c.CategoryCode)
	b = appendString(append(b, `,"model_code":`...), c.ModelCode)
	b = appendString(append(b, `,"model_name":`...), c.ModelName)
	b = appendString(append(b, `,"model_name_locale":`...), c.ModelNameLocale)
	return append(b, '}')
}

func (p *PhotoToResubmit) append(b []byte) []byte {
	b = appendText(append(b, `{"index_code":`...), p.IndexCode)
	b = appendText(append(b, `,"name":`...), p.Name)
	b = appendText(append(b, `,"name_locale":`...), p.NameLocale)
	b = appendString(append(b, `,"condition":`...), p.Condition)
	b = appendString(append(b, `,"condition_locale":`...), p.ConditionLocale)
	b = appendTexts(append(b, `,"requirements":`...), p.Requirements)
	b = appendTexts(append(b, `,"requirements_locale":`...), p.RequirementsLocale)
	b = appendString(append(b, `,"comment":`...), p.Comment)
	b = appendString(append(b, `,"reference_photo_url":`...), p.ReferencePhotoURL)
	b = strconv.AppendInt(append(b, `,"max_photos":`...), int64(p.MaxPhotos), 10)
	return append(b, '}')
}

// AppendItem appends the order as the integration API lists it.
func (o *Order) AppendItem(b []byte) []byte {
	b = append(append(b, `{"id":"`...), o.ID...)
	b = appendString(append(b, `","external_id":`...), o.ExternalID)
	b = append(append(b, `,"order_number":"`...), o.Number...)
	b = append(append(b, `","status":"`...), o.Status...)
	b = append(b, `","outcome":`...)
	if o.Outcome == "" {
		b = append(b, "null"...)
	} else {
		b = append(append(append(b, '"'), o.Outcome...), '"')
	}
	b = appendTimestamp(append(b, `,"due_date":`...), (*Timestamp)(o.DueAt))
	return append(appendTime(append(b, `,"updated_at":`...), o.UpdatedAt), '}')
}

// appendPresent appends a list that is left out when it is nil.
func appendPresent(b []byte, name string, list []string) []byte {
	if list == nil {
		return b
	}
	return appendTexts(append(b, name...), list)
}

func appendTexts(b []byte, list []string) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, s)
	}
	return append(b, ']')
}

// appendString appends a string, or null.
func appendString(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return appendText(b, *s)
}

func appendText(b []byte, s string) []byte {
	ascii := true
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c == '"' || c == '\\' {
			return append(b, encoded(s)...)
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	// The encoder escapes the two separators of lines that JavaScript once did not take.
	if !ascii && (!utf8.ValidString(s) || strings.Contains(s, "\u2028") || strings.Contains(s, "\u2029")) {
		return append(b, encoded(s)...)
	}
	return append(append(append(b, '"'), s...), '"')
}

// encoded is a string as the encoder of answers writes it.
func encoded(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string is always encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func appendTimestamp(b []byte, t *Timestamp) []byte {
	if t == nil {
		return append(b, "null"...)
	}
	return appendTime(b, time.Time(*t))
}

// appendTime appends a time in quotes as TimeFormat says; time.AppendFormat reads the layout anew each time.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, `"`+TimeFormat+`"`)
	}
	hour, minute, second := t.Clock()
	b = appendDigits(append(b, '"'), year/100, year%100)
	b = appendDigits(append(b, '-'), int(month))
	b = appendDigits(append(b, '-'), day)
	b = appendDigits(append(b, 'T'), hour)
	b = appendDigits(append(b, ':'), minute)
	b = appendDigits(append(b, ':'), second)
	ms := t.Nanosecond() / int(time.Millisecond)
	b = append(b, '.', digits[ms/100])
	return append(appendDigits(b, ms%100), 'Z', '"')
}

const digits = "0123456789"

// appendDigits appends numbers below 100 with two digits each.
func appendDigits(b []byte, numbers ...int) []byte {
	for _, n := range numbers {
		b = append(b, digits[n/10], digits[n%10])
	}
	return b
}
