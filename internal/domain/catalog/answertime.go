package catalog

import "time"

// AnswerTimes returns the answer times offered in a context from Check, in display order, with the prices for an
// account. A price agreed with the account overrides every rule.
func (s *Snapshot) AnswerTimes(c Context, accountID string) []*AnswerTime {
	c.Model = "" // answer times are chosen by category and brand
	var rules []*AnswerTimeRule
	for _, context := range c.matching() {
		rules = append(rules, s.timeRules[context]...)
	}
	agreed := s.agreed[accountID]
	times := make([]*AnswerTime, 0, len(s.document.AnswerTimes))
	for _, t := range s.document.AnswerTimes {
		offered := true
		for _, rule := range rules {
			if rule.Code != t.Code {
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

// Load is what limits an answer time besides its opening hours: a pause by an administrator, and the open orders
// that use its capacity.
type Load struct {
	Paused      bool      // an administrator has paused it for new orders
	OpenOrders  int       // Live orders of the answer time that are queued or processing, over all accounts
	EarliestDue time.Time // the earliest due date among them; zero when there is none
}

// Availability reports whether an answer time can be ordered now and, if not, when it probably can: at the next
// opening while the window is closed; at the earliest due date of the open orders when the capacity is used up (or
// at the first opening after it). next is nil if that is unknown: the due date has passed, or the answer time is
// paused.
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

// Offers adds availability to answer times. loads is keyed by code; a missing code means no open orders.
func Offers(times []*AnswerTime, now time.Time, loads map[int]Load) []Offer {
	offers := make([]Offer, len(times))
	for i, at := range times {
		offers[i].AnswerTime = at
		offers[i].Available, offers[i].NextAvailableAt = Availability(at, now, loads[at.Code])
	}
	return offers
}

// DefaultAnswerTime returns the answer time of an order that does not choose one: the default if it is available,
// otherwise the slowest available one, otherwise nil.
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
