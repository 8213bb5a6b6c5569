package service

import (
	"context"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// Orders returns a page of the orders of an account and environment, newest first, and how many there are.
func (a *Administration) Orders(
	ctx context.Context, who *access.Staff, account *access.Account, env access.Environment, page, limit int,
) ([]order.Order, int64, error) {
	if err := a.allow(who); err != nil {
		return nil, 0, err
	}
	return a.store().OrderPage(ctx, account.ID, env, page, limit)
}

// ResetUserPassword returns a link with which an account user who cannot sign in any more chooses a new password. It is
// mailed to them where there is a mail server, else given to them by whoever asked for it; the account's audit log has
// the change when it is made.
func (a *Administration) ResetUserPassword(ctx context.Context, who *access.Staff, account *access.Account, userID string) (*access.User, string, error) {
	user, err := a.userOf(ctx, who, account, userID)
	if err != nil {
		return nil, "", err
	}
	_, link, err := a.service.ResetPasswordByOperator(byStaff(ctx, who), user.Email)
	if err != nil {
		return nil, "", err
	}
	return user, link, nil
}

// ResetUserSecondFactor takes the second factor and the passkeys from an account user who has lost them and has no recovery
// codes. Their sessions end.
func (a *Administration) ResetUserSecondFactor(ctx context.Context, who *access.Staff, account *access.Account, userID string) (*access.User, error) {
	user, err := a.userOf(ctx, who, account, userID)
	if err != nil {
		return nil, err
	}
	err = a.store().Update(ctx, func(tx *store.Tx) error {
		if err := takeFactors(tx, user.ID); err != nil {
			return err
		}
		return a.service.did(byStaff(ctx, who), tx, audit.Action{Code: audit.UserFactorReset, AccountID: account.ID, Target: onUser(user)})
	})
	if err != nil {
		return nil, err
	}
	a.service.sessions.drop()
	return user, nil
}

func (a *Administration) userOf(ctx context.Context, who *access.Staff, account *access.Account, userID string) (*access.User, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	id, ok := store.ParseID(userID)
	if !ok {
		return nil, missing("user")
	}
	user, err := a.store().User(ctx, id)
	if err == nil && user.AccountID != account.ID {
		return nil, missing("user")
	}
	return user, orMissing(err, "user")
}
