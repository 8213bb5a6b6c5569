package service

import (
	"context"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// The log of administration has what staff and operators did to run the service. Use cases are shared: an account's own user
// may revoke a key as an administrator may. So who runs the service, and from where, comes with the context, and what is done
// without anybody there is nothing for this log.

type agentKey struct{}

// agent is who runs the service: a staff user, or an operator, who has no id.
type agent struct{ id, name string }

// byStaff makes what is done under the context the work of a staff user.
func byStaff(ctx context.Context, who *access.Staff) context.Context {
	return context.WithValue(ctx, agentKey{}, agent{id: who.ID, name: who.Name})
}

type originKey struct{}

// From tells use cases where a request came from.
func From(ctx context.Context, from Origin) context.Context {
	return context.WithValue(ctx, originKey{}, from)
}

// did writes to the log of administration what the transaction does. Without anybody who runs the service it writes nothing.
func (s *Service) did(ctx context.Context, tx *store.Tx, a audit.Action) error {
	by, ok := ctx.Value(agentKey{}).(agent)
	if !ok {
		return nil
	}
	from, _ := ctx.Value(originKey{}).(Origin)
	a.At, a.StaffID, a.StaffName, a.IP, a.UserAgent = s.now(), by.id, by.name, from.IP, from.Agent()
	return tx.AppendStaffAction(&a)
}

// recordStaffAction writes to the log of administration what the transaction does, if the actor runs the service.
func (s *Service) recordStaffAction(tx *store.Tx, by access.Actor, a audit.Action) error {
	if !by.Runs() {
		return nil
	}
	a.At, a.StaffID, a.StaffName = s.now(), by.ID, by.Name
	a.IP, a.UserAgent = by.Origin.IP, by.Origin.Agent()
	return tx.AppendStaffAction(&a)
}

// onStaff, onAccount, onUser and onKey are targets of actions.
func onStaff(who *access.Staff) audit.ActionTarget {
	return audit.ActionTarget{Type: audit.OfStaff, ID: who.ID, Name: who.Email}
}

func onAccount(a *access.Account) audit.ActionTarget {
	return audit.ActionTarget{Type: audit.OfAccount, ID: a.ID, Name: a.Name}
}

func onUser(u *access.User) audit.ActionTarget {
	return audit.ActionTarget{Type: audit.OfUser, ID: u.ID, Name: u.Email}
}

func onKey(k *access.Key) audit.ActionTarget {
	return audit.ActionTarget{Type: audit.OfKey, ID: k.ID, Name: k.Name}
}

// onOrder is an action on an order of a customer.
func onOrder(code audit.ActionCode, o *order.Order, details map[string]any) audit.Action {
	return audit.Action{
		Code: code, AccountID: o.AccountID, Target: audit.ActionTarget{Type: audit.OfOrder, ID: o.ID, Name: o.Number},
		Details: details,
	}
}

// StaffActions returns up to limit entries of the log of administration after a cursor, the newest first.
func (s *Service) StaffActions(
	ctx context.Context, actor access.Actor, f audit.ActionFilter, after audit.ActionCursor, limit int,
) ([]*audit.Action, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	return s.Store.StaffActions(ctx, f, after, limit)
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
