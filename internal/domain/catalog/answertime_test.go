package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// goods are the categories, brands and the first model of the catalogs below.
const goods = `
categories: [{code: bags, name: {en: Bags}}, {code: shoes, name: {en: Shoes}}]
brands:
  - {code: chanel, name: {en: Chanel}, categories: [bags, shoes]}
  - {code: dior, name: {en: Dior}, categories: [bags]}
models:
  - {code: flap, brand: chanel, category: bags, name: {en: Flap}}
`

const times = goods + `
answer_times:
  - {code: 1440, name: {en: Day, ja: 一日}, price: 4, default: true}
  - {code: 30, name: {en: Half an hour}, price: 12}
  - {code: 60, name: {en: Hour}, price: 9}
answer_time_rules:
  - {code: 60, price: 8}
  - {code: 30, category: bags, brand: chanel, price: 20}
  - {code: 30, category: bags, price: 15}
  - {code: 30, brand: chanel, price: 17, default: true}
  - {code: 1440, brand: chanel, default: false}
  - {code: 60, category: bags, offered: false}
  - {code: 60, category: bags, brand: dior, offered: true}
account_prices:
  - {account: Acme, code: 30, price: 1}
  - {account: Acme, code: 60, price: 0}
  - {account: Gone, code: 30, price: 2}
`

func TestAnswerTimes(t *testing.T) {
	s := NewSnapshot(parse(t, times), 1, map[string]string{"Acme": "account-1"}, nil)
	tests := []struct {
		name    string
		context Context
		account string
		want    string // code:price, with * for the default
	}{
		{"BrandInCategory", Context{"bags", "chanel", ""}, "", "1440:4 30:20*"},
		{"ModelMakesNoDifference", Context{"bags", "chanel", "flap"}, "", "1440:4 30:20*"},
		{"BrandWinsOverCategory", Context{"shoes", "chanel", ""}, "", "1440:4 30:17* 60:8"},
		{"OfferedAgain", Context{"bags", "dior", ""}, "", "1440:4* 30:15 60:8"},
		{"CategoryOnly", Context{"bags", "", ""}, "", "1440:4* 30:15"},
		{"AccountPriceWins", Context{"bags", "chanel", ""}, "account-1", "1440:4 30:1*"},
		{"AccountPriceZero", Context{"shoes", "chanel", ""}, "account-1", "1440:4 30:1* 60:0"},
		{"AccountByIdNotByName", Context{"shoes", "chanel", ""}, "Acme", "1440:4 30:17* 60:8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, at := range s.AnswerTimes(test.context, test.account) {
				got = append(got, fmt.Sprintf("%d:%d%s", at.Code, at.Price, mark("*", at.Default)))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %v, want %s", got, test.want)
			}
		})
	}
	if doc := s.Document(); doc.AnswerTimes[1].Price != 12 || doc.AnswerTimes[1].Default {
		t.Error("resolving changed the document")
	}
	if got := s.AnswerTimes(Context{"bags", "chanel", ""}, "")[0].Name.JA; got != "一日" {
		t.Errorf("the Japanese name is %q", got)
	}
}

func mark(sign string, given bool) string {
	if given {
		return sign
	}
	return ""
}

func TestAvailability(t *testing.T) {
	office := window(t, "Asia/Tokyo", "mon, tue, wed, thu, fri", "09:00", "18:00")
	opened, closed := "2026-01-05T17:00:00+09:00", "2026-01-05T19:00:00+09:00"
	opening := "2026-01-06T09:00:00+09:00"
	tests := []struct {
		name      string
		open      *Window
		most      int
		now       string
		orders    int
		due       string
		available bool
		next      string
	}{
		{"NoLimits", nil, 0, closed, 1000, closed, true, ""},
		{"Open", office, 0, opened, 1000, "", true, ""},
		{"Closed", office, 0, closed, 0, "", false, opening},
		{"BelowCapacity", nil, 2, opened, 1, "2026-01-05T17:30:00+09:00", true, ""},
		{"AtCapacity", nil, 2, opened, 2, "2026-01-05T17:30:00+09:00", false, "2026-01-05T17:30:00+09:00"},
		{"OverCapacity", nil, 2, opened, 3, "2026-01-05T17:30:00+09:00", false, "2026-01-05T17:30:00+09:00"},
		{"AtCapacityNothingKnown", nil, 2, opened, 2, "", false, ""},
		{"AtCapacityOverdue", nil, 2, opened, 2, "2026-01-05T16:59:59+09:00", false, ""},
		{"OpenAtCapacity", office, 2, opened, 2, "2026-01-05T17:30:00+09:00", false, "2026-01-05T17:30:00+09:00"},
		{"OpenAtCapacityDueAfterClosing", office, 2, opened, 2, "2026-01-05T18:30:00+09:00", false, opening},
		{"ClosedAtCapacity", office, 2, closed, 2, "2026-01-05T19:30:00+09:00", false, opening},
		{"ClosedBelowCapacity", office, 2, closed, 0, "", false, opening},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			load := Load{OpenOrders: test.orders}
			if test.due != "" {
				load.EarliestDue = at(t, test.due)
			}
			available, next := Availability(&AnswerTime{
				Code: 30, Open: test.open, MaxOpenOrders: test.most,
			}, at(t, test.now), load)
			if available != test.available {
				t.Errorf("available is %t", available)
			}
			switch {
			case test.next == "" && next != nil:
				t.Errorf("next is %s, want none", next)
			case test.next != "" && (next == nil || !next.Equal(at(t, test.next))):
				t.Errorf("next is %v, want %s", next, test.next)
			}
		})
	}
}

func TestOffers(t *testing.T) {
	now := at(t, "2026-01-05T12:00:00Z")
	due := now.Add(time.Minute)
	offers := Offers([]*AnswerTime{
		{Code: 30, MaxOpenOrders: 1},
		{Code: 60, MaxOpenOrders: 1},
		{Code: 90},
	}, now, map[int]Load{30: {OpenOrders: 1, EarliestDue: due}, 90: {Paused: true}})
	if offers[0].Available || offers[0].NextAvailableAt == nil || !offers[0].NextAvailableAt.Equal(due) {
		t.Errorf("the full one: %+v", offers[0])
	}
	if !offers[1].Available || offers[1].NextAvailableAt != nil {
		t.Errorf("the free one: %+v", offers[1])
	}
	if offers[2].Available || offers[2].NextAvailableAt != nil {
		t.Errorf("the paused one: %+v", offers[2])
	}
}

func TestDefaultAnswerTime(t *testing.T) {
	offer := func(code int, suggested, available bool) Offer {
		return Offer{AnswerTime: &AnswerTime{Code: code, Default: suggested}, Available: available}
	}
	tests := []struct {
		name   string
		offers []Offer
		want   int // zero: none
	}{
		{"Default", []Offer{offer(1440, false, true), offer(60, true, true), offer(30, false, true)}, 60},
		{
			"DefaultUnavailable", []Offer{
				offer(30, false, true), offer(1440, false, true), offer(60, true, false), offer(2880, false, false),
			}, 1440,
		},
		{"NoDefault", []Offer{offer(30, false, true), offer(60, false, true)}, 60},
		{"NoneAvailable", []Offer{offer(30, true, false)}, 0},
		{"NoneOffered", nil, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := 0
			if at := DefaultAnswerTime(test.offers); at != nil {
				got = at.Code
			}
			if got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
