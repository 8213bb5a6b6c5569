package webhook

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

func TestRotate(t *testing.T) {
	begin := time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		rotate   func(*Endpoint, string, time.Time, time.Duration)
		overlap  time.Duration
		again    time.Duration // when the second rotation comes
		previous string
		until    time.Duration
	}{
		"Another":             {(*Endpoint).Rotate, 24 * time.Hour, time.Minute, "second", 24*time.Hour + time.Minute},
		"Lost":                {(*Endpoint).RotateLost, 24 * time.Hour, time.Minute, "first", 24 * time.Hour},
		"LostWithoutOverlap":  {(*Endpoint).RotateLost, 0, time.Second, "second", time.Second},
		"LostAfterTheOverlap": {(*Endpoint).RotateLost, time.Minute, time.Minute, "second", 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Endpoint{SealedSecret: "first", CreatedAt: begin.Add(-time.Hour)}
			test.rotate(e, "second", begin, test.overlap)
			if want := (Rotation{begin, "first", begin.Add(test.overlap)}); e.SealedSecret != "second" || *e.Rotation != want {
				t.Errorf("the first rotation left %s, %+v", e.SealedSecret, e.Rotation)
			}
			now := begin.Add(test.again)
			test.rotate(e, "third", now, test.overlap)
			if want := (Rotation{now, test.previous, begin.Add(test.until)}); e.SealedSecret != "third" || *e.Rotation != want {
				t.Errorf("the second rotation left %s, %+v, want %+v", e.SealedSecret, e.Rotation, want)
			}
		})
	}
}

func TestCheckEvents(t *testing.T) {
	problem := func(field, code string) string { return field + " " + code }
	for name, test := range map[string]struct {
		names    []string
		events   []Event
		problems []string
	}{
		"One":              {names: []string{"update-photos"}, events: []Event{UpdatePhotos}},
		"BothInTheirPlace": {names: []string{"update-photos", "order-outcome"}, events: []Event{UpdatePhotos, OrderOutcome}},
		"None":             {problems: []string{problem("events", "min_items")}},
		"TooMany": {
			names:    []string{"order-outcome", "update-photos", "order-outcome"},
			problems: []string{problem("events", "max_items")},
		},
		"Repeated": {
			names: []string{"order-outcome", "order-outcome"}, problems: []string{problem("events[1]", "duplicate")},
		},
		"Unknown": {names: []string{"order-outcome", "order.outcome"}, problems: []string{problem("events[1]", "enum")}},
		"EveryProblem": {
			names:    []string{"", "Order-Outcome"},
			problems: []string{problem("events[0]", "enum"), problem("events[1]", "enum")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			events, problems := CheckEvents("events", test.names)
			if !reflect.DeepEqual(events, test.events) {
				t.Errorf("events %v, want %v", events, test.events)
			}
			var got []string
			for _, p := range problems {
				got = append(got, problem(p.Field, p.Code))
			}
			if !reflect.DeepEqual(got, test.problems) {
				t.Errorf("problems %v, want %v", got, test.problems)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	e := Endpoint{Events: []Event{OrderOutcome}}
	if !e.Wants(OrderOutcome) || e.Wants(UpdatePhotos) {
		t.Error("Wants does not follow Events")
	}
	if got := e.AuthType(); got != "hmac" {
		t.Errorf("AuthType() = %s", got)
	}
	e.OAuth = &OAuth{TokenURL: "https://id.example.com/token", ClientID: "client"}
	if got := e.AuthType(); got != "oauth2" {
		t.Errorf("AuthType() with OAuth = %s", got)
	}
}

func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		err     *fault.Error
		kind    fault.Kind
		code    string
		details map[string]any
	}{
		"AlreadyExists": {AlreadyExists, fault.Conflict, "webhook-already-exists", nil},
		"LimitReached":  {LimitReached, fault.Conflict, "webhook-limit-reached", map[string]any{"limit": 10}},
		"Unsafe": {
			Unsafe("auth.token_url", "loopback", "443"), fault.Invalid, "unsafe-webhook-url",
			map[string]any{"field": "auth.token_url", "reason": "loopback"},
		},
		"NotFound": {NotFound, fault.NotFound, "not-found", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if test.err.Kind != test.kind || test.err.Code != test.code || !reflect.DeepEqual(test.err.Details, test.details) {
				t.Errorf("got %+v", test.err)
			}
			if test.err.Message == "" {
				t.Error("no message")
			}
		})
	}
	if !errors.Is(Unsafe("url", "private", "443"), Unsafe("", "", "")) {
		t.Error("refusals with different details do not match")
	}
}
