package catalog

import "time"

// AnswerTimes returns the answer times that are offered in a context from Check, in display order, with the prices
// for an account. The account's own price wins over every rule.
func (s *Snapshot) AnswerTimes(c Context, accountID string) []*AnswerTime {
	c.Model = "" // answer times are chosen by category and brand
	matching := c.matching()
	agreed := s.agreed[accountID]
	times := make([]*AnswerTime, 0, len(s.document.AnswerTimes))
	for _, t := range s.document.AnswerTimes {
		offered := true
		for _, context := range matching {
			rule := s.timeRules[timeKey{t.Code, context}]
			if rule == nil {
				continue
			}
			if rule.Price != nil {
				t.Price = *rule.Price
			}
			if rule.Offered != nil {
				offered = *rule.Offered
			}
			if rule.Default != nil {
				t.Default = *rule.Default
			}
		}
		if price, ok := agreed[t.Code]; ok {
			t.Price = price
		}
		if offered {
			times = append(times, &t)
		}
	}
	return times
}

// Load is what stands against ordering an answer time now, beside its window: an operator, or the orders that use its
// capacity.
type Load struct {
	Paused      bool      // an operator has taken it from new orders for the time being
	OpenOrders  int       // Live orders of the answer time that are queued or processing, over all accounts
	EarliestDue time.Time // the earliest due date among them; zero when there is none
}

// Availability tells whether an answer time can be ordered now and, if not, when it can be as far as is known: at
// the next opening while the window is closed, and else, when only the capacity is used up, at the earliest due
// date of the orders that hold it. A due date that has passed tells nothing; one outside the window means the
// opening after it. Nothing is known of the end of a pause.
func Availability(at *AnswerTime, now time.Time, load Load) (available bool, next *time.Time) {
	if load.Paused {
		return false, nil
	}
	if at.Open != nil && !at.Open.OpenAt(now) {
		return false, known(at.Open.NextOpening(now))
	}
	if at.MaxOpenOrders == 0 || load.OpenOrders < at.MaxOpenOrders {
		return true, nil
	}
	if !load.EarliestDue.After(now) {
		return false, nil
	}
	if at.Open != nil {
		return false, known(at.Open.NextOpening(load.EarliestDue))
	}
	return false, known(load.EarliestDue)
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Offer is an answer time and whether it can be ordered now.
type Offer struct {
	*AnswerTime
	Available       bool
	NextAvailableAt *time.Time // nil when it is available or nothing is known
}

// Offers adds availability to answer times. The loads are by code; a code that is not in it has no open orders.
func Offers(times []*AnswerTime, now time.Time, loads map[int]Load) []Offer {
	offers := make([]Offer, len(times))
	for i, at := range times {
		offers[i].AnswerTime = at
		offers[i].Available, offers[i].NextAvailableAt = Availability(at, now, loads[at.Code])
	}
	return offers
}

// DefaultAnswerTime picks the answer time of an order that names none: the default if it is available, else the slowest
// one that is. It returns nil when none is.
func DefaultAnswerTime(offers []Offer) *AnswerTime {
	var slowest *AnswerTime
	for _, offer := range offers {
		switch {
		case !offer.Available:
		case offer.Default:
			return offer.AnswerTime
		case slowest == nil || offer.Code > slowest.Code:
			slowest = offer.AnswerTime
		}
	}
	return slowest
}
