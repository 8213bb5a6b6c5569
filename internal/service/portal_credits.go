package service

import (
	"context"
	"fmt"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
)

// SetLowCredits chooses below which Live balance the owners of the account are told, once each time it falls there; 0 is
// never. It is for owners.
func (s *Service) SetLowCredits(ctx context.Context, who *Member, below int64) error {
	if err := who.Require(access.Owner); err != nil {
		return err
	}
	if below < 0 || below > credit.MaxCredits {
		return fault.Validation(fault.Problem{Field: "below", Code: "range", Message: fmt.Sprintf("must be a whole number from 0 to %d", int64(credit.MaxCredits))})
	}
	return s.Store.Update(ctx, func(tx *store.Tx) error { return tx.SetLowCredits(who.AccountID, access.Live, below) })
}
