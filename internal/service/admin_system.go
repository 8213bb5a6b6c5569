package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// Health is how the service is now. What could not be reached has its error; the rest is still there.
type Health struct {
	Database      *store.SystemFacts
	DatabaseError error
	MediaError    error
	MediaLatency  time.Duration

	Orders            map[order.Status]int64 // Live
	OldestQueued      *time.Time             // due date of the first order of the queue
	PendingDeliveries int64
	OldestDelivery    *time.Time // since when the first delivery could be under way and is not
	CatalogVersion    int64
	Photos            store.PhotoTotals // as they were uploaded, without what is derived from them
	Mail              bool              // there is a mail server
	QueuedMail        int64
	FailedMail        int64 // mails that could not be delivered, of the last weeks
}

// healthLimit bounds how long a broken part may hold up the page.
const healthLimit = 5 * time.Second

// Health looks at the parts of the service.
func (a *Administration) Health(ctx context.Context, who *access.Staff) (*Health, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	h := &Health{CatalogVersion: a.service.Catalog().Version(), Mail: a.service.SendsMail()}
	begun := time.Now()
	h.MediaError = a.service.Media.Ping(ctx)
	h.MediaLatency = time.Since(begun)
	h.DatabaseError = a.lookAtDatabase(ctx, h)
	return h, nil
}

func (a *Administration) lookAtDatabase(ctx context.Context, h *Health) error {
	var err error
	if h.Database, err = a.store().SystemFacts(ctx, time.Now); err != nil {
		return err
	}
	if h.Orders, err = a.store().OrderCounts(ctx, access.Live); err != nil {
		return err
	}
	queued := &order.Filter{Sort: order.DueFirst, Environment: access.Live, Statuses: []order.Status{order.Queued}}
	first, _, err := a.store().Orders(ctx, queued, nil, 1)
	if err != nil {
		return err
	}
	if len(first) > 0 {
		h.OldestQueued = first[0].DueAt
	}
	pending, oldest, err := a.store().QueueState(ctx, a.service.now())
	h.PendingDeliveries = pending
	if !oldest.IsZero() {
		h.OldestDelivery = &oldest
	}
	if err != nil {
		return err
	}
	if h.Photos, err = a.store().PhotoTotals(ctx); err != nil {
		return err
	}
	h.QueuedMail, h.FailedMail, err = a.store().MailCounts(ctx)
	return err
}

// RevokedCertificates returns the certificates that were taken back last.
func (a *Administration) RevokedCertificates(ctx context.Context, who *access.Staff, limit int) ([]store.RevokedCertificate, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	return a.store().RevokedCertificates(ctx, limit)
}

// FindCertificate returns the certificate that a person means: by its id, or by the id or number of its order.
func (a *Administration) FindCertificate(ctx context.Context, who *access.Staff, text string) (*certificate.Issued, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	if order.IsCertificateID(text) {
		return a.service.Certificate(ctx, text)
	}
	id, err := a.service.FindOrderID(ctx, text)
	if err != nil {
		return nil, CertificateNotFound
	}
	o, err := a.store().Order(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && o.CertificateID == "" {
		return nil, CertificateNotFound
	}
	if err != nil {
		return nil, err
	}
	return a.service.Certificate(ctx, o.CertificateID)
}
