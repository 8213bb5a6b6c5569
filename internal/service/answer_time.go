package service

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/store"
)

// Offers returns the answer times of a context for an account, with their availability now.
func (s *Service) Offers(
	ctx context.Context, snap *catalog.Snapshot, where catalog.Context, accountID string,
) ([]catalog.Offer, error) {
	return s.offers(ctx, s.store.Queries, snap.AnswerTimes(where, accountID))
}

// Paused reports whether an administrator has taken the answer time from new orders for the time being.
func (s *Service) Paused(answerTime int) bool {
	paused := s.paused.Load()
	return paused != nil && slices.Contains(*paused, answerTime)
}

// offers reads which options are paused, and how far the capacity of each is used, where it has one.
func (s *Service) offers(ctx context.Context, q store.Queries, options []*catalog.AnswerTime) ([]catalog.Offer, error) {
	var loads map[int]catalog.Load
	for _, option := range options {
		load := catalog.Load{Paused: s.Paused(option.Code)}
		switch {
		case load.Paused:
		case option.MaxOpenOrders == 0:
			continue
		default:
			var err error
			if load, err = q.OpenOrders(ctx, option.Code, option.MaxOpenOrders); err != nil {
				return nil, err
			}
		}
		if loads == nil {
			loads = make(map[int]catalog.Load)
		}
		loads[option.Code] = load
	}
	return catalog.Offers(options, s.now(), loads), nil
}

// Quote is what an order would choose and cost now.
type Quote struct {
	Offers     []catalog.Offer
	Indexes    []*catalog.PhotoIndex
	AnswerTime *catalog.AnswerTime // nil: none is available
	DueAt      *time.Time
	Affordable bool
}

// Quote tells the price, the availability and the photo indexes of an item, without creating anything. requested is an
// answer time, 0 for the one that a creation would choose. It refuses what a creation would refuse.
func (s *Service) Quote(
	ctx context.Context, actor access.Actor, categoryCode, brandCode, modelCode string, requested int,
) (*Quote, error) {
	snap := s.Catalog()
	where := catalog.Context{Category: categoryCode, Brand: brandCode, Model: modelCode}
	err := snap.Check(where)
	if err != nil {
		return nil, err
	}
	q := &Quote{Indexes: snap.PhotoIndexes(where)}
	if q.Offers, err = s.Offers(ctx, snap, where, actor.Tenant.AccountID); err != nil {
		return nil, err
	}
	if requested == 0 {
		q.AnswerTime = catalog.DefaultAnswerTime(q.Offers)
	} else if q.AnswerTime = availableOffer(q.Offers, requested); q.AnswerTime == nil {
		return nil, answerTimeUnavailable(q.Offers, requested)
	}
	if q.AnswerTime == nil {
		return q, nil
	}
	q.DueAt = new(s.now().Add(time.Duration(q.AnswerTime.Code) * time.Minute))
	credits, err := s.Balance(ctx, actor.Tenant)
	q.Affordable = credits >= q.AnswerTime.Price
	return q, err
}

// availableOffer returns the answer time with the code, or nil when it cannot be ordered now.
func availableOffer(offers []catalog.Offer, code int) *catalog.AnswerTime {
	for i := range offers {
		if offers[i].Code == code && offers[i].Available {
			return offers[i].AnswerTime
		}
	}
	return nil
}

// chooseAnswerTime returns the answer time that the order gets: the requested one, or the default, or else the slowest
// that is available now.
func (s *Service) chooseAnswerTime(
	ctx context.Context, snap *catalog.Snapshot, where catalog.Context, accountID string, requested int,
) (*catalog.AnswerTime, error) {
	options := snap.AnswerTimes(where, accountID)
	// Most orders get the first choice; how far the others are taken is not read for them.
	for _, option := range options {
		if option.Code != requested && (requested != 0 || !option.Default) {
			continue
		}
		if first, err := s.offers(ctx, s.store.Queries, []*catalog.AnswerTime{option}); err != nil || first[0].Available {
			return option, err
		}
	}
	offers, err := s.offers(ctx, s.store.Queries, options)
	if err != nil {
		return nil, err
	}
	if requested == 0 {
		if chosen := catalog.DefaultAnswerTime(offers); chosen != nil {
			return chosen, nil
		}
	}
	if chosen := availableOffer(offers, requested); chosen != nil {
		return chosen, nil
	}
	return nil, answerTimeUnavailable(offers, requested)
}

