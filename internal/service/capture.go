package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// NewCaptureLink says what capture link to make; its shape has been checked. It is for an item, or for the photo
// request of the order with the id, which for a key may be an external id.
type NewCaptureLink struct {
	CategoryCode string
	BrandCode    string
	ModelCode    string
	ExternalID   string
	OrderID      string
	Life         time.Duration // 0: capture.DefaultLife
	Locale       text.Locale   // empty: that of the visitor's browser
	ReturnURL    string
}

// CreateCaptureLink makes a link and returns its address, which is told once.
func (s *Service) CreateCaptureLink(
	ctx context.Context, actor access.Actor, n NewCaptureLink,
) (l *capture.Link, address string, err error) {
	if err := actor.Require(access.ManageOrders); err != nil {
		return nil, "", err
	}
	now := s.now()
	if n.Life == 0 {
		n.Life = capture.DefaultLife
	}
	token := access.NewSessionToken()
	hash, _ := access.HashSessionToken(token)
	l = &capture.Link{
		ID: uuid7.New(), TokenHash: hash, Tenant: actor.Tenant, MadeBy: actor, ExternalID: n.ExternalID,
		Locale: n.Locale, ReturnURL: n.ReturnURL, CreatedAt: now, ExpiresAt: now.Add(n.Life),
	}
	if err := s.setCaptureTarget(ctx, actor, l, &n); err != nil {
		return nil, "", err
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.LockTeam(l.AccountID); err != nil {
			return err
		}
		open, err := tx.OpenCaptureLinks(l.AccountID, now)
		if err != nil {
			return err
		}
		if open >= capture.MaxOpen {
			return capture.LimitReached
		}
		return errors.Join(tx.InsertCaptureLink(l), s.record(tx, actor, captureEvent(audit.CaptureCreated, l)))
	})
	if err != nil {
		return nil, "", err
	}
	address = s.publicURL + "/capture/" + token
	if l.Locale != "" {
		address += "?lang=" + string(l.Locale)
	}
	return l, address, nil
}

// setCaptureTarget sets what a link is for.
func (s *Service) setCaptureTarget(ctx context.Context, actor access.Actor, l *capture.Link, n *NewCaptureLink) error {
	if n.OrderID == "" {
		l.CategoryCode, l.BrandCode, l.ModelCode = n.CategoryCode, n.BrandCode, n.ModelCode
		return s.Catalog().Check(catalog.Context{Category: n.CategoryCode, Brand: n.BrandCode, Model: n.ModelCode})
	}
	o, err := s.store.FindOrder(ctx, actor.Tenant, n.OrderID)
	if err != nil {
		return orderNotFound(actor, err)
	}
	if o.Status != order.UpdatePhotos {
		return order.NotAwaitingPhotos(o.Status)
	}
	c := &o.Classification
	l.OrderID, l.Round = o.ID, o.Round
	l.CategoryCode, l.BrandCode, l.ModelCode = c.CategoryCode, c.BrandCode, c.ModelCode
	if o.ExternalID != nil {
		l.ExternalID = *o.ExternalID
	}
	return nil
}

// Capture is a capture link as it is now.
type Capture struct {
	*capture.Link
	Status capture.Status
	Item   order.Classification
	URLs   []CaptureURL     // of a submitted link, for its account
	Erased map[string]bool  // the names of its photos that were erased
	Wanted []capture.Wanted // of an open link, for somebody who has its address
}

// CaptureURL is a photo that a seller took.
type CaptureURL struct{ IndexCode, URL string }

// CaptureLink returns a link of the actor's tenant, or capture.NotFound.
func (s *Service) CaptureLink(ctx context.Context, actor access.Actor, id string) (*Capture, error) {
	l, err := s.captureLink(ctx, actor, access.ViewAccount, id)
	if err != nil {
		return nil, err
	}
	r := &Capture{Link: l, Item: s.captureItem(l), URLs: []CaptureURL{}}
	if r.Status, _, err = s.captureStatus(ctx, l); err != nil {
		return nil, err
	}
	if r.Status != capture.Submitted {
		return r, nil
	}
	names := make([]string, len(l.Photos))
	for i, p := range l.Photos {
		names[i] = p.Name
		r.URLs = append(r.URLs, CaptureURL{p.IndexCode, s.mediaURLs.URL(p.Name)})
	}
	r.Erased, err = s.store.ErasedPhotos(ctx, names)
	return r, err
}

