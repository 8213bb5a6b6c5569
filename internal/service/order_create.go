package service

import (
	"context"
	"encoding/json"
	"fmt"
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
	if refusal != nil { // a photo that is not the account's goes before
		known, err := s.store.KnownPhotos(ctx, tenant, photoNames(photos))
		if err != nil {
			return nil, err
		}
		if err := checkKnown(photos, known, draftField); err != nil {
			return nil, err
		}
		return nil, refusal
	}

	var answer []byte
	lowBalance := false
	err = s.store.UpdateTogether(ctx, commitGroup(tenant, answerTime), func(tx *store.Tx) error {
		known, err := tx.UsePhotos(tenant, photoNames(photos))
		if err != nil {
			return err
		}
		if err := checkKnown(photos, known, draftField); err != nil {
			return err
		}
		if err := s.checkCapacity(ctx, tx, snap, where, tenant, answerTime); err != nil {
			return err
		}
		o := s.newOrder(actor, d, snap, where, answerTime)
		charge, err := tx.ChargeForOrder(tenant.AccountID, tenant.Environment, o.ID, o.Price, o.CreatedAt)
		if err != nil {
			return err
		}
		o.Seq = charge.OrderSeq
		if lowBalance = s.crossedLowBalance(tenant.Environment, charge); lowBalance {
			if err := s.tellOwners(tx, tenant.AccountID, charge); err != nil {
				return err
			}
		}
		if tenant.Environment == access.Test {
			o.Simulate(d.Mock, snap, indexes, photos, o.CreatedAt)
		}
		if err := s.insertOrder(ctx, tx, actor, o, photos); err != nil {
			return err
		}
		if answer, err = json.Marshal(o.Receipt()); err != nil {
			return err
		}
		return idem.remember(tx, tenant, string(answer), o.CreatedAt)
	})
	if err != nil {
		return nil, err
	}
	if tenant.Environment == access.Test {
		s.onDeliveries()
	} else {
		s.onPhotos(photoNames(photos))
	}
	if lowBalance {
		s.WakeMail()
	}
	return answer, nil
}

// crossedLowBalance reports whether a charge took the Live balance below the limit that the owners want to be told of.
func (s *Service) crossedLowBalance(env access.Environment, c store.Charge) bool {
	return env == access.Live && credit.FellBelow(c.Before, c.Credits, c.LowCredits) && s.SendsMail()
}

// commitGroup names the row that all orders of a tenant change, which are committed together. Orders for an answer time
// with a capacity change a row of that time, too: they have a group of their own, so that no transaction holds the rows
// of two times.
func commitGroup(tenant access.Tenant, t *catalog.AnswerTime) string {
	row := tenant.AccountID + " " + string(tenant.Environment)
	if hasCapacity(tenant.Environment, t) {
		row += fmt.Sprintf(" %d", t.Code)
	}
	return row
}

func hasCapacity(env access.Environment, t *catalog.AnswerTime) bool {
	return t.MaxOpenOrders > 0 && env == access.Live
}

func (s *Service) newOrder(
	actor access.Actor, d *order.Draft, snap *catalog.Snapshot, where catalog.Context, t *catalog.AnswerTime,
) *order.Order {
	now := s.now()
	due := now.Add(time.Duration(t.Code) * time.Minute)
	return &order.Order{
		ID: store.NewID(), AccountID: actor.Tenant.AccountID, Environment: actor.Tenant.Environment, APIKeyID: actor.ID,
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

// insertOrder writes the order, its photos, its timeline and, when it is no longer queued, its event.
func (s *Service) insertOrder(
	ctx context.Context, tx *store.Tx, actor access.Actor, o *order.Order, photos []order.Photo,
) error {
	if err := tx.InsertOrder(o); err != nil {
		return err
	}
	if err := tx.InsertOrderPhotos(o.ID, 0, photos); err != nil {
		return err
	}
	created := &order.TimelineEntry{At: o.CreatedAt, Event: "created", Actor: actor}
	if err := tx.AppendTimeline(o.ID, created); err != nil {
		return err
	}
	if o.Status == order.Queued {
		return nil
	}
	return s.afterMove(ctx, tx, o, access.System, nil)
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
	return fault.New(fault.Invalid, "answer-time-unavailable", message).
		With("available_answer_times", available).With("next_available_at", order.At(next))
}

// earlier reports whether a known time is before another, which may be unknown.
func earlier(t, other *time.Time) bool {
	return t != nil && (other == nil || t.Before(*other))
}

// checkCapacity counts again inside the transaction for an answer time with a capacity: Live creations of it run one
// after the other, so that no two of them take the last place.
func (s *Service) checkCapacity(
	ctx context.Context, tx *store.Tx, snap *catalog.Snapshot, where catalog.Context, tenant access.Tenant,
	t *catalog.AnswerTime,
) error {
	if !hasCapacity(tenant.Environment, t) {
		return nil
	}
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
