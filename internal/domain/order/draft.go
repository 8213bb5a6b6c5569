package order

import (
	"reflect"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
)

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

// Empty reports whether nothing has been entered.
func (d *VerdictDraft) Empty() bool { return d.Equal(new(VerdictDraft)) }

// Equal reports whether two drafts say the same.
func (d *VerdictDraft) Equal(other *VerdictDraft) bool {
	a, b := *d, *other
	for _, v := range []*VerdictDraft{&a, &b} { // none and an empty list are the same
		if len(v.Checks) == 0 {
			v.Checks = nil
		}
		if len(v.ReasonCodes) == 0 {
			v.ReasonCodes = nil
		}
		if len(v.OtherCodes) == 0 {
			v.OtherCodes = nil
		}
		if len(v.IndexCodes) == 0 {
			v.IndexCodes = nil
		}
	}
	return reflect.DeepEqual(a, b)
}

// KeptDraft is a draft as it is stored. Each save makes the version that follows the one it was made from, so that a
// page that has not seen the latest one does not replace it unasked.
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
