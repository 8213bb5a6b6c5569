package statistics_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/statistics"
)

// ended returns an order of an hour that ended some time after its creation, which photo requests may have moved on.
func ended(outcome order.Outcome, took time.Duration, reviewer string) *order.Order {
	created := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	due, end := created.Add(time.Hour), created.Add(took)
	return &order.Order{
		Status: order.Completed, Outcome: outcome, AnswerTime: 60, AssigneeID: reviewer, CreatedAt: created,
		DueAt: &due, EndedAt: &end,
	}
}

func TestFigures(t *testing.T) {
	first, second := statistics.NewFigures(), statistics.NewFigures()
	if rate := first.OnTimeRate(); !math.IsNaN(rate) {
		t.Errorf("the rate without verdicts is %v", rate)
	}
	first.Created = 3
	first.Count(ended(order.Authentic, 30*time.Minute, "mika"))
	first.Count(ended(order.Fake, 60*time.Minute, "mika"))
	first.Count(ended(order.Canceled, time.Minute, ""))
	second.Created = 2
	second.Count(ended(order.Fake, 90*time.Minute, "nao"))
	second.Count(&order.Order{Status: order.Failed})
	unanswered := ended(order.UnableToVerify, time.Hour, "nao")
	unanswered.DueAt = nil
	second.Count(unanswered)

	text, err := json.Marshal(second)
	if err != nil {
		t.Fatal(err)
	}
	read, err := statistics.ParseFigures(string(text))
	if err != nil || !reflect.DeepEqual(read, second) {
		t.Fatalf("%s is read as %+v, %v", text, read, err)
	}
	first.Add(read)
	wantEnded := map[string]int64{"authentic": 1, "fake": 2, "canceled": 1, "error": 1, "unable-to-verify": 1}
	if first.Created != 5 || !reflect.DeepEqual(first.Ended, wantEnded) ||
		!reflect.DeepEqual(first.Reviewers, map[string]int64{"mika": 2, "nao": 1}) {
		t.Errorf("the sum is %+v", first)
	}
	hour := first.Times[60]
	if hour.Verdicts != 3 || hour.OnTime != 2 || first.OnTimeRate() != 2.0/3 {
		t.Errorf("%d of %d verdicts are on time", hour.OnTime, hour.Verdicts)
	}
	if d, ok := hour.Turnaround.Quantile(0.5); !ok || math.Abs(d.Minutes()-60) > 1.2 {
		t.Errorf("the median is %v", d)
	}
}

func TestResultBucket(t *testing.T) {
	for _, without := range []*order.Order{
		{Status: order.Failed},
		ended(order.Canceled, time.Hour, ""),
		{Status: order.Completed, Outcome: order.UnableToVerify},
	} {
		if got := statistics.ResultBucket(without); got != -1 {
			t.Errorf("an order without a verdict is in bucket %d", got)
		}
	}
	for _, took := range []time.Duration{time.Second, time.Minute, 20 * time.Minute, 3 * time.Hour, 50 * time.Hour} {
		h := statistics.Histogram{statistics.ResultBucket(ended(order.Fake, took, "")): 1}
		if d, ok := h.Quantile(0.95); !ok || math.Abs(d.Seconds()/took.Seconds()-1) > 0.061 {
			t.Errorf("%v is counted as %v", took, d)
		}
	}
	if d, ok := make(statistics.Histogram).Quantile(0.5); ok || d != 0 {
		t.Errorf("nothing has the median %v", d)
	}
}
