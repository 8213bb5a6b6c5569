package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// Created is an order that was created, and what its creator is told.
type Created struct {
	OrderID  string
	Answer   []byte // an order.Receipt as JSON, as it is stored under the idempotency key
	Replayed bool   // it was created by an earlier request with the same idempotency key
}

// CreateOrder accepts an order of an API key, charges it and, in Test, brings it to its simulated state, in one
// transaction; idem is nil without an idempotency key. Of a creation that fails, FirstAnswer tells whether its key was
// used. The rules are checked in the order that integrators are told.
func (s *Service) CreateOrder(
	ctx context.Context, actor access.Actor, draft *order.Draft, idem *Idempotent,
) (Created, error) {
	if err := actor.Require(access.ManageOrders); err != nil {
		return Created{}, err
	}
	for tries := 1; ; tries++ {
		d, err := s.checkDraft(ctx, actor.Tenant, draft)
		if err != nil {
			return Created{}, err
		}
		created, err := s.createChecked(ctx, actor, d, idem)
		if draft.AnswerTime != 0 || fault.CodeOf(err) != codeAnswerTime || tries == maxTries {
			return created, err
		}
		// Another order has taken the last place of the answer time that was chosen: the next one is.
	}
}

// maxTries is how often an answer time is chosen for an order: each time another order was faster.
const maxTries = 10

// createChecked creates the order of a draft that breaks no rule.
func (s *Service) createChecked(
	ctx context.Context, actor access.Actor, d *checkedDraft, idem *Idempotent,
) (Created, error) {
	tenant := actor.Tenant
	o := s.newOrder(actor, d)
	if tenant.Environment == access.Test {
		o.Simulate(d.Mock, d.snap, d.indexes, d.photos, o.CreatedAt)
	}
	var answer []byte
	lowBalance := false
	group := tenant.AccountID + " " + string(tenant.Environment)
	capacity := s.capacityCheck(ctx, d, tenant)
	if capacity != nil { // so that no transaction holds the rows of two answer times
		group += " " + strconv.Itoa(o.AnswerTime)
	}
	err := s.store.CreateOrder(ctx, group, &store.Creation{
		Order: o, Photos: d.photos, KeyName: actor.Name, Idempotency: idem.stored(), Before: capacity,
		Answer: func() (_ []byte, err error) {
			answer, err = json.Marshal(o.Receipt())
			return answer, err
		},
		After: func(c store.Charge) func(*store.Tx) error {
			// A mail to the owners when the balance is low, and the result of a Test order.
			lowBalance = tenant.Environment == access.Live && credit.FellBelow(c.Before, c.Credits, c.LowCredits) &&
				s.SendsMail()
			switch {
			case lowBalance:
				return func(tx *store.Tx) error { return s.notifyLowBalance(tx, o.AccountID, c) }
			case o.Status != order.Queued:
				return func(tx *store.Tx) error { return s.afterMove(ctx, tx, o, access.System, nil) }
			}
			return nil
		},
	})
	if unknown, ok := errors.AsType[*store.UnknownPhotoError](err); ok {
		return Created{}, photo.Unsupported(photoField(unknown.Position), "")
	}
	switch {
	case errors.Is(err, store.ErrExists):
		return Created{}, errRepeated
	case fault.CodeOf(err) == codeAnswerTime:
		return Created{}, s.refuseDraft(ctx, tenant, d.photos, err)
	case err != nil:
		return Created{}, err
	}
	if tenant.Environment == access.Test {
		s.onDeliveries()
	} else {
		s.onPhotos(tenant.AccountID, photoNames(d.photos))
	}
	if lowBalance {
		s.wakeMail()
	}
	return Created{OrderID: o.ID, Answer: answer}, nil
}

// checkedDraft is a draft that breaks no rule, with what it refers to.
type checkedDraft struct {
	*order.Draft
	snap       *catalog.Snapshot
	where      catalog.Context
	indexes    []*catalog.PhotoIndex
	photos     []order.Photo
	answerTime *catalog.AnswerTime
}

func (s *Service) checkDraft(ctx context.Context, tenant access.Tenant, draft *order.Draft) (*checkedDraft, error) {
	if err := draft.CheckPhotos(); err != nil {
		return nil, err
	}
	if err := draft.CheckMock(tenant.Environment); err != nil {
		return nil, err
	}
	d := &checkedDraft{
		Draft: draft, snap: s.Catalog(),
		where: catalog.Context{Category: draft.CategoryCode, Brand: draft.BrandCode, Model: draft.ModelCode},
	}
	err := d.snap.Check(d.where)
	if err != nil {
		return nil, err
	}
	d.indexes = d.snap.PhotoIndexes(d.where)
	if err := d.CheckIndexes(d.indexes); err != nil {
		return nil, err
	}
	if d.photos, err = s.draftPhotos(draft); err != nil {
		return nil, err
	}
	refusal := d.CheckCounts(d.indexes)
	if refusal == nil {
		d.answerTime, refusal = s.chooseAnswerTime(ctx, d.snap, d.where, tenant.AccountID, d.AnswerTime)
	}
	if refusal != nil {
		return nil, s.refuseDraft(ctx, tenant, d.photos, refusal)
	}
	return d, nil
}

