package service

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
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
		ID: store.NewID(), TokenHash: hash, Tenant: actor.Tenant, MadeBy: actor, ExternalID: n.ExternalID,
		Locale: n.Locale, ReturnURL: n.ReturnURL, CreatedAt: now, ExpiresAt: now.Add(n.Life),
	}
	if err := s.aimCapture(ctx, actor, l, &n); err != nil {
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
		if err := tx.InsertCaptureLink(l); err != nil {
			return err
		}
		return s.record(tx, actor, aboutCapture(audit.CaptureCreated, l))
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

// aimCapture sets what a link is for.
func (s *Service) aimCapture(ctx context.Context, actor access.Actor, l *capture.Link, n *NewCaptureLink) error {
	if n.OrderID == "" {
		where, err := s.Catalog().Check(n.CategoryCode, n.BrandCode, n.ModelCode)
		l.CategoryCode, l.BrandCode, l.ModelCode = where.Category, where.Brand, where.Model
		return err
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

// CaptureRecord is a capture link as its account sees it.
type CaptureRecord struct {
	*capture.Link
	Status capture.Status
	Item   order.Classification
	Photos []CaptureURL // of a submitted link
}

// CaptureURL is a photo that a seller took.
type CaptureURL struct{ IndexCode, URL string }

// CaptureLink returns a link of the actor's tenant, or capture.NotFound.
func (s *Service) CaptureLink(ctx context.Context, actor access.Actor, id string) (*CaptureRecord, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	l, err := s.ownCapture(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	r := &CaptureRecord{Link: l, Item: s.itemOf(l), Photos: []CaptureURL{}}
	if r.Status, _, err = s.captureStatus(ctx, l); err != nil {
		return nil, err
	}
	if r.Status == capture.Submitted {
		for _, p := range l.Photos {
			r.Photos = append(r.Photos, CaptureURL{p.IndexCode, s.mediaURLs.URL(p.Name)})
		}
	}
	return r, nil
}

// CaptureLinks returns up to limit links of the actor's tenant, newest first, without their photos: those before the
// one with the id before, unless it is empty.
func (s *Service) CaptureLinks(
	ctx context.Context, actor access.Actor, before string, limit int,
) ([]CaptureRecord, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	links, err := s.store.Lists(ctx).CaptureLinks(ctx, actor.Tenant, before, limit)
	if err != nil {
		return nil, err
	}
	records := make([]CaptureRecord, len(links))
	for i, l := range links {
		records[i] = CaptureRecord{Link: l, Item: s.itemOf(l)}
		if records[i].Status, _, err = s.captureStatus(ctx, l); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// itemOf returns what a link is for, with the names that the catalog has now.
func (s *Service) itemOf(l *capture.Link) order.Classification {
	return classify(s.Catalog(), catalog.Context{Category: l.CategoryCode, Brand: l.BrandCode, Model: l.ModelCode})
}

func (s *Service) ownCapture(ctx context.Context, actor access.Actor, id string) (*capture.Link, error) {
	id, ok := store.ParseID(id)
	if !ok {
		return nil, capture.NotFound
	}
	l, err := s.store.CaptureLink(ctx, actor.Tenant, id)
	return l, orNotFound(err, capture.NotFound)
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
	if err := actor.Require(access.ManageOrders); err != nil {
		return err
	}
	l, err := s.ownCapture(ctx, actor, id)
	if err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.RevokeCaptureLink(l, s.now()); err != nil {
			return orNotFound(err, capture.NotFound)
		}
		return s.record(tx, actor, aboutCapture(audit.CaptureRevoked, l))
	})
}

// aboutCapture is an event about a capture link.
func aboutCapture(code audit.Code, l *capture.Link) audit.Event {
	return audit.Event{
		AccountID: l.AccountID, Code: code, Target: audit.Target{Type: audit.OnCaptureLink, ID: l.ID},
		Metadata: map[string]any{"environment": string(l.Environment), "external_id": nullable(l.ExternalID)},
	}
}

// captureIndexes returns what a link asks for; o is the order that it is for.
func (s *Service) captureIndexes(l *capture.Link, o *order.Order) []capture.Wanted {
	indexes := s.Catalog().PhotoIndexes(catalog.Context{Category: l.CategoryCode, Brand: l.BrandCode, Model: l.ModelCode})
	if o == nil {
		wanted := make([]capture.Wanted, len(indexes))
		for i, x := range indexes {
			wanted[i] = capture.Wanted{
				Code: x.Code, Name: x.Name, Required: x.Required, MaxPhotos: x.PhotoLimit, Example: exampleOf(x),
			}
		}
		return wanted
	}
	wanted := make([]capture.Wanted, len(o.Requested))
	for i := range o.Requested {
		r := &o.Requested[i]
		wanted[i] = capture.Wanted{
			Code: r.IndexCode, Name: r.Name, Required: true, MaxPhotos: r.MaxPhotos, Example: r.ReferencePhotoURL,
			Condition: r.Condition, Requirements: r.Requirements, Comment: r.Comment,
		}
		for _, x := range indexes {
			if x.Code == r.IndexCode && wanted[i].Example == "" {
				wanted[i].Example = exampleOf(x)
			}
		}
	}
	return wanted
}

func exampleOf(x *catalog.PhotoIndex) string {
	if len(x.ExampleURLs) > 0 {
		return x.ExampleURLs[0]
	}
	return ""
}
