package service

import (
	"context"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// Origin is where a request came from.
type Origin = access.Origin

// auditActor returns the actor as the audit log of an account records it.
func auditActor(a access.Actor) audit.Actor { return audit.By(a) }

func storable(s string, limit int) string { return text.Storable(s, limit) }

// AuditEvents returns a page of the account's audit log, newest first, and how many events match.
func (s *Service) AuditEvents(ctx context.Context, k *access.Key, f store.AuditFilter, page, limit int) ([]*audit.Event, int64, error) {
	return s.Store.AuditPage(ctx, k.AccountID, f, page, limit)
}
