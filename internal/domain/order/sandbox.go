package order

import (
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
)

// SandboxState is a state that a developer can put a Test order into: a status or, for completed orders, an outcome.
type SandboxState string

// SandboxStates lists the states in the order of an order's life.
var SandboxStates = []SandboxState{
	SandboxState(Queued), SandboxState(Processing), SandboxState(UpdatePhotos), SandboxState(Authentic),
	SandboxState(Fake), SandboxState(UnableToVerify), SandboxState(Canceled), SandboxState(Failed),
}

// NotATestOrder is the refusal to simulate a state of a Live order.
var NotATestOrder = fault.New(fault.Conflict, "not-a-test-order", "Only Test orders can be moved at will.")

// SimulateState puts a Test order into a state, whatever its state was, with a result as complete as a real one, or
// refuses and changes nothing. drafts are what a photo request asks for, empty in other states; without any it asks for
// what Simulate does. indexes are those of the order's catalog context; photos are all the order has.
func (o *Order) SimulateState(
	to SandboxState, drafts []RequestDraft, words *catalog.Snapshot, indexes []*catalog.PhotoIndex, photos []Photo,
	now time.Time,
) error {
	if o.Environment != access.Test {
		return NotATestOrder
	}
	next := *o
	next.reopen(now)
	switch to {
	case SandboxState(Queued), SandboxState(Processing), SandboxState(Failed):
		next.enter(Status(to), now)
	case SandboxState(UpdatePhotos):
		if len(indexes) == 0 && len(photos) == 0 {
			return fault.InvalidField("state", codeUnknown, "is not a state of an order without photos")
		}
		if len(drafts) == 0 {
			next.Simulate(MockUpdatePhotos, words, indexes, photos, now)
			break
		}
		next.enter(Processing, now)
		if err := next.Request(drafts, words, indexes, photos, now); err != nil {
			return err
		}
		completeRequests(next.Requested, words)
	case SandboxState(Authentic), SandboxState(Fake), SandboxState(UnableToVerify):
		next.Simulate(MockOutcome(to), words, indexes, photos, now)
	case SandboxState(Canceled):
		next.enter(Completed, now)
		next.Outcome = Canceled
	default:
		return fault.InvalidField("state", codeUnknown, "is not a state of an order")
	}
	*o = next
	return nil
}

// reopen removes what an end has left behind. The clock that a photo request has stopped runs again.
func (o *Order) reopen(now time.Time) {
	o.Outcome, o.CertificateID = "", ""
	o.Reasons, o.OutcomeIndexes = nil, nil
	if o.Status.Terminal() && o.DueAt == nil && o.TimeLeft != nil {
		o.DueAt, o.TimeLeft = new(now.Add(*o.TimeLeft)), nil
	}
}

// Simulate puts a Test order into the state that a mock outcome names, with a result as complete as a real one:
// reasons for a verdict, affected indexes for a fake, conditions and requirements for a photo request. indexes are
// those of the order's catalog context; photos are all the order has.
func (o *Order) Simulate(
	mock MockOutcome, words *catalog.Snapshot, indexes []*catalog.PhotoIndex, photos []Photo, now time.Time,
) {
	if mock == MockUpdatePhotos {
		o.enter(UpdatePhotos, now)
		o.Requested = simulatedRequest(words, indexes, photos)
		return
	}
	o.enter(Completed, now)
	o.Outcome = Outcome(mock)
	o.Reasons = simulatedReasons(words, o.Outcome)
	if o.Outcome == Fake {
		o.OutcomeIndexes = simulatedIndexes(photos)
	}
	if o.Outcome == Authentic {
		o.CertificateID = NewCertificateID()
	}
}

// AfterSubmission returns the state that a Test order takes after an accepted submission: the one its note names as
// mock_outcome=VALUE, else unable-to-verify when an index could not be provided, else authentic.
func AfterSubmission(s *Submission) MockOutcome {
	if value, ok := strings.CutPrefix(s.Note, "mock_outcome="); ok {
		if mock, ok := ParseMockOutcome(value); ok {
			return mock
		}
	}
	if slices.ContainsFunc(s.Entries, func(e SubmissionEntry) bool { return e.Unable }) {
		return MockUnableToVerify
	}
	return MockAuthentic
}

