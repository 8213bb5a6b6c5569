package service

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

var errPhotoNotFound = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such photo.").With("entity", "photo")

// Check is what a reviewer has found at the photos of one index.
type Check string

// The marks of a checklist.
const (
	CheckPass       Check = "pass"
	CheckFail       Check = "fail"
	CheckNotVisible Check = "not-visible"
)

// Checks lists every mark.
var Checks = []Check{CheckPass, CheckFail, CheckNotVisible}

// VerdictDraft is what a reviewer has entered for an order and not sent yet.
type VerdictDraft struct {
	Outcome     order.Outcome    `json:"outcome,omitempty"`
	ReasonCodes []string         `json:"reason_codes,omitempty"`
	ReasonText  text.Text        `json:"reason_text,omitzero"`
	IndexCodes  []string         `json:"index_codes,omitempty"`
	Checks      map[string]Check `json:"checks,omitempty"` // by photo index
	Note        string           `json:"note,omitempty"`
}

// maxDraft bounds what one draft takes in the database, in bytes.
const maxDraft = 32 << 10

// SaveVerdictDraft keeps what a reviewer has entered for an order that they may judge. It counts as activity.
func (s *Service) SaveVerdictDraft(ctx context.Context, who *access.Staff, id string, d *VerdictDraft) error {
	id, ok := store.ParseID(id)
	if !ok {
		return errDeskOrderNotFound
	}
	draft, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if len(draft) > maxDraft {
		return fault.New(fault.TooLarge, "form-too-large", "The draft is too large.")
	}
	whole := context.WithoutCancel(ctx)
	return s.Store.Update(ctx, func(tx *store.Tx) error {
		o, err := tx.Order(whole, id)
		if err != nil {
			return deskOrderNotFound(err)
		}
		if err := checkMove(whole, tx, o, order.Complete, who); err != nil {
			return err
		}
		now := s.now()
		if err := tx.TouchClaim(id, who.ID, now, now.Add(-activityGap)); err != nil {
			return err
		}
		return tx.SaveVerdictDraft(id, who.ID, string(draft), now)
	})
}

// VerdictDraftOf returns what a staff user has entered for an order; an empty draft when there is nothing.
func (s *Service) VerdictDraftOf(ctx context.Context, staffID, orderID string) (*VerdictDraft, error) {
	d := new(VerdictDraft)
	text, err := s.Store.VerdictDraft(ctx, orderID, staffID)
	if errors.Is(err, store.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	return d, json.Unmarshal([]byte(text), d)
}

// PreviewVerdict returns the order as it would be after a verdict, and changes nothing. It refuses what CompleteOrder
// would refuse.
func (s *Service) PreviewVerdict(ctx context.Context, who *access.Staff, id string, v *order.Verdict, note string) (*order.Order, error) {
	return s.preview(ctx, who, id, order.Complete, func(o *order.Order, photos []order.Photo, now time.Time) error {
		if err := checkNote(note); err != nil {
			return err
		}
		return o.Judge(v, s.Catalog(), photos, now)
	})
}

// PreviewRequest returns the order as it would be after a photo request, and changes nothing. It refuses what
// RequestPhotos would refuse.
func (s *Service) PreviewRequest(ctx context.Context, who *access.Staff, id string, drafts []order.RequestDraft) (*order.Order, error) {
	return s.preview(ctx, who, id, order.RequestPhotos, func(o *order.Order, photos []order.Photo, now time.Time) error {
		snap := s.Catalog()
		return o.Request(drafts, snap, snap.PhotoIndexes(contextOf(o)), photos, now)
	})
}

// preview makes a move on a copy of an order that was read and is not stored.
func (s *Service) preview(ctx context.Context, who *access.Staff, id string, move order.Move, f func(*order.Order, []order.Photo, time.Time) error) (*order.Order, error) {
	id, ok := store.ParseID(id)
	if !ok {
		return nil, errDeskOrderNotFound
	}
	o, err := s.Store.Order(ctx, id)
	if err != nil {
		return nil, deskOrderNotFound(err)
	}
	if err := o.CheckMove(move, who); err != nil {
		return nil, err
	}
	photos, err := s.Store.OrderPhotos(ctx, id)
	if err != nil {
		return nil, err
	}
	return o, f(o, photos, s.now())
}
