package service

import (
	"context"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

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
	return s.store.StaffActions(ctx, f, after, limit)
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
