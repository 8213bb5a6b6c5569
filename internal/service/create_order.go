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

// CreateOrder accepts an order, charges it and, with a Test key, brings it to its simulated state, in one transaction.
// It returns the answer as it is remembered under the idempotency key; idem is nil without one. The rules are checked
// in the order that integrators are told.
func (s *Service) CreateOrder(ctx context.Context, k *access.Key, d *order.Draft, idem *Idempotent) ([]byte, error) {
	if err := d.CheckMock(k.Environment); err != nil {
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
		answerTime, refusal = s.chooseAnswerTime(ctx, snap, where, k, d.AnswerTime)
	}
	if refusal != nil { // a photo that is not the account's goes before
		known, err := s.Store.KnownPhotos(ctx, k.AccountID, k.Environment, photoNames(photos))
		if err != nil {
			return nil, err
		}
		if err := checkKnown(photos, known, draftField); err != nil {
			return nil, err
		}
		return nil, refusal
	}

	var answer []byte
	fewCredits := false
	err = s.Store.UpdateTogether(ctx, balanceRow(k, answerTime), func(tx *store.Tx) error {
		known, err := tx.UsePhotos(k.AccountID, k.Environment, photoNames(photos))
		if err != nil {
			return err
		}
		if err := checkKnown(photos, known, draftField); err != nil {
			return err
		}
		if err := s.holdCapacity(ctx, tx, snap, where, k, answerTime); err != nil {
			return err
		}
		o := s.newOrder(k, d, snap, where, answerTime)
		charge, err := tx.ChargeForOrder(k.AccountID, k.Environment, o.ID, o.Price, o.CreatedAt)
		if err != nil {
			return err
		}
		o.Seq = charge.OrderSeq
		if fewCredits = s.fellShort(k, charge); fewCredits {
			if err := s.tellOwners(tx, k.AccountID, charge); err != nil {
				return err
			}
		}
		if k.Environment == access.Test {
			o.Simulate(d.Mock, snap, indexes, photos, o.CreatedAt)
		}
		if err := s.insertOrder(tx, k, o, photos); err != nil {
			return err
		}
		if answer, err = json.Marshal(o.Receipt()); err != nil {
			return err
		}
		return idem.remember(tx, k, string(answer), o.CreatedAt)
	})
	if err != nil {
		return nil, err
	}
	if k.Environment == access.Test {
		s.Outbox()
	} else {
		s.Ordered(photoNames(photos))
	}
	if fewCredits {
		s.WakeMail()
	}
	return answer, nil
}

// fellShort reports whether a charge has to be told to the owners.
func (s *Service) fellShort(k *access.Key, c store.Charge) bool {
	return k.Environment == access.Live && credit.FellBelow(c.Before, c.Credits, c.LowCredits) && s.SendsMail()
}

// balanceRow names the row that all orders of an account and environment change. Orders for an answer time with a capacity
// change a row of that time, too: they gather apart, so that no transaction holds the rows of two times.
func balanceRow(k *access.Key, t *catalog.AnswerTime) string {
	row := k.AccountID + " " + string(k.Environment)
	if takesTurns(k, t) {
		row += fmt.Sprintf(" %d", t.Code)
	}
	return row
}

func takesTurns(k *access.Key, t *catalog.AnswerTime) bool {
	return t.MaxOpenOrders > 0 && k.Environment == access.Live
}

func (s *Service) newOrder(k *access.Key, d *order.Draft, snap *catalog.Snapshot, where catalog.Context, t *catalog.AnswerTime) *order.Order {
	now := s.now()
	due := now.Add(time.Duration(t.Code) * time.Minute)
	return &order.Order{
		ID: store.NewID(), AccountID: k.AccountID, Environment: k.Environment, APIKeyID: k.ID, ExternalID: d.ExternalID,
		Status: order.Queued, AnswerTime: t.Code, Price: t.Price, DueAt: &due, CreatedAt: now, UpdatedAt: now,
		Facts: order.Facts{Classification: classify(snap, where)},
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
func (s *Service) insertOrder(tx *store.Tx, k *access.Key, o *order.Order, photos []order.Photo) error {
	if err := tx.InsertOrder(o); err != nil {
		return err
	}
	if err := tx.InsertOrderPhotos(o.ID, 0, photos); err != nil {
		return err
	}
	created := &store.TimelineEntry{At: o.CreatedAt, Event: "created", Actor: keyActor(k)}
	if err := tx.AppendTimeline(o.ID, created); err != nil {
		return err
	}
	if o.Status == order.Queued {
		return nil
	}
	return s.recordMove(tx, o, order.System, nil)
}

// chooseAnswerTime returns the answer time that the order gets: the requested one, or the default, or else the slowest
// that is available now.
func (s *Service) chooseAnswerTime(ctx context.Context, snap *catalog.Snapshot, where catalog.Context, k *access.Key, requested int) (*catalog.AnswerTime, error) {
	options := snap.AnswerTimes(where, k.AccountID)
	// Most orders get the first choice; how far the others are taken is not read for them.
	for _, option := range options {
		if option.Code != requested && (requested != 0 || !option.Default) {
			continue
		}
		if first, err := s.offers(ctx, s.Store.Queries, []*catalog.AnswerTime{option}); err != nil || first[0].Available {
			return option, err
		}
	}
	offers, err := s.offers(ctx, s.Store.Queries, options)
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

// answerTimeUnavailable tells what can be ordered instead, and when the requested time opens again.
func answerTimeUnavailable(offers []catalog.Offer, requested int) error {
	available := []int{}
	var next *order.Timestamp
	for i := range offers {
		o := &offers[i]
		if o.Available {
			available = append(available, o.Code)
		}
		if o.Code == requested {
			next = order.At(o.NextAvailableAt)
		}
	}
	message := "No answer time is available now."
	if requested != 0 {
		message = fmt.Sprintf("The answer time %d is not available now.", requested)
	}
	return fault.New(fault.Invalid, "answer-time-unavailable", message).With("available_answer_times", available).With("next_available_at", next)
}

// holdCapacity counts again inside the transaction for an answer time with a capacity: Live creations of it take turns,
// so that no two of them take the last place.
func (s *Service) holdCapacity(ctx context.Context, tx *store.Tx, snap *catalog.Snapshot, where catalog.Context, k *access.Key, t *catalog.AnswerTime) error {
	if !takesTurns(k, t) {
		return nil
	}
	if err := tx.TakeAnswerTimeTurn(t.Code); err != nil {
		return err
	}
	offers, err := s.offers(ctx, tx.Queries, snap.AnswerTimes(where, k.AccountID))
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

// draftPhotos turns the draft's URLs into managed names, or refuses the first that is none.
func (s *Service) draftPhotos(d *order.Draft) ([]order.Photo, error) {
	photos := make([]order.Photo, len(d.Photos))
	for i, p := range d.Photos {
		name, ok := s.MediaURLs.Parse(p.URL)
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

func keyActor(k *access.Key) order.Actor {
	return order.Actor{Type: order.ByAPIKey, ID: k.ID, Name: k.Name}
}
