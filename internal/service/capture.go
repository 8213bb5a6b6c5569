package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/store"
)

// Capture is what somebody sees who has the address of a capture link.
type Capture struct {
	*capture.Link
	Status capture.Status
	Item   order.Classification
	Wanted []capture.Wanted // of an open link
}

// Capture returns the link with the secret, or capture.NotFound.
func (s *Service) Capture(ctx context.Context, token string) (*Capture, error) {
	hash, ok := access.HashSessionToken(token)
	if !ok {
		return nil, capture.NotFound
	}
	l, err := s.store.CaptureLinkByToken(ctx, hash)
	if err != nil {
		return nil, orNotFound(err, capture.NotFound)
	}
	c := &Capture{Link: l}
	var o *order.Order
	if c.Status, o, err = s.captureStatus(ctx, l); err != nil || c.Status != capture.Open {
		return c, err
	}
	c.Wanted = s.captureIndexes(l, o)
	c.Item = s.itemOf(l)
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

// errHave says that a photo with the same key is already there.
var errHave = errors.New("the photo is already there")

// AddCapturePhoto stores a photo of an index for a link. The key is the page's: sent again, the photo is not stored
// again.
func (s *Service) AddCapturePhoto(ctx context.Context, c *Capture, key, index string, u media.Upload) error {
	_, err := s.storePhotos(ctx, c.Tenant, []media.Upload{u}, func(tx *store.Tx, rows []photo.Stored) error {
		l, err := s.lockCapture(tx, c.Link)
		if err != nil {
			return err
		}
		if hasKey(l, key) {
			return errHave
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
	if errors.Is(err, errHave) {
		return nil
	}
	return err
}

func hasKey(l *capture.Link, key string) bool {
	return slices.ContainsFunc(l.Photos, func(p capture.Photo) bool { return p.Key == key })
}

// CheckCapturePhoto tells whether a photo with the key is there already, and refuses one that AddCapturePhoto would
// refuse, before its file is read.
func (s *Service) CheckCapturePhoto(c *Capture, key, index string) (have bool, err error) {
	if hasKey(c.Link, key) {
		return true, nil
	}
	return false, c.CheckPhoto(c.Wanted, index)
}

// lockCapture reads an open link again for a change.
func (s *Service) lockCapture(tx *store.Tx, seen *capture.Link) (*capture.Link, error) {
	l, err := tx.CaptureLinkForUpdate(seen.TokenHash)
	if err != nil {
		return nil, orNotFound(err, capture.NotFound)
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
		at := slices.IndexFunc(l.Photos, func(p capture.Photo) bool { return p.Key == key })
		if at < 0 {
			return nil
		}
		if err := tx.RemoveCapturePhoto(l, key); err != nil {
			return err
		}
		return tx.ReleasePhotos([]string{l.Photos[at].Name}, nil)
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
