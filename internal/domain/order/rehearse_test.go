package order

import (
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/text"
)

func TestRehearse(t *testing.T) {
	words := catalog.NewSnapshot(new(catalog.Document), 1, nil)
	indexes := []*catalog.PhotoIndex{{Code: "overall", Name: text.Text{EN: "Overall"}, PhotoLimit: 2}, {Code: "serial", Name: text.Text{EN: "Serial"}, PhotoLimit: 1}}
	photos := []Photo{{Name: "a.png", IndexCode: "overall"}}
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	fresh := func() *Order {
		return &Order{Environment: access.Test, Status: Queued, CreatedAt: start, UpdatedAt: start, DueAt: ptr(start.Add(time.Hour))}
	}
	for _, from := range Stages {
		for _, to := range Stages {
			t.Run(string(from)+" to "+string(to), func(t *testing.T) {
				o := fresh()
				for i, stage := range []Stage{from, to} {
					if err := o.Rehearse(stage, nil, words, indexes, photos, start.Add(time.Duration(i+1)*time.Minute)); err != nil {
						t.Fatal(err)
					}
					checkStage(t, o, stage)
				}
			})
		}
	}
	t.Run("ChosenIndexes", func(t *testing.T) {
		o := fresh()
		if err := o.Rehearse(StageUpdatePhotos, []RequestDraft{{IndexCode: "serial"}}, words, indexes, photos, start); err != nil {
			t.Fatal(err)
		}
		if len(o.Facts.Requested) != 1 || o.Facts.Requested[0].IndexCode != "serial" {
			t.Errorf("requested %+v", o.Facts.Requested)
		}
	})
	t.Run("UnknownIndexChangesNothing", func(t *testing.T) {
		o := fresh()
		err := o.Rehearse(StageUpdatePhotos, []RequestDraft{{IndexCode: "sole"}}, words, indexes, photos, start)
		if err == nil || o.Status != Queued || o.DueAt == nil {
			t.Errorf("%v, order %+v", err, o)
		}
	})
	t.Run("Live", func(t *testing.T) {
		o := fresh()
		o.Environment = access.Live
		if err := o.Rehearse(StageError, nil, words, indexes, photos, start); !errors.Is(err, NotATestOrder) {
			t.Errorf("%v", err)
		}
	})
	t.Run("Unknown", func(t *testing.T) {
		if err := fresh().Rehearse("sold", nil, words, indexes, photos, start); err == nil {
			t.Error("accepted")
		}
	})
}

// checkStage holds the order to what the database and the interface demand of its state.
func checkStage(t *testing.T, o *Order, s Stage) {
	t.Helper()
	if (o.Status == Completed) != (o.Outcome != "") || o.Status.Terminal() != (o.EndedAt != nil) {
		t.Errorf("status %s, outcome %q, ended %v", o.Status, o.Outcome, o.EndedAt)
	}
	if Stage(o.Outcome) != s && Stage(o.Status) != s {
		t.Errorf("in %s %s, want %s", o.Status, o.Outcome, s)
	}
	if (o.CertificateID != "") != (o.Outcome == Authentic) || (len(o.Facts.Requested) > 0) != (o.Status == UpdatePhotos) {
		t.Errorf("certificate %q, requested %v in %s", o.CertificateID, o.Facts.Requested, s)
	}
	if len(o.Facts.OutcomeIndexes) > 0 != (o.Outcome == Fake) {
		t.Errorf("outcome indexes %v in %s", o.Facts.OutcomeIndexes, s)
	}
	if running := o.Status == Queued || o.Status == Processing; running && o.DueAt == nil || o.Status == UpdatePhotos && o.DueAt != nil {
		t.Errorf("due %v in %s", o.DueAt, s)
	}
}