// refuseDraft returns a refusal, unless a photo is not the account's: that goes before.
func (s *Service) refuseDraft(
	ctx context.Context, tenant access.Tenant, photos []order.Photo, refusal error,
) error {
	known, err := s.store.KnownPhotos(ctx, tenant, photoNames(photos))
	if err == nil {
		err = checkKnownPhotos(photos, known)
	}
	return cmp.Or(err, refusal)
}

func (s *Service) newOrder(actor access.Actor, d *checkedDraft) *order.Order {
	now := s.now()
	due := now.Add(time.Duration(d.answerTime.Code) * time.Minute)
	return &order.Order{
		ID: uuid7.NewAt(now), AccountID: actor.Tenant.AccountID, Environment: actor.Tenant.Environment, APIKeyID: actor.ID,
		ExternalID: d.ExternalID, Status: order.Queued, AnswerTime: d.answerTime.Code, Price: d.answerTime.Price, DueAt: &due,
		CreatedAt: now, UpdatedAt: now, Recorded: order.Recorded{Classification: classify(d.snap, d.where)},
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

// draftPhotos returns the managed names of the draft's URLs, or refuses the first that is not managed.
func (s *Service) draftPhotos(d *order.Draft) ([]order.Photo, error) {
	photos := make([]order.Photo, len(d.Photos))
	for i, p := range d.Photos {
		name, ok := s.mediaURLs.Parse(p.URL)
		if !ok {
			return nil, photo.Unsupported(photoField(i), p.URL)
		}
		photos[i] = order.Photo{Name: name, IndexCode: p.IndexCode}
	}
	return photos, nil
}

// checkKnownPhotos refuses the first photo that the account does not have in this environment.
func checkKnownPhotos(photos []order.Photo, known map[string]bool) error {
	for i, p := range photos {
		if p.Name != "" && !known[p.Name] {
			return photo.Unsupported(photoField(i), "")
		}
	}
	return nil
}

func photoField(i int) string { return fmt.Sprintf("photos[%d].url", i) }

// photoNames returns each name once.
func photoNames(photos []order.Photo) []string {
	names := make([]string, 0, len(photos))
	for _, p := range photos {
		if p.Name != "" && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Idempotent is one creation under an idempotency key; nil is a creation without one.
type Idempotent struct {
	scope    idempotencyKey
	bodyHash string
	since    time.Time // an answer from before it is forgotten
	end      func()
}

// idempotencyKey is a key of an account and environment.
type idempotencyKey struct {
	access.Tenant
	key string
}

// BeginIdempotent takes a key for a request with a body, or refuses it while another one with the key runs on this
// node. The caller calls End when its request is over. What the key stands for is looked up by the creation itself.
func (s *Service) BeginIdempotent(tenant access.Tenant, key string, body []byte) (*Idempotent, error) {
	scope := idempotencyKey{tenant, key}
	if _, running := s.running.LoadOrStore(scope, nil); running {
		return nil, fault.New(fault.Conflict, "request-in-progress",
			"Another request with this Idempotency-Key is still running.")
	}
	sum := sha256.Sum256(body)
	return &Idempotent{
		scope: scope, bodyHash: hex.EncodeToString(sum[:]), since: s.now().Add(-order.IdempotencyWindow),
		end: func() { s.running.Delete(scope) },
	}, nil
}

// FirstAnswer is for a creation that failed. A key that was used stands for its first request, so that all else about a
// second one does not matter: FirstAnswer returns the answer to the first where the bodies are equal, a refusal where
// they are not, and the failure where the key was not used.
func (s *Service) FirstAnswer(ctx context.Context, i *Idempotent, failure error) (Created, error) {
	if i == nil {
		return Created{}, failure
	}
	first, err := s.store.Remembered(ctx, i.scope.Tenant, i.scope.key, i.since)
	kind := fault.KindOf(failure)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Created{}, failure
	case err != nil && (kind == fault.Internal || kind == fault.Unavailable):
		return Created{}, failure
	case err != nil: // whether the refusal matters is not known
		return Created{}, err
	case first.BodyHash != i.bodyHash:
		return Created{}, errOtherBody
	}
	answer := []byte(first.Answer)
	id, err := order.ReceiptID(answer)
	return Created{OrderID: id, Answer: answer, Replayed: true}, err
}

var errOtherBody = fault.BadRequest("This Idempotency-Key was used with another body; a key stands for one request.").
	With("field", "Idempotency-Key")

// End lets the next request with the key in.
func (i *Idempotent) End() {
	if i != nil {
		i.end()
	}
}

// stored is how the answer is remembered, in the transaction of the creation, which fails when the key was used.
func (i *Idempotent) stored() *store.Idempotency {
	if i == nil {
		return nil
	}
	return &store.Idempotency{Key: i.scope.key, BodyHash: i.bodyHash, Since: i.since}
}

// errRepeated ends a creation whose key was used before.
var errRepeated = fault.New(fault.Conflict, "request-in-progress",
	"Another request with this Idempotency-Key has just run. Repeat the request to read its answer.")