const codeAnswerTime = "answer-time-unavailable"

// answerTimeUnavailable tells what can be ordered instead, and when the requested time opens again; without a requested
// one, when the first of all does.
func answerTimeUnavailable(offers []catalog.Offer, requested int) error {
	available := []int{}
	var next *time.Time
	for i := range offers {
		o := &offers[i]
		if o.Available {
			available = append(available, o.Code)
		}
		opens := o.NextAvailableAt // nil: not known
		if (requested == 0 || o.Code == requested) && opens != nil && (next == nil || opens.Before(*next)) {
			next = opens
		}
	}
	message := "No answer time is available now."
	if requested != 0 {
		message = fmt.Sprintf("The answer time %d is not available now.", requested)
	}
	return fault.New(fault.Invalid, codeAnswerTime, message).
		With("available_answer_times", available).With("next_available_at", wire.OptionalTimestamp(next))
}

// capacityCheck returns how to count again inside the transaction, for an answer time with a capacity: Live creations
// of it run one after the other, so that no two of them take the last place. It is nil for the other ones.
func (s *Service) capacityCheck(ctx context.Context, d *checkedDraft, tenant access.Tenant) func(*store.Tx) error {
	t := d.answerTime
	if t.MaxOpenOrders == 0 || tenant.Environment != access.Live {
		return nil
	}
	return func(tx *store.Tx) error {
		if err := tx.LockAnswerTime(t.Code); err != nil {
			return err
		}
		offers, err := s.offers(ctx, tx.Queries, d.snap.AnswerTimes(d.where, tenant.AccountID))
		if err != nil {
			return err
		}
		if availableOffer(offers, t.Code) != nil {
			return nil
		}
		return answerTimeUnavailable(offers, d.AnswerTime)
	}
}

// Pauses returns which answer times are paused, by code.
func (s *Service) Pauses(ctx context.Context, actor access.Actor) (map[int]catalog.Pause, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	return s.store.AnswerTimePauses(ctx)
}

// PauseAnswerTime takes an answer time of the catalog from new orders, on every node within a second, until it is
// resumed. Orders that have it are not touched.
func (s *Service) PauseAnswerTime(ctx context.Context, actor access.Actor, code int) error {
	if err := actor.Require(access.Administer); err != nil {
		return err
	}
	times := s.Catalog().Document().AnswerTimes
	if !slices.ContainsFunc(times, func(t catalog.AnswerTime) bool { return t.Code == code }) {
		return fault.Missing("answer time")
	}
	return s.changePause(ctx, actor, audit.AnswerTimePaused, code, func(tx *store.Tx) error {
		return tx.PauseAnswerTime(code, actor.ID, s.now())
	})
}

// ResumeAnswerTime gives an answer time back to new orders.
func (s *Service) ResumeAnswerTime(ctx context.Context, actor access.Actor, code int) error {
	if err := actor.Require(access.Administer); err != nil {
		return err
	}
	return s.changePause(
		ctx, actor, audit.AnswerTimeResumed, code, func(tx *store.Tx) error { return tx.ResumeAnswerTime(code) },
	)
}

func (s *Service) changePause(
	ctx context.Context, actor access.Actor, what audit.ActionCode, code int, f func(*store.Tx) error,
) error {
	if err := s.store.Update(ctx, func(tx *store.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		minutes := strconv.Itoa(code)
		return s.recordStaffAction(
			tx, actor,
			audit.Action{Code: what, Target: audit.ActionTarget{Type: audit.ActionTargetAnswerTime, ID: minutes, Name: minutes}},
		)
	}); err != nil {
		return err
	}
	s.onChange(CatalogChange)
	return s.RefreshCatalog(ctx)
}
