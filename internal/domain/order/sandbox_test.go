package order

import (
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/text"
)

func TestSimulateState(t *testing.T) {
	words := catalog.NewSnapshot(new(catalog.Document), 1, nil, nil)
	indexes := []*catalog.PhotoIndex{
		{Code: "overall", Name: text.Text{EN: "Overall"}, PhotoLimit: 2},
		{Code: "serial", Name: text.Text{EN: "Serial"}, PhotoLimit: 1},
	}
	photos := []Photo{{Name: "a.png", IndexCode: "overall"}}
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	fresh := func() *Order {
		return &Order{
			Environment: access.Test, Status: Queued, CreatedAt: start, UpdatedAt: start, DueAt: new(start.Add(time.Hour)),
		}
	}
	for _, from := range SandboxStates {
		for _, to := range SandboxStates {
			t.Run(string(from)+" to "+string(to), func(t *testing.T) {
				o := fresh()
				for i, state := range []SandboxState{from, to} {
					if err := o.SimulateState(state, nil, words, indexes, photos,
						start.Add(time.Duration(i+1)*time.Minute)); err != nil {
						t.Fatal(err)
					}
					checkState(t, o, state)
				}
			})
		}
	}
	t.Run("ChosenIndexes", func(t *testing.T) {
		o := fresh()
		if err := o.SimulateState(SandboxState(UpdatePhotos), []RequestDraft{{IndexCode: "serial"}}, words, indexes, photos,
			start); err != nil {
			t.Fatal(err)
		}
		if len(o.Requested) != 1 || o.Requested[0].IndexCode != "serial" {
			t.Errorf("requested %+v", o.Requested)
		}
		checkState(t, o, SandboxState(UpdatePhotos))
	})
	t.Run("UnknownIndexChangesNothing", func(t *testing.T) {
		o := fresh()
		err := o.SimulateState(SandboxState(UpdatePhotos), []RequestDraft{{IndexCode: "sole"}}, words, indexes, photos, start)
		if err == nil || o.Status != Queued || o.DueAt == nil {
			t.Errorf("%v, order %+v", err, o)
		}
	})
	t.Run("NothingToAskFor", func(t *testing.T) {
		o := fresh()
		if err := o.SimulateState(SandboxState(UpdatePhotos), nil, words, nil, nil, start); err == nil || o.Status != Queued {
			t.Errorf("%v, order %+v", err, o)
		}
	})
	t.Run("Live", func(t *testing.T) {
		o := fresh()
		o.Environment = access.Live
		if err := o.SimulateState(SandboxState(Failed), nil, words, indexes, photos, start); !errors.Is(err, NotATestOrder) {
			t.Errorf("%v", err)
		}
	})
	t.Run("Unknown", func(t *testing.T) {
		if err := fresh().SimulateState("sold", nil, words, indexes, photos, start); err == nil {
			t.Error("accepted")
		}
	})
}

// checkState checks that the order satisfies what the database and the API demand of its state.
func checkState(t *testing.T, o *Order, s SandboxState) {
	t.Helper()
	if (o.Status == Completed) != (o.Outcome != "") || o.Status.Terminal() != (o.EndedAt != nil) {
		t.Errorf("status %s, outcome %q, ended %v", o.Status, o.Outcome, o.EndedAt)
	}
	if SandboxState(o.Outcome) != s && SandboxState(o.Status) != s {
		t.Errorf("in %s %s, want %s", o.Status, o.Outcome, s)
	}
	if (o.CertificateID != "") != (o.Outcome == Authentic) || (len(o.Requested) > 0) != (o.Status == UpdatePhotos) {
		t.Errorf("certificate %q, requested %v in %s", o.CertificateID, o.Requested, s)
	}
	for _, r := range o.Requested {
		if r.Condition == nil || len(r.Requirements) == 0 {
			t.Errorf("the request for %s lacks a condition or requirements: %+v", r.IndexCode, r)
		}
	}
	if len(o.OutcomeIndexes) > 0 != (o.Outcome == Fake) {
		t.Errorf("outcome indexes %v in %s", o.OutcomeIndexes, s)
	}
	if running := o.Status == Queued || o.Status == Processing; running && o.DueAt == nil || o.Status == UpdatePhotos &&
		o.DueAt != nil {
		t.Errorf("due %v in %s", o.DueAt, s)
	}
}
