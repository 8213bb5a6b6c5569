package service

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
)

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
	where, err := snap.Check(categoryCode, brandCode, modelCode)
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
