package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/store"
)

// CreateOrder accepts an order of an API key, charges it and, in Test, brings it to its simulated state, in one
// transaction. It returns the answer as it is stored under the idempotency key; idem is nil without one. The rules are
// checked in the order that integrators are told.
func (s *Service) CreateOrder(
	ctx context.Context, actor access.Actor, d *order.Draft, idem *Idempotent,
) ([]byte, error) {
	if err := actor.Require(access.ManageOrders); err != nil {
		return nil, err
	}
	tenant := actor.Tenant
	if err := d.CheckMock(tenant.Environment); err != nil {
		return nil, err
	}
	snap := s.Catalog()
	where, err := snap.Check(d.CategoryCode, d.BrandCode, d.ModelCode)
	if err != nil {
		return nil, err
	}
	indexes := snap.PhotoIndexes(where)
	if err := d.CheckIndexes(indexes); err != nil {
		return nil, err
	}
	photos, err := s.draftPhotos(d)
	if err != nil {
		return nil, err
	}
	refusal := d.CheckCounts(indexes)
	var answerTime *catalog.AnswerTime
	if refusal == nil {
		answerTime, refusal = s.chooseAnswerTime(ctx, snap, where, tenant.AccountID, d.AnswerTime)
	}
	if refusal != nil {
		return nil, s.afterPhotos(ctx, tenant, photos, refusal)
	}
	o := s.newOrder(actor, d, snap, where, answerTime)
	if tenant.Environment == access.Test {
		o.Simulate(d.Mock, snap, indexes, photos, o.CreatedAt)
	}
	var answer []byte
	lowBalance := false
	group := tenant.AccountID + " " + string(tenant.Environment)
	capacity := s.capacityCheck(ctx, snap, where, tenant, answerTime)
	if capacity != nil { // so that no transaction holds the rows of two answer times
		group += " " + strconv.Itoa(answerTime.Code)
	}
	err = s.store.CreateOrder(ctx, group, &store.Creation{
		Order: o, Photos: photos, KeyName: actor.Name, Idempotency: idem.stored(o.CreatedAt), Before: capacity,
		Answer: func() (_ []byte, err error) {
			answer, err = json.Marshal(o.Receipt())
			return answer, err
		},
		After: func(c store.Charge) func(*store.Tx) error {
			lowBalance = s.crossedLowBalance(tenant.Environment, c)
			return s.afterCreation(ctx, o, lowBalance, c)
		},
	})
	if unknown, ok := errors.AsType[*store.UnknownPhotoError](err); ok {
		return nil, photo.Unsupported(draftField(unknown.Position), "")
	}
	switch {
	case errors.Is(err, store.ErrExists):
		return nil, errRepeated
	case fault.CodeOf(err) == codeAnswerTime:
		return nil, s.afterPhotos(ctx, tenant, photos, err)
	case err != nil:
		return nil, err
	}
	if tenant.Environment == access.Test {
		s.onDeliveries()
	} else {
		s.onPhotos(tenant.AccountID, photoNames(photos))
	}
	if lowBalance {
		s.WakeMail()
	}
	return answer, nil
}

// afterPhotos returns a refusal, unless a photo is not the account's: that goes before.
func (s *Service) afterPhotos(
	ctx context.Context, tenant access.Tenant, photos []order.Photo, refusal error,
) error {
	known, err := s.store.KnownPhotos(ctx, tenant, photoNames(photos))
	if err == nil {
		err = checkKnown(photos, known, draftField)
	}
	return cmp.Or(err, refusal)
}

// afterCreation returns what follows from a creation beside its rows, nil where that is nothing: a mail to the owners
// when the balance is low, and the result of a Test order.
func (s *Service) afterCreation(
	ctx context.Context, o *order.Order, lowBalance bool, c store.Charge,
) func(*store.Tx) error {
	switch {
	case lowBalance:
		return func(tx *store.Tx) error { return s.tellLowBalance(tx, o.AccountID, c) }
	case o.Status != order.Queued:
		return func(tx *store.Tx) error { return s.afterMove(ctx, tx, o, access.System, nil) }
	}
	return nil
}

// crossedLowBalance reports whether a charge took the Live balance below the limit that the owners want to be told of.
func (s *Service) crossedLowBalance(env access.Environment, c store.Charge) bool {
	return env == access.Live && credit.FellBelow(c.Before, c.Credits, c.LowCredits) && s.SendsMail()
}

