package order

import (
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/wire"
)

// The answers that are sent the most are appended field by field, as the encoder of answers writes them: its reflection
// takes longer than the database for one of them.

// Append appends the detail.
func (d *Detail) Append(b []byte) []byte {
	b = wire.AppendString(append(b, `{"id":`...), d.ID)
	b = wire.AppendString(append(b, `,"status":`...), string(d.Status))
	b = appendOptional(append(b, `,"outcome":`...), (*string)(d.Outcome))
	b = appendOptional(append(b, `,"outcome_locale":`...), d.OutcomeLocale)
	b = strconv.AppendBool(append(b, `,"delayed":`...), d.Delayed)
	b = d.Classification.append(append(b, `,"classification":`...))
	b = appendTimestamp(append(b, `,"due_date":`...), d.DueDate)
	b = appendTimestamp(append(b, `,"updated_at":`...), d.UpdatedAt)
	if d.CertificateURL.Present {
		b = appendOptional(append(b, `,"certificate_url":`...), d.CertificateURL.Value)
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
	b = appendOptional(append(b, `{"brand_code":`...), c.BrandCode)
	b = appendOptional(append(b, `,"category_code":`...), c.CategoryCode)
	b = appendOptional(append(b, `,"model_code":`...), c.ModelCode)
	b = appendOptional(append(b, `,"model_name":`...), c.ModelName)
	b = appendOptional(append(b, `,"model_name_locale":`...), c.ModelNameLocale)
	return append(b, '}')
}

func (p *PhotoToResubmit) append(b []byte) []byte {
	b = wire.AppendString(append(b, `{"index_code":`...), p.IndexCode)
	b = wire.AppendString(append(b, `,"name":`...), p.Name)
	b = wire.AppendString(append(b, `,"name_locale":`...), p.NameLocale)
	b = appendOptional(append(b, `,"condition":`...), p.Condition)
	b = appendOptional(append(b, `,"condition_locale":`...), p.ConditionLocale)
	b = appendStrings(append(b, `,"requirements":`...), p.Requirements)
	b = appendStrings(append(b, `,"requirements_locale":`...), p.RequirementsLocale)
	b = appendOptional(append(b, `,"comment":`...), p.Comment)
	b = appendOptional(append(b, `,"reference_photo_url":`...), p.ReferencePhotoURL)
	b = strconv.AppendInt(append(b, `,"max_photos":`...), int64(p.MaxPhotos), 10)
	return append(b, '}')
}

// AppendItem appends the order as the integration API lists it.
func (o *Order) AppendItem(b []byte) []byte {
	b = append(append(b, `{"id":"`...), o.ID...)
	b = appendOptional(append(b, `","external_id":`...), o.ExternalID)
	b = append(append(b, `,"order_number":"`...), o.Number...)
	b = append(append(b, `","status":"`...), o.Status...)
	b = append(b, `","outcome":`...)
	if o.Outcome == "" {
		b = append(b, "null"...)
	} else {
		b = append(append(append(b, '"'), o.Outcome...), '"')
	}
	b = appendTimestamp(append(b, `,"due_date":`...), (*wire.Timestamp)(o.DueAt))
	return append(wire.AppendTime(append(b, `,"updated_at":`...), o.UpdatedAt), '}')
}

// appendPresent appends a list that is left out when it is nil.
func appendPresent(b []byte, name string, list []string) []byte {
	if list == nil {
		return b
	}
	return appendStrings(append(b, name...), list)
}

func appendStrings(b []byte, list []string) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, s)
	}
	return append(b, ']')
}

// appendOptional appends a string, or null.
func appendOptional(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return wire.AppendString(b, *s)
}

func appendTimestamp(b []byte, t *wire.Timestamp) []byte {
	if t == nil {
		return append(b, "null"...)
	}
	return wire.AppendTime(b, time.Time(*t))
}
