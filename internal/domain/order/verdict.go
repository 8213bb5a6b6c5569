package order

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
)

// Limits of what a reviewer writes.
const (
	MaxComment      = 1000
	MaxReasonText   = 500
	MaxReferenceURL = 2048
)

// Codes of the problems that only the catalog or the order can tell.
const (
	codeUnknown      = "unknown_code"
	codeOtherOutcome = "other_outcome"
	codeDuplicate    = "duplicate"
	codeRequired     = "required"
	codeNotAllowed   = "not_allowed"
	codeMaxLength    = "max_length"
)

// Verdicts are the outcomes that a reviewer gives; canceled is none.
var Verdicts = []Outcome{Authentic, Fake, UnableToVerify}

// Verdict is a reviewer's judgement.
type Verdict struct {
	Outcome     Outcome
	ReasonCodes []string  // at least one for a fake
	ReasonText  text.Text // a reason in the reviewer's own words, not for unable-to-verify; empty: none
	IndexCodes  []string  // for a fake only: the indexes that gave it away, of the order's photos
}

// Judge completes the order with the verdict, or refuses it with every problem at once and changes nothing. The texts
// of the reasons are kept with the order. photos are all the order has.
func (o *Order) Judge(v *Verdict, words *catalog.Snapshot, photos []Photo, now time.Time) error {
	var problems fault.Problems
	if !slices.Contains(Verdicts, v.Outcome) {
		problems.Add("outcome", "enum", "must be one of authentic, fake, unable-to-verify")
	}
	reasons := v.reasons(words, &problems)
	if v.ReasonText != (text.Text{}) {
		v.checkReasonText(&problems)
		reasons = append(reasons, CodedText{Text: v.ReasonText})
	}
	v.checkIndexes(photos, &problems)
	if err := problems.Err(); err != nil {
		return err
	}
	if err := o.Apply(Complete, now); err != nil {
		return err
	}
	o.Outcome = v.Outcome
	o.Reasons = reasons
	o.OutcomeIndexes = v.IndexCodes
	if v.Outcome == Authentic {
		o.CertificateID = NewCertificateID()
	}
	return nil
}

func (v *Verdict) reasons(words *catalog.Snapshot, problems *fault.Problems) []CodedText {
	if v.Outcome == Fake && len(v.ReasonCodes) == 0 {
		problems.Add("reason_codes", codeRequired, "is required for the outcome fake")
	}
	reasons := make([]CodedText, 0, len(v.ReasonCodes))
	for i, code := range v.ReasonCodes {
		field := fmt.Sprintf("reason_codes[%d]", i)
		reason := words.Reason(code)
		switch {
		case reason == nil:
			problems.Add(field, codeUnknown, "is not the code of a reason")
		case reason.Outcome != string(v.Outcome):
			problems.Add(field, codeOtherOutcome, "is a reason of the outcome "+reason.Outcome)
		case slices.Contains(v.ReasonCodes[:i], code):
			problems.Add(field, codeDuplicate, "is given more than once")
		default:
			reasons = append(reasons, CodedText{Code: code, Text: reason.Text})
		}
	}
	return reasons
}

// HasPublicReasons reports whether customers are shown the reasons of the outcome.
func (o Outcome) HasPublicReasons() bool { return o == Authentic || o == Fake }

// PublicReasons returns the reasons that the customer is shown; those of other outcomes are for the desk alone.
func (o *Order) PublicReasons() []CodedText {
	if !o.Outcome.HasPublicReasons() {
		return nil
	}
	return o.Reasons
}

// ReasonTextOutcomes says in words which outcomes take a reason in a reviewer's own words.
const ReasonTextOutcomes = "is only for the outcomes authentic and fake"

// NotBlankRule says in words what NotBlank holds.
const NotBlankRule = "must not be blank"

// NotBlank reports whether there is something to read in a text.
func NotBlank(s string) bool { return strings.TrimSpace(s) != "" }

// checkReasonText checks that a customer can read the text in either language: English is what stands in for the other.
func (v *Verdict) checkReasonText(problems *fault.Problems) {
	if slices.Contains(Verdicts, v.Outcome) && !v.Outcome.HasPublicReasons() {
		problems.Add("reason_text", codeNotAllowed, ReasonTextOutcomes)
		return
	}
	for _, in := range []struct{ field, text string }{
		{"reason_text.en", v.ReasonText.EN},
		{"reason_text.ja", v.ReasonText.JA},
	} {
		switch {
		case in.text == "" && in.field == "reason_text.en":
			problems.Add(in.field, codeRequired, "is required")
		case in.text != "" && !NotBlank(in.text):
			problems.Add(in.field, "format", NotBlankRule)
		case utf8.RuneCountInString(in.text) > MaxReasonText:
			problems.Add(in.field, codeMaxLength, fmt.Sprintf("must be at most %d characters", MaxReasonText))
		}
	}
}