func (s *Service) newOrder(
	actor access.Actor, d *order.Draft, snap *catalog.Snapshot, where catalog.Context, t *catalog.AnswerTime,
) *order.Order {
	now := s.now()
	due := now.Add(time.Duration(t.Code) * time.Minute)
	return &order.Order{
		ID: store.NewIDAt(now), AccountID: actor.Tenant.AccountID, Environment: actor.Tenant.Environment, APIKeyID: actor.ID,
		ExternalID: d.ExternalID, Status: order.Queued, AnswerTime: t.Code, Price: t.Price, DueAt: &due,
		CreatedAt: now, UpdatedAt: now, Recorded: order.Recorded{Classification: classify(snap, where)},
	}
}

func classify(snap *catalog.Snapshot, where catalog.Context) order.Classification {
	c := order.Classification{CategoryCode: where.Category, BrandCode: where.Brand, ModelCode: where.Model}
	if x := snap.Category(where.Category); x != nil {
		c.CategoryName = x.Name
	}
	if x := snap.Brand(where.Brand); x != nil {
		c.BrandName = x.Name
	}
	if x := snap.Model(where.Model); x != nil {
		name := x.Name
		c.ModelName = &name
	}
	return c
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
	for i := range offers {
		if offers[i].Code == requested && offers[i].Available {
			return offers[i].AnswerTime, nil
		}
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
		if (requested == 0 || o.Code == requested) && earlier(o.NextAvailableAt, next) {
			next = o.NextAvailableAt
		}
	}
	message := "No answer time is available now."
	if requested != 0 {
		message = fmt.Sprintf("The answer time %d is not available now.", requested)
	}
	return fault.New(fault.Invalid, codeAnswerTime, message).
		With("available_answer_times", available).With("next_available_at", order.At(next))
}

// earlier reports whether a known time is before another, which may be unknown.
func earlier(t, other *time.Time) bool {
	return t != nil && (other == nil || t.Before(*other))
}

// capacityCheck returns how to count again inside the transaction, for an answer time with a capacity: Live creations
// of it run one after the other, so that no two of them take the last place. It is nil for the other ones.
func (s *Service) capacityCheck(
	ctx context.Context, snap *catalog.Snapshot, where catalog.Context, tenant access.Tenant, t *catalog.AnswerTime,
) func(*store.Tx) error {
	if t.MaxOpenOrders == 0 || tenant.Environment != access.Live {
		return nil
	}
	return func(tx *store.Tx) error {
		if err := tx.LockAnswerTime(t.Code); err != nil {
			return err
		}
		offers, err := s.offers(ctx, tx.Queries, snap.AnswerTimes(where, tenant.AccountID))
		if err != nil {
			return err
		}
		for i := range offers {
			if offers[i].Code == t.Code && offers[i].Available {
				return nil
			}
		}
		return answerTimeUnavailable(offers, t.Code)
	}
}

// draftPhotos returns the managed names of the draft's URLs, or refuses the first that is not managed.
func (s *Service) draftPhotos(d *order.Draft) ([]order.Photo, error) {
	photos := make([]order.Photo, len(d.Photos))
	for i, p := range d.Photos {
		name, ok := s.mediaURLs.Parse(p.URL)
		if !ok {
			return nil, photo.Unsupported(draftField(i), p.URL)
		}
		photos[i] = order.Photo{Name: name, IndexCode: p.IndexCode}
	}
	return photos, nil
}

// checkKnown refuses the first photo that the account does not have in this environment.
func checkKnown(photos []order.Photo, known map[string]bool, field func(int) string) error {
	for i, p := range photos {
		if p.Name != "" && !known[p.Name] {
			return photo.Unsupported(field(i), "")
		}
	}
	return nil
}

func draftField(i int) string { return fmt.Sprintf("photos[%d].url", i) }

// photoNames returns each name once.
func photoNames(photos []order.Photo) []string {
	names := make([]string, 0, len(photos))
	seen := make(map[string]bool, len(photos))
	for _, p := range photos {
		if p.Name != "" && !seen[p.Name] {
			seen[p.Name] = true
			names = append(names, p.Name)
		}
	}
	return names
}
