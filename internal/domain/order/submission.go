package order

import (
	"fmt"
	"slices"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
)

// Submission answers a photo request; its shape has been checked.
type Submission struct {
	Entries []SubmissionEntry
	Note    string
}

// SubmissionEntry resolves one requested index, or adds a further photo to it.
type SubmissionEntry struct {
	IndexCode string
	URL       *string
	Unable    bool // no photo can be supplied
}

// CodeNotAwaitingPhotos is the code of NotAwaitingPhotos.
const CodeNotAwaitingPhotos = "order-not-awaiting-update-photos"

// MissingIndexCodes is the detail of a refusal that names the photo indexes without a photo.
const MissingIndexCodes = "missing_index_codes"

// NotAwaitingPhotos is the refusal of a submission to an order that did not ask for one.
func NotAwaitingPhotos(status Status) *fault.Error {
	return fault.New(fault.Conflict, CodeNotAwaitingPhotos,
		"The order does not wait for photos; its status is "+string(status)+".").
		With("expected_status", string(UpdatePhotos)).With("status", string(status))
}

// CheckEntries checks that every entry names a requested index, and then that every entry has one kind of content and
// no index is both provided and declared unavailable.
func (s *Submission) CheckEntries(requested []PhotoRequest) error {
	codes := make([]string, len(requested))
	for i := range requested {
		codes[i] = requested[i].IndexCode
	}
	for i, e := range s.Entries {
		if !slices.Contains(codes, e.IndexCode) {
			return fault.New(fault.Invalid, "photo-index-not-requested",
				"The photo index "+catalog.ClippedCode(e.IndexCode)+" was not requested.").
				With("requested_index_codes", codes).With("field", fmt.Sprintf("photos[%d].index_code", i))
		}
	}
	provided, unable := make(map[string]bool), make(map[string]bool)
	for i, e := range s.Entries {
		switch {
		case e.URL != nil && e.Unable:
			return invalidEntry(i, "must not carry both url and is_unable_to_provide: true")
		case e.URL == nil && !e.Unable:
			return invalidEntry(i, "must carry either url or is_unable_to_provide: true")
		case e.Unable && unable[e.IndexCode]:
			return invalidEntry(i, "declares the index "+e.IndexCode+" unavailable a second time")
		case e.Unable && provided[e.IndexCode], e.URL != nil && unable[e.IndexCode]:
			return invalidEntry(i, "names the index "+e.IndexCode+", which is both provided and declared unavailable")
		}
		provided[e.IndexCode] = provided[e.IndexCode] || e.URL != nil
		unable[e.IndexCode] = unable[e.IndexCode] || e.Unable
	}
	return nil
}

// CheckCounts checks that no index has more photos than it may, and then that every requested index is resolved.
func (s *Submission) CheckCounts(requested []PhotoRequest) error {
	urls, resolved := make(map[string]int), make(map[string]bool)
	for _, e := range s.Entries {
		resolved[e.IndexCode] = true
		if e.URL != nil {
			urls[e.IndexCode]++
		}
	}
	for i := range requested {
		r := &requested[i]
		if n := urls[r.IndexCode]; n > r.MaxPhotos {
			return limitExceeded(r.IndexCode, r.MaxPhotos, n)
		}
	}
	var missing []string
	for i := range requested {
		if !resolved[requested[i].IndexCode] {
			missing = append(missing, requested[i].IndexCode)
		}
	}
	if missing != nil {
		return fault.New(fault.Invalid, "missing-requested-photo-indexes",
			"Requested photo indexes are not resolved.").With(MissingIndexCodes, missing)
	}
	return nil
}

func invalidEntry(i int, rule string) error {
	field := fmt.Sprintf("photos[%d]", i)
	return fault.New(fault.Invalid, "invalid-update-photo", "The entry "+field+" "+rule+".").With("field",
		field).With("rule", rule)
}