const simulatedCount = 2 // of reasons, indexes and requests: enough to show that lists are lists

var builtInReasons = map[Outcome]text.Text{
	Authentic: {
		EN: "Simulated result: all details match genuine examples",
		JA: "シミュレーション結果：すべての特徴が真正品と一致しています",
	},
	Fake: {
		EN: "Simulated result: details differ from genuine examples",
		JA: "シミュレーション結果：真正品と異なる特徴があります",
	},
	UnableToVerify: {
		EN: "Simulated result: the photos do not allow a judgement",
		JA: "シミュレーション結果：写真からは判定できません",
	},
}

func simulatedReasons(words *catalog.Snapshot, outcome Outcome) []CodedText {
	var reasons []CodedText
	all := words.Reasons(string(outcome))
	for _, r := range all[:min(simulatedCount, len(all))] {
		reasons = append(reasons, CodedText{Code: r.Code, Text: r.Text})
	}
	if len(reasons) == 0 {
		reasons = append(reasons, CodedText{Code: "simulated", Text: builtInReasons[outcome]})
	}
	return reasons
}

func simulatedIndexes(photos []Photo) []string {
	codes := make([]string, 0, simulatedCount)
	for _, p := range photos {
		if len(codes) < simulatedCount && p.Name != "" && (len(codes) == 0 || codes[0] != p.IndexCode) {
			codes = append(codes, p.IndexCode)
		}
	}
	return codes
}

var (
	builtInUnclear = text.Text{EN: "Unclear", JA: "不鮮明です"}
	builtInMissing = text.Text{EN: "Missing", JA: "不足しています"}
)

// simulatedRequest asks for the first index that has a photo, as unclear, and for one that has none, as missing.
func simulatedRequest(words *catalog.Snapshot, indexes []*catalog.PhotoIndex, photos []Photo) []PhotoRequest {
	sent := make(map[string]bool)
	for _, p := range photos {
		sent[p.IndexCode] = true
	}
	var unclear, missing *catalog.PhotoIndex
	for _, x := range indexes {
		if sent[x.Code] && unclear == nil {
			unclear = x
		}
		if !sent[x.Code] && missing == nil {
			missing = x
		}
	}
	var requests []PhotoRequest
	if unclear != nil {
		r := request(unclear, condition(words, "unclear", builtInUnclear))
		r.Comment = "Simulated request: please send a sharper photo."
		requests = append(requests, r)
	}
	if missing != nil {
		r := request(missing, condition(words, "missing", builtInMissing))
		requests = append(requests, r)
	}
	if requests == nil { // a later catalog has taken every index away
		requests = []PhotoRequest{{
			IndexCode: photos[0].IndexCode, Name: words.FormerIndexName(photos[0].IndexCode), MaxPhotos: 1,
		}}
	}
	completeRequests(requests, words)
	return requests
}

// completeRequests gives every simulated request a condition and a requirement, as reviewers do.
func completeRequests(requests []PhotoRequest, words *catalog.Snapshot) {
	for i := range requests {
		r := &requests[i]
		if r.Condition == nil {
			r.Condition = condition(words, "unclear", builtInUnclear)
		}
		if len(r.Requirements) == 0 {
			r.Requirements = requirements(words)
		}
	}
}

func request(x *catalog.PhotoIndex, condition *CodedText) PhotoRequest {
	r := PhotoRequest{IndexCode: x.Code, Name: x.Name, Condition: condition, MaxPhotos: x.PhotoLimit}
	if len(x.ExampleURLs) > 0 {
		r.ReferencePhotoURL = x.ExampleURLs[0]
	}
	return r
}

func condition(words *catalog.Snapshot, code string, builtIn text.Text) *CodedText {
	if c := words.Condition(code); c != nil {
		return &CodedText{Code: code, Text: c.Text}
	}
	return &CodedText{Code: code, Text: builtIn}
}

func requirements(words *catalog.Snapshot) []CodedText {
	var coded []CodedText
	all := words.Requirements()
	for _, r := range all[:min(simulatedCount, len(all))] {
		coded = append(coded, CodedText{Code: r.Code, Text: r.Text})
	}
	if len(coded) == 0 {
		coded = append(coded, CodedText{Code: "sharp-focus", Text: text.Text{EN: "Sharp focus", JA: "ピントを合わせてください"}})
	}
	return coded
}
