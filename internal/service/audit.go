package service

import (
	"context"
	"maps"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// AuditPage returns a page of the audit log of the actor's account, newest first, and how many events match.
func (s *Service) AuditPage(
	ctx context.Context, actor access.Actor, f audit.Filter, page, limit int,
) ([]*audit.Event, int64, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, 0, err
	}
	return s.store.Lists(ctx).AuditPage(ctx, actor.Tenant.AccountID, f, page, limit)
}

// record writes to the log of the portal what a transaction does to an account, and to its audit log where that has a
// code for it. Every use case that changes something of an account calls it, at the end of its transaction.
func (s *Service) record(tx *store.Tx, by access.Actor, e audit.Event) error {
	e.At, e.Actor = s.now(), audit.By(by)
	if e.AccountID == "" {
		e.AccountID = by.Tenant.AccountID
	}
	if e.UserID == "" && by.Kind == access.ByUser {
		e.UserID = by.ID
	}
	return tx.AppendEvent(&e)
}

// RecordExport writes down that somebody takes data out of the portal; what is the name of the file.
func (s *Service) RecordExport(ctx context.Context, actor access.Actor, what string) error {
	if err := actor.Require(access.ViewAccount); err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx *store.Tx) error {
		return s.record(tx, actor, accountEvent(audit.DataExported, actor.Tenant.AccountID, map[string]any{"file": what}))
	})
}

// requireLog returns the refusal of an actor who may not read a log of their account: that of the portal is for owners.
func requireLog(actor access.Actor, l audit.Log) error {
	if l == audit.PortalLog {
		return actor.Require(access.ViewPortalLog)
	}
	return actor.Require(access.ViewAccount)
}

// AuditEvents returns up to limit events of the actor's account that match and whose sequence number is not above seq,
// newest first; 0 is the newest. It also returns how many events the log has in all.
func (s *Service) AuditEvents(
	ctx context.Context, actor access.Actor, f audit.Filter, seq int64, limit int,
) ([]*audit.Event, int64, error) {
	if err := requireLog(actor, f.Log); err != nil {
		return nil, 0, err
	}
	q := s.store.Lists(ctx)
	count, err := q.EventCount(ctx, f.Log, actor.Tenant.AccountID)
	if err != nil {
		return nil, 0, err
	}
	if seq <= 0 || seq > count {
		seq = count
	}
	events, err := q.AuditBelow(ctx, actor.Tenant.AccountID, f, seq, limit)
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

// AuditEvent returns an event of a log of the actor's account by its sequence number.
func (s *Service) AuditEvent(ctx context.Context, actor access.Actor, of audit.Log, seq int64) (*audit.Event, error) {
	if err := requireLog(actor, of); err != nil {
		return nil, err
	}
	e, err := s.store.AuditEvent(ctx, of, actor.Tenant.AccountID, seq)
	return e, store.NotFoundAs(err, fault.Missing("audit event"))
}

// recordStaffAction writes to the log of administration what the transaction does, if the actor runs the service.
func (s *Service) recordStaffAction(tx *store.Tx, by access.Actor, a audit.Action) error {
	if !by.IsStaffOrOperator() {
		return nil
	}
	a.At, a.StaffID, a.StaffName = s.now(), by.ID, by.Name
	a.IP, a.UserAgent = by.Origin.IP, by.Origin.Agent()
	return tx.AppendStaffAction(&a)
}

// staffTarget and accountTarget are targets of actions.
func staffTarget(who *access.Staff) audit.ActionTarget {
	return audit.ActionTarget{Type: audit.ActionTargetStaff, ID: who.ID, Name: who.Email}
}

func accountTarget(a *access.Account) audit.ActionTarget {
	return audit.ActionTarget{Type: audit.ActionTargetAccount, ID: a.ID, Name: a.Name}
}

// eventOn is an event about something of an account, with all of the metadata.
func eventOn(
	accountID string, code audit.Code, on audit.TargetType, id string, metadata ...map[string]any,
) audit.Event {
	all := make(map[string]any)
	for _, m := range metadata {
		maps.Copy(all, m)
	}
	return audit.Event{AccountID: accountID, Code: code, Target: audit.Target{Type: on, ID: id}, Metadata: all}
}

// accountEvent is an event about an account as a whole.
func accountEvent(code audit.Code, accountID string, metadata map[string]any) audit.Event {
	return eventOn(accountID, code, audit.TargetAccount, accountID, metadata)
}

// userEvent is an event about a user of an account.
func userEvent(code audit.Code, u *access.User, metadata map[string]any) audit.Event {
	e := eventOn(u.AccountID, code, audit.TargetUser, u.ID, map[string]any{"email": u.Email}, metadata)
	e.UserID = u.ID
	return e
}

// orderEvent is an event about an order.
func orderEvent(code audit.Code, o *order.Order, metadata map[string]any) audit.Event {
	of := map[string]any{"environment": string(o.Environment), "number": o.Number}
	return eventOn(o.AccountID, code, audit.TargetOrder, o.ID, of, metadata)
}

// orderAction is an action on an order of a customer.
func orderAction(code audit.ActionCode, o *order.Order, details map[string]any) audit.Action {
	return audit.Action{
		Code: code, AccountID: o.AccountID, Details: details,
		Target: audit.ActionTarget{Type: audit.ActionTargetOrder, ID: o.ID, Name: o.Number},
	}
}

// StaffActions returns up to limit entries of the log of administration after a cursor, the newest first.
func (s *Service) StaffActions(
	ctx context.Context, actor access.Actor, f audit.ActionFilter, after audit.ActionCursor, limit int,
) ([]*audit.Action, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	return s.store.Lists(ctx).StaffActions(ctx, f, after, limit)
}

// EachStaffAction calls each for every entry of the log of administration that matches, the newest first.
func (s *Service) EachStaffAction(
	ctx context.Context, actor access.Actor, f audit.ActionFilter, each func(*audit.Action) error,
) error {
	for after := (audit.ActionCursor{}); ; {
		actions, err := s.StaffActions(ctx, actor, f, after, exportBatch)
		if err != nil {
			return err
		}
		for _, action := range actions {
			if err := each(action); err != nil {
				return err
			}
			after = action.Cursor()
		}
		if len(actions) < exportBatch {
			return nil
		}
	}
}

// AuditHeads returns the newest entry of the log of administration and of every account's log.
func (s *Service) AuditHeads(ctx context.Context) ([]audit.Head, error) { return s.store.LogHeads(ctx) }
