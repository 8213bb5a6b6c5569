package desk

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/httpx/input"
)

// readRequest checks the shape of a photo request; what its codes name is for the use case to say.
func readRequest(r *http.Request) ([]order.RequestDraft, error) {
	o, err := input.ReadObject(r)
	if err != nil {
		return nil, err
	}
	photos := o.Objects("photos", input.Required, input.MinItems(1), input.MaxItems(order.MaxPhotos))
	drafts := make([]order.RequestDraft, len(photos))
	for i, p := range photos {
		drafts[i] = order.RequestDraft{
			IndexCode:    p.String("index_code", input.Required, input.NotEmpty),
			Condition:    p.String("condition", input.NotEmpty),
			Requirements: p.Strings("requirements", input.NotEmpty, input.Unique),
			Comment:      p.String("comment", input.MaxChars(order.MaxComment)),
			ReferencePhotoURL: p.String("reference_photo_url", input.MaxChars(order.MaxReferenceURL),
				input.Format(order.ReferenceURLRule, order.ValidReferenceURL)),
			MaxPhotos: int(p.Int("max_photos", input.Min(1), input.Max(order.MaxPhotos))),
		}
	}
	return drafts, o.Done()
}

// sentVerdict is the body with which an order is completed.
type sentVerdict struct {
	*order.Verdict
	note string
}

// readVerdict checks the shape of a verdict, and what its outcome asks of the rest.
func readVerdict(r *http.Request) (sentVerdict, error) {
	o, err := input.ReadObject(r)
	if err != nil {
		return sentVerdict{}, err
	}
	v := &order.Verdict{Outcome: order.Outcome(o.String("outcome", input.Required,
		input.OneOf(enum.Names(order.Verdicts)...)))}
	reasons := []input.Rule{input.NotEmpty, input.Unique}
	if v.Outcome == order.Fake {
		reasons = append(reasons, input.Required, input.MinItems(1))
	}
	v.ReasonCodes = o.Strings("reason_codes", reasons...)
	if own := o.Object("reason_text"); own.Exists() {
		v.ReasonText = readReasonText(own)
		if v.Outcome != "" && !v.Outcome.HasPublicReasons() {
			o.Problem("reason_text", "not_allowed", order.ReasonTextOutcomes)
		}
	}
	v.IndexCodes = o.Strings("index_codes", input.NotEmpty, input.Unique)
	if v.Outcome != order.Fake && v.Outcome != "" && len(v.IndexCodes) > 0 {
		o.Problem("index_codes", "not_allowed", "is only for the outcome fake")
	}
	note := o.String("note", input.MaxChars(order.MaxNote))
	return sentVerdict{v, note}, o.Done()
}

// readReasonText reads a reason in the reviewer's own words: English, and Japanese where there is a translation.
func readReasonText(o input.Object) text.Text {
	rules := []input.Rule{
		input.NotEmpty, input.MaxChars(order.MaxReasonText),
		input.Format(order.NotBlankRule, order.NotBlank),
	}
	return text.Text{EN: o.String("en", append(rules, input.Required)...), JA: o.String("ja", rules...)}
}

// readNote reads the body of a move that takes nothing but a note. The note is optional, and so is the body.
func readNote(r *http.Request) (string, error) {
	body, err := input.ReadBody(r)
	if err != nil || len(body) == 0 {
		return "", err
	}
	o, err := input.ParseObject(body)
	if err != nil {
		return "", err
	}
	note := o.String("note", input.MaxChars(order.MaxNote))
	return note, o.Done()
}
