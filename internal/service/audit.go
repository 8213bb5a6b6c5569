package service

import (
	"context"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// Origin is where a request came from, for the audit log and mail.
type Origin struct {
	IP        string
	UserAgent string
	Locale    text.Locale // of the page; empty: there was none
}

const maxUserAgent = 512

// key returns the actor of what is done with an API key through the integration interface.
func (o Origin) key(k *access.Key) audit.Actor {
	return audit.Actor{
		Type: audit.ByAPIKey, ID: k.ID, Name: k.Name, Source: audit.FromIntegration, IP: o.IP, UserAgent: storable(o.UserAgent, maxUserAgent),
	}
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
