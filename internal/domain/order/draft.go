package order

import "github.com/assayhq/assay/internal/domain/text"

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
	ReasonText  text.Text       `json:"reason_text,omitzero"`
	IndexCodes  []string        `json:"index_codes,omitempty"`
	Checks      map[string]Mark `json:"checks,omitempty"` // by photo index
	Note        string          `json:"note,omitempty"`
}

// Verdict is what the draft says now. What was entered for another outcome stays in the draft.
func (d *VerdictDraft) Verdict() *Verdict {
	v := &Verdict{Outcome: d.Outcome, ReasonCodes: d.ReasonCodes}
	if d.Outcome == Fake {
		v.IndexCodes = d.IndexCodes
	}
	if d.Outcome.TellsReasons() {
		v.ReasonText = d.ReasonText
	}
	return v
}
