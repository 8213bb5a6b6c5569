package service

import (
	"context"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store"
)

// Origin is where a request came from.
type Origin = access.Origin

const maxUserAgent = 512

// auditActor returns the actor as the audit log of an account records it.
func auditActor(a access.Actor) audit.Actor {
	by := audit.By(a)
	by.UserAgent = storable(by.UserAgent, maxUserAgent)
	return by
}

// storable returns text from outside in a form that every database takes, cut to a number of characters.
func storable(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	for i := range s {
		if limit--; limit < 0 {
			return s[:i]
		}
	}
	return s
}

// AuditEvents returns a page of the account's audit log, newest first, and how many events match.
func (s *Service) AuditEvents(ctx context.Context, k *access.Key, f store.AuditFilter, page, limit int) ([]*audit.Event, int64, error) {
	return s.Store.AuditPage(ctx, k.AccountID, f, page, limit)
}
