package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// NewAccount is a created account with its owner's first password, which is not kept.
type NewAccount struct {
	Account  access.Account
	Owner    access.User
	Password string
}

// CreateAccount makes an account, its owner and its two balances; Test starts with credits to rehearse with.
func (s *Service) CreateAccount(ctx context.Context, name, ownerEmail string, locale text.Locale) (*NewAccount, error) {
	if err := access.CheckName("the account name", name); err != nil {
		return nil, err
	}
	email, err := access.NormalizeEmail(ownerEmail)
	if err != nil {
		return nil, err
	}
	now := s.now()
	n := &NewAccount{Password: access.NewPassword()}
	n.Account = access.Account{ID: store.NewID(), Name: name, Locale: locale, CreatedAt: now}
	n.Owner = access.User{
		ID: store.NewID(), AccountID: n.Account.ID, Email: email, Role: access.Owner,
		PasswordHash: access.HashPassword(n.Password), CreatedAt: now,
	}
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.InsertAccount(&n.Account); err != nil {
			return taken(err, "an account named %q exists already", name)
		}
		if err := tx.InsertUser(&n.Owner); err != nil {
			return taken(err, "a user with the email %q exists already", email)
		}
		if _, err := tx.Grant(n.Account.ID, access.Test, access.InitialTestCredits, "initial Test credits", now); err != nil {
			return err
		}
		return s.did(ctx, tx, audit.Action{
			Code: audit.AccountCreated, AccountID: n.Account.ID, Target: onAccount(&n.Account), Details: map[string]any{"owner": email},
		})
	})
	return n, err
}

// FindAccount returns an account by its id or its exact name.
func (s *Service) FindAccount(ctx context.Context, idOrName string) (*access.Account, error) {
	if id, ok := store.ParseID(idOrName); ok {
		if a, err := s.Store.Account(ctx, id); !errors.Is(err, store.ErrNotFound) {
			return a, err
		}
	}
	a, err := s.Store.AccountByName(ctx, idOrName)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("there is no account with the id or name %q", idOrName)
	}
	return a, err
}

// GrantCredits changes a balance by a ledger entry and returns the balance after it. The amount may be negative, the
// balance may not become so.
func (s *Service) GrantCredits(ctx context.Context, a *access.Account, env access.Environment, amount int64, note string) (int64, error) {
	if err := access.CheckName("the note", note); err != nil {
		return 0, err
	}
	var balance int64
	err := s.Store.Update(ctx, func(tx *store.Tx) (err error) {
		if balance, err = tx.Grant(a.ID, env, amount, note, s.now()); err != nil {
			return err
		}
		return s.did(ctx, tx, audit.Action{
			Code: audit.CreditsGranted, AccountID: a.ID, Target: onAccount(a),
			Details: map[string]any{"environment": string(env), "amount": amount, "balance": balance, "note": note},
		})
	})
	return balance, err
}

// taken turns a broken rule of uniqueness into words.
func taken(err error, format string, args ...any) error {
	if errors.Is(err, store.ErrExists) {
		return fmt.Errorf(format, args...)
	}
	return err
}