// CaptureLinks returns up to limit links of the actor's tenant, newest first, without their photos: those before the
// one with the id before, unless it is empty.
func (s *Service) CaptureLinks(
	ctx context.Context, actor access.Actor, before string, limit int,
) ([]Capture, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	links, err := s.store.Lists(ctx).CaptureLinks(ctx, actor.Tenant, before, limit)
	if err != nil {
		return nil, err
	}
	records := make([]Capture, len(links))
	for i, l := range links {
		records[i] = Capture{Link: l, Item: s.captureItem(l)}
		if records[i].Status, _, err = s.captureStatus(ctx, l); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// captureItem returns what a link is for, with the names that the catalog has now.
func (s *Service) captureItem(l *capture.Link) order.Classification {
	return classify(s.Catalog(), l.Item())
}

// captureLink returns a link of the tenant of an actor who has a permission.
func (s *Service) captureLink(
	ctx context.Context, actor access.Actor, needed access.Permission, id string,
) (*capture.Link, error) {
	if err := actor.Require(needed); err != nil {
		return nil, err
	}
	return byID(ctx, id, func(ctx context.Context, id string) (*capture.Link, error) {
		return s.store.CaptureLink(ctx, actor.Tenant, id)
	}, capture.NotFound)
}

// captureStatus returns the status of a link now, and the order that it is for. A link whose photo request was answered
// in another way, or is over, has expired.
func (s *Service) captureStatus(ctx context.Context, l *capture.Link) (capture.Status, *order.Order, error) {
	status := l.StatusAt(s.now())
	if l.OrderID == "" || status != capture.Open {
		return status, nil, nil
	}
	o, err := s.store.Order(ctx, l.OrderID)
	if err == nil && !l.Answers(o) {
		status = capture.Expired
	}
	return status, o, err
}

// RevokeCaptureLink ends an open link of the actor's tenant: what was sent through it is deleted. For any other link it
// returns capture.NotFound.
func (s *Service) RevokeCaptureLink(ctx context.Context, actor access.Actor, id string) error {
	l, err := s.captureLink(ctx, actor, access.ManageOrders, id)
	if err != nil {
		return err
	}
	switch status, _, err := s.captureStatus(ctx, l); {
	case err != nil:
		return err
	case status != capture.Open:
		return capture.NotFound
	}
	return s.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.RevokeCaptureLink(l, s.now()); err != nil {
			return store.NotFoundAs(err, capture.NotFound)
		}
		return s.record(tx, actor, captureEvent(audit.CaptureRevoked, l))
	})
}

// captureEvent is an event about a capture link.
func captureEvent(code audit.Code, l *capture.Link) audit.Event {
	of := map[string]any{"environment": string(l.Environment), "external_id": nullable(l.ExternalID)}
	return eventOn(l.AccountID, code, audit.TargetCaptureLink, l.ID, of)
}

// Capture returns the link with the secret, or capture.NotFound.
func (s *Service) Capture(ctx context.Context, token string) (*Capture, error) {
	hash, ok := access.HashSessionToken(token)
	if !ok {
		return nil, capture.NotFound
	}
	l, err := s.store.CaptureLinkByToken(ctx, hash)
	if err != nil {
		return nil, store.NotFoundAs(err, capture.NotFound)
	}
	c := &Capture{Link: l}
	var o *order.Order
	if c.Status, o, err = s.captureStatus(ctx, l); err != nil || c.Status != capture.Open {
		return c, err
	}
	c.Wanted = capture.WantedOf(s.Catalog().PhotoIndexes(l.Item()), o)
	c.Item = s.captureItem(l)
	return c, nil
}

// OpenCapture is Capture for a link that can be used: capture.Ended for another one.
func (s *Service) OpenCapture(ctx context.Context, token string) (*Capture, error) {
	c, err := s.Capture(ctx, token)
	if err == nil && c.Status != capture.Open {
		return nil, capture.Ended
	}
	return c, err
}

// errPhotoExists says that a photo with the same key is already there.
var errPhotoExists = errors.New("the photo is already there")