func (v *Verdict) checkIndexes(photos []Photo, problems *fault.Problems) {
	if v.Outcome != Fake && len(v.IndexCodes) > 0 {
		problems.Add("index_codes", codeNotAllowed, "is only for the outcome fake")
		return
	}
	for i, code := range v.IndexCodes {
		field := fmt.Sprintf("index_codes[%d]", i)
		switch {
		case !slices.ContainsFunc(photos, func(p Photo) bool { return p.Name != "" && p.IndexCode == code }):
			problems.Add(field, codeUnknown, "is not the index of a photo of this order")
		case slices.Contains(v.IndexCodes[:i], code):
			problems.Add(field, codeDuplicate, "is given more than once")
		}
	}
}

// RequestDraft is what a reviewer asks of one photo index.
type RequestDraft struct {
	IndexCode         string
	Condition         string // empty: none
	Requirements      []string
	Comment           string
	ReferencePhotoURL string // empty: none
	MaxPhotos         int    // 0: what the catalog says of the index
}

// Request asks the customer for photos, or refuses with every problem at once and changes nothing. indexes are those of
// the order's catalog context; an index of the order's own photos may also be asked for when a later catalog has taken
// it away.
func (o *Order) Request(
	drafts []RequestDraft, words *catalog.Snapshot, indexes []*catalog.PhotoIndex, photos []Photo, now time.Time,
) error {
	var problems fault.Problems
	if len(drafts) == 0 || len(drafts) > MaxPhotos {
		problems = append(problems, wrongCount)
	}
	requests := make([]PhotoRequest, len(drafts))
	for i := range drafts {
		d, field := &drafts[i], fmt.Sprintf("photos[%d].", i)
		if slices.ContainsFunc(drafts[:i], func(earlier RequestDraft) bool { return earlier.IndexCode == d.IndexCode }) {
			problems.Add(field+"index_code", codeDuplicate, "is asked for more than once")
		}
		requests[i] = d.resolve(field, words, indexes, photos, &problems)
	}
	if err := problems.Err(); err != nil {
		return err
	}
	if err := o.Apply(RequestPhotos, now); err != nil {
		return err
	}
	o.Requested = requests
	return nil
}

func (d *RequestDraft) resolve(
	field string, words *catalog.Snapshot, indexes []*catalog.PhotoIndex, photos []Photo, problems *fault.Problems,
) PhotoRequest {
	r := PhotoRequest{
		IndexCode: d.IndexCode, Comment: d.Comment, ReferencePhotoURL: d.ReferencePhotoURL, MaxPhotos: d.MaxPhotos,
	}
	limit := 1
	if x := findIndex(indexes, d.IndexCode); x != nil {
		r.Name, limit = x.Name, x.PhotoLimit
	} else if slices.ContainsFunc(photos, func(p Photo) bool { return p.IndexCode == d.IndexCode }) {
		r.Name = words.FormerIndexName(d.IndexCode)
	} else {
		problems.Add(field+"index_code", codeUnknown, "is not a photo index of this order's category, brand and model")
	}
	switch {
	case d.MaxPhotos == 0:
		r.MaxPhotos = limit
	case d.MaxPhotos < 0:
		problems.Add(field+"max_photos", "min", "must be at least 1")
	case d.MaxPhotos > MaxPhotos: // no submission has more
		problems.Add(field+"max_photos", "max", fmt.Sprintf("must be at most %d", MaxPhotos))
	}
	if d.Condition != "" {
		if c := words.Condition(d.Condition); c != nil {
			r.Condition = &CodedText{Code: c.Code, Text: c.Text}
		} else {
			problems.Add(field+"condition", codeUnknown, "is not the code of a condition")
		}
	}
	for i, code := range d.Requirements {
		at := fmt.Sprintf("%srequirements[%d]", field, i)
		q := words.Requirement(code)
		switch {
		case q == nil:
			problems.Add(at, codeUnknown, "is not the code of a requirement")
		case slices.Contains(d.Requirements[:i], code):
			problems.Add(at, codeDuplicate, "is given more than once")
		default:
			r.Requirements = append(r.Requirements, CodedText{Code: code, Text: q.Text})
		}
	}
	if utf8.RuneCountInString(d.Comment) > MaxComment {
		problems.Add(field+"comment", codeMaxLength, fmt.Sprintf("must be at most %d characters", MaxComment))
	}
	if d.ReferencePhotoURL != "" && !ValidReferenceURL(d.ReferencePhotoURL) {
		problems.Add(field+"reference_photo_url", "format", ReferenceURLRule)
	}
	return r
}

