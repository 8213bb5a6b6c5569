package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// NewAccount is a created account with its owner's first password, which is not kept.
type NewAccount struct {
	Account  access.Account
	Owner    access.User
	Password string
}

// CheckNewAccount returns the email of the owner as it is stored, or what is wrong with a new account.
func CheckNewAccount(name, ownerEmail string, locale text.Locale) (email string, err error) {
	var p fault.Problems
	access.CheckNameField(&p, "name", name)
	email = access.CheckEmailField(&p, "email", ownerEmail)
	if _, ok := text.ParseLocale(string(locale)); !ok {
		p.Add("locale", "unknown_code", "must be en or ja")
	}
	return email, p.Err()
}

// CreateAccount makes an account, its owner and its two balances; Test starts with credits to rehearse with. A name or
// email that is taken is a problem of its field.
func (s *Service) CreateAccount(
	ctx context.Context, actor access.Actor, name, ownerEmail string, locale text.Locale,
) (*NewAccount, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	email, err := CheckNewAccount(name, ownerEmail, locale)
	if err != nil {
		return nil, err
	}
	now := s.now()
	n := &NewAccount{Password: access.NewPassword()}
	n.Account = access.Account{ID: uuid7.New(), Name: name, Locale: locale, CreatedAt: now}
	n.Owner = access.User{
		ID: uuid7.New(), AccountID: n.Account.ID, Email: email, Role: access.Owner,
		PasswordHash: access.HashPassword(n.Password), CreatedAt: now,
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.InsertAccount(&n.Account); err != nil {
			return err
		}
		if err := tx.InsertUser(&n.Owner); err != nil {
			return err
		}
		id, credits := n.Account.ID, int64(access.InitialTestCredits)
		if _, err := tx.Grant(n.Account.Tenant(access.Test), credits, "initial Test credits", now); err != nil {
			return err
		}
		return s.recordStaffAction(tx, actor, audit.Action{
			Code: audit.AccountCreated, AccountID: id, Target: accountTarget(&n.Account),
			Details: map[string]any{"owner": email},
		})
	})
	if errors.Is(err, store.ErrExists) {
		if taken := s.takenBy(ctx, name, email); taken != nil {
			err = taken
		}
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// takenBy tells whether the name or the email of a new account is taken.
func (s *Service) takenBy(ctx context.Context, name, email string) error {
	var p fault.Problems
	if _, err := s.store.AccountByName(ctx, name); err == nil {
		p.Add("name", "taken", fmt.Sprintf("%q exists already", name))
	}
	if taken, err := s.store.EmailTaken(ctx, email); err == nil && taken {
		p.Add("email", "taken", fmt.Sprintf("%q belongs to a user already", email))
	}
	return p.Err()
}

// Account returns an account.
func (s *Service) Account(ctx context.Context, actor access.Actor, id string) (*access.Account, error) {
	id, ok := uuid7.Parse(id)
	if !ok {
		id = ""
	}
	if err := actor.RequireIn(access.ViewAccount, id); err != nil {
		return nil, err
	}
	a, err := s.store.Account(ctx, id)
	return a, store.NotFoundAs(err, fault.Missing("account"))
}

// FindAccount returns an account by its id or its exact name.
func (s *Service) FindAccount(ctx context.Context, actor access.Actor, idOrName string) (*access.Account, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	if id, ok := uuid7.Parse(idOrName); ok {
		if a, err := s.store.Account(ctx, id); !errors.Is(err, store.ErrNotFound) {
			return a, err
		}
	}
	a, err := s.store.AccountByName(ctx, idOrName)
	missing := fmt.Sprintf("There is no account with the id or name %q.", idOrName)
	return a, store.NotFoundAs(err, fault.New(fault.NotFound, fault.CodeNotFound, missing).With("entity", "account"))
}

// Accounts returns a page of the accounts by name, and how many match a search for part of a name or email.
func (s *Service) Accounts(
	ctx context.Context, actor access.Actor, search string, page, limit int,
) ([]access.AccountSummary, int64, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, 0, err
	}
	return s.store.Lists(ctx).AccountSummaries(ctx, search, s.now(), page, limit)
}

// AccountDetails is what belongs to an account.
type AccountDetails struct {
	Users     []*access.User
	Totals    map[access.Environment]credit.AccountTotals
	Endpoints int // in both environments
}

// AccountDetails returns what belongs to an account.
func (s *Service) AccountDetails(ctx context.Context, actor access.Actor, accountID string) (*AccountDetails, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	d := &AccountDetails{Totals: make(map[access.Environment]credit.AccountTotals)}
	var err error
	if d.Users, err = s.store.Users(ctx, accountID); err != nil {
		return nil, err
	}
	for _, env := range access.Environments {
		tenant := access.Tenant{AccountID: accountID, Environment: env}
		if d.Totals[env], err = s.store.AccountTotals(ctx, tenant); err != nil {
			return nil, err
		}
		endpoints, err := s.store.EndpointsOf(ctx, tenant)
		if err != nil {
			return nil, err
		}
		d.Endpoints += len(endpoints)
	}
	return d, nil
}

// SetPayloadLocale chooses the language of the account's webhook payloads and mail.
func (s *Service) SetPayloadLocale(ctx context.Context, actor access.Actor, l text.Locale) error {
	if err := actor.Require(access.ManageAccount); err != nil {
		return err
	}
	return s.store.Update(ctx, func(tx *store.Tx) error {
		id := actor.Tenant.AccountID
		return errors.Join(tx.SetAccountLocale(id, l),
			s.record(tx, actor, accountEvent(audit.LocaleChanged, id, map[string]any{"language": string(l)})))
	})
}