// AddCapturePhoto stores a photo of an index for a link. The key is the page's: sent again, the photo is not stored
// again.
func (s *Service) AddCapturePhoto(ctx context.Context, c *Capture, key, index string, u media.Upload) error {
	_, err := s.storePhotos(ctx, c.Tenant, []media.Upload{u}, func(tx *store.Tx, rows []photo.Stored) error {
		l, err := s.lockCapture(tx, c.Link)
		if err != nil {
			return err
		}
		if l.Photo(key) != nil {
			return errPhotoExists
		}
		if err := l.CheckPhoto(c.Wanted, index); err != nil {
			return err
		}
		// Until the link ends, the photo is not to be deleted as unused.
		if _, err := tx.UsePhotos(l.Tenant, []string{rows[0].Name}); err != nil {
			return err
		}
		return tx.AddCapturePhoto(l, capture.Photo{Key: key, IndexCode: index, Name: rows[0].Name})
	})
	if errors.Is(err, errPhotoExists) {
		return nil
	}
	return err
}

// CheckCapturePhoto tells whether a photo with the key is there already, and refuses one that AddCapturePhoto would
// refuse, before its file is read.
func (s *Service) CheckCapturePhoto(c *Capture, key, index string) (have bool, err error) {
	if c.Photo(key) != nil {
		return true, nil
	}
	return false, c.CheckPhoto(c.Wanted, index)
}

// lockCapture reads an open link again for a change.
func (s *Service) lockCapture(tx *store.Tx, seen *capture.Link) (*capture.Link, error) {
	l, err := tx.CaptureLinkForUpdate(seen.TokenHash)
	if err != nil {
		return nil, store.NotFoundAs(err, capture.NotFound)
	}
	if l.StatusAt(s.now()) != capture.Open {
		return nil, capture.Ended
	}
	return l, nil
}

// RemoveCapturePhoto takes a photo back that is to be taken again. One that is not there is no failure.
func (s *Service) RemoveCapturePhoto(ctx context.Context, c *Capture, key string) error {
	return s.store.Update(ctx, func(tx *store.Tx) error {
		l, err := s.lockCapture(tx, c.Link)
		if err != nil {
			return err
		}
		taken := l.Photo(key)
		if taken == nil {
			return nil
		}
		return errors.Join(tx.RemoveCapturePhoto(l, key), tx.ReleasePhotos([]string{taken.Name}, nil))
	})
}

// SubmitCapture ends a link with the photos that were sent through it: it answers the photo request of its order as if
// by who made the link, or leaves them to be turned into an order. unable are requested indexes that cannot be
// provided.
func (s *Service) SubmitCapture(ctx context.Context, c *Capture, unable []string) error {
	if c.OrderID != "" {
		_, err := s.submitPhotos(ctx, c.MadeBy, c.OrderID,
			func(tx *store.Tx, o *order.Order, now time.Time) (*order.Submission, error) {
				l, err := s.endCapture(tx, c, unable, now)
				if err != nil {
					return nil, err
				}
				if !l.Answers(o) {
					return nil, capture.Ended
				}
				return s.captureSubmission(l, unable), nil
			})
		return err
	}
	return s.store.Update(ctx, func(tx *store.Tx) error {
		now := s.now()
		l, err := s.endCapture(tx, c, nil, now)
		if err != nil {
			return err
		}
		names := make([]string, len(l.Photos))
		for i, p := range l.Photos {
			names[i] = p.Name
		}
		return tx.ReleasePhotos(names, &now) // kept as long as if they were uploaded now
	})
}

func (s *Service) endCapture(tx *store.Tx, c *Capture, unable []string, now time.Time) (*capture.Link, error) {
	l, err := s.lockCapture(tx, c.Link)
	if err != nil {
		return nil, err
	}
	if err := l.CheckSubmission(c.Wanted, unable); err != nil {
		return nil, err
	}
	return l, tx.SubmitCaptureLink(l, now)
}

func (s *Service) captureSubmission(l *capture.Link, unable []string) *order.Submission {
	sub := new(order.Submission)
	provided := make(map[string]bool)
	for _, p := range l.Photos {
		provided[p.IndexCode] = true
		sub.Entries = append(sub.Entries, order.SubmissionEntry{IndexCode: p.IndexCode, URL: new(s.mediaURLs.URL(p.Name))})
	}
	for _, code := range unable {
		if !provided[code] {
			sub.Entries = append(sub.Entries, order.SubmissionEntry{IndexCode: code, Unable: true})
		}
	}
	return sub
}
