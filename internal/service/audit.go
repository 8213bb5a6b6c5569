package service

import (
	"context"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
)

// Origin is where a request came from.
type Origin = access.Origin

// auditActor returns the actor as the audit log of an account records it.
func auditActor(a access.Actor) audit.Actor { return audit.By(a) }

func storable(s string, limit int) string { return text.Storable(s, limit) }

// AuditPage returns a page of the audit log of the actor's account, newest first, and how many events match.
func (s *Service) AuditPage(
	ctx context.Context, actor access.Actor, f audit.Filter, page, limit int,
) ([]*audit.Event, int64, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, 0, err
	}
	return s.store.AuditPage(ctx, actor.Tenant.AccountID, f, page, limit)
}

// AuditEvents returns up to limit events of the actor's account that match and whose sequence number is not above seq,
// newest first; 0 is the newest. It also returns how many events the log has in all.
func (s *Service) AuditEvents(
	ctx context.Context, actor access.Actor, f audit.Filter, seq int64, limit int,
) ([]*audit.Event, int64, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, 0, err
	}
	count, err := s.store.AuditCount(ctx, actor.Tenant.AccountID)
	if err != nil {
		return nil, 0, err
	}
	if seq <= 0 || seq > count {
		seq = count
	}
	events, err := s.store.AuditBelow(ctx, actor.Tenant.AccountID, f, seq, limit)
	return events, count, err
}

// EachAuditEvent calls each for every event of the actor's account that matches, newest first, as of now.
func (s *Service) EachAuditEvent(
	ctx context.Context, actor access.Actor, f audit.Filter, each func(*audit.Event) error,
) error {
	for seq := int64(0); ; {
		events, _, err := s.AuditEvents(ctx, actor, f, seq, exportBatch)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := each(e); err != nil {
				return err
			}
		}
		if len(events) < exportBatch || events[len(events)-1].Seq <= 1 {
			return nil
		}
		seq = events[len(events)-1].Seq - 1
	}
}

// AuditEvent returns an event of the actor's account by its sequence number.
func (s *Service) AuditEvent(ctx context.Context, actor access.Actor, seq int64) (*audit.Event, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	e, err := s.store.AuditEvent(ctx, actor.Tenant.AccountID, seq)
	return e, orNotFound(err, fault.Missing("audit event"))
}