// ReferenceURLRule says in words what ValidReferenceURL holds.
const ReferenceURLRule = "must be an absolute https URL of at most 2048 characters without credentials"

// ValidReferenceURL reports whether a customer can be pointed to the URL: absolute, https, without credentials, in
// ASCII and not over MaxReferenceURL. Managed photo URLs are so, too.
func ValidReferenceURL(raw string) bool {
	if len(raw) > MaxReferenceURL || strings.ContainsFunc(raw, notPlain) {
		return false
	}
	u, err := url.Parse(raw)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil
}

// notPlain finds what a URL must escape.
func notPlain(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsGraphic(r) || strings.ContainsRune(" \"<>\\^`{|}", r)
}

// Mark is what a reviewer has found at the photos of one index.
type Mark string

// The marks of a checklist.
const (
	MarkPass       Mark = "pass"
	MarkFail       Mark = "fail"
	MarkNotVisible Mark = "not-visible"
)

// Marks lists every mark.
var Marks = []Mark{MarkPass, MarkFail, MarkNotVisible}

// VerdictDraft is what a reviewer has entered for an order and not sent yet.
type VerdictDraft struct {
	Outcome     Outcome         `json:"outcome,omitempty"`
	ReasonCodes []string        `json:"reason_codes,omitempty"`
	OtherCodes  []string        `json:"other_codes,omitempty"` // reasons chosen for other outcomes
	ReasonText  text.Text       `json:"reason_text,omitzero"`
	IndexCodes  []string        `json:"index_codes,omitempty"`
	Checks      map[string]Mark `json:"checks,omitempty"` // by photo index
	Note        string          `json:"note,omitempty"`
	Page        DraftPage       `json:"page,omitzero"` // that stored it, no part of what it says
}

// DraftPage is the page that stores a draft, and which of its saves it is.
type DraftPage struct {
	ID   string `json:"id"` // chosen by the page; empty: not told
	Save int64  `json:"save"`
}

// Follows reports whether a save is a later one of the page that made another. What that one stored is known to the
// page, even when it never got the answer.
func (p DraftPage) Follows(other DraftPage) bool {
	return p.ID != "" && p.ID == other.ID && p.Save > other.Save
}

// Verdict is what the draft says now. What was entered for another outcome stays in the draft.
func (d *VerdictDraft) Verdict() *Verdict {
	v := &Verdict{Outcome: d.Outcome, ReasonCodes: d.ReasonCodes}
	if d.Outcome == Fake {
		v.IndexCodes = d.IndexCodes
	}
	if d.Outcome.HasPublicReasons() {
		v.ReasonText = d.ReasonText
	}
	return v
}

// Empty reports whether nothing has been entered.
func (d *VerdictDraft) Empty() bool { return d.Equal(new(VerdictDraft)) }

// Equal reports whether two drafts say the same.
func (d *VerdictDraft) Equal(other *VerdictDraft) bool {
	return d.Outcome == other.Outcome && d.ReasonText == other.ReasonText && d.Note == other.Note &&
		slices.Equal(d.ReasonCodes, other.ReasonCodes) && slices.Equal(d.OtherCodes, other.OtherCodes) &&
		slices.Equal(d.IndexCodes, other.IndexCodes) && maps.Equal(d.Checks, other.Checks)
}

// KeptDraft is a draft as it is stored. Each save makes the version that follows the one it was made from, so that a
// page that has not seen the latest one does not replace it unasked, unless it is its own.
type KeptDraft struct {
	VerdictDraft
	Version   int64 // 0: nothing is stored
	StaffID   string
	StaffName string
	UpdatedAt time.Time
}

// LatestDraft stands for whatever version is stored: for those who replace it knowingly.
const LatestDraft int64 = -1

// DraftChanged says that a draft was made from a version that is no longer the latest.
var DraftChanged = fault.New(fault.Conflict, "draft-changed", "The draft has been changed elsewhere since it was read.")
