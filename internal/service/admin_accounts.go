package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// Accounts returns a page of the accounts by name, and how many match a search for part of a name or email.
func (a *Administration) Accounts(ctx context.Context, who *access.Staff, search string, page, limit int) ([]store.AccountSummary, int64, error) {
	if err := a.allow(who); err != nil {
		return nil, 0, err
	}
	return a.store().AccountSummaries(ctx, search, page, limit)
}

// Account returns an account.
func (a *Administration) Account(ctx context.Context, who *access.Staff, id string) (*access.Account, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	id, ok := store.ParseID(id)
	if !ok {
		return nil, missing("account")
	}
	account, err := a.store().Account(ctx, id)
	return account, orMissing(err, "account")
}

// AccountFacts is what the page of an account shows.
type AccountFacts struct {
	Users     []*access.User
	Books     map[access.Environment]store.Book
	Endpoints map[access.Environment]int
}

// AccountFacts reads what belongs to an account.
func (a *Administration) AccountFacts(ctx context.Context, who *access.Staff, account *access.Account) (*AccountFacts, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	f := &AccountFacts{Books: make(map[access.Environment]store.Book), Endpoints: make(map[access.Environment]int)}
	var err error
	if f.Users, err = a.store().Users(ctx, account.ID); err != nil {
		return nil, err
	}
	for _, env := range access.Environments {
		if f.Books[env], err = a.store().Book(ctx, account.ID, env); err != nil {
			return nil, err
		}
		endpoints, err := a.store().EndpointsOf(ctx, account.ID, env)
		if err != nil {
			return nil, err
		}
		f.Endpoints[env] = len(endpoints)
	}
	return f, nil
}

// CreateAccount makes an account with its owner. A name or email that is taken is a problem of its field.
func (a *Administration) CreateAccount(ctx context.Context, who *access.Staff, name, ownerEmail string, locale text.Locale) (*NewAccount, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	var p problems
	p.name("name", name)
	email := p.email("email", ownerEmail)
	if _, ok := text.ParseLocale(string(locale)); !ok {
		p.add("locale", "unknown_code", "must be en or ja")
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	n, err := a.service.CreateAccount(byStaff(ctx, who), name, email, locale)
	if err != nil {
		return nil, errors.Join(a.takenBy(ctx, name, email), err)
	}
	return n, nil
}

// takenBy tells what stands against a new account, or nil.
func (a *Administration) takenBy(ctx context.Context, name, email string) error {
	var p problems
	if _, err := a.store().AccountByName(ctx, name); err == nil {
		p.add("name", "taken", "is taken by another account")
	}
	if taken, err := a.store().EmailTaken(ctx, email); err == nil && taken {
		p.add("email", "taken", "belongs to a user already")
	}
	return p.err()
}

// Ledger returns a page of the ledger of an account and environment, newest first, and how many entries there are.
func (a *Administration) Ledger(
	ctx context.Context, who *access.Staff, account *access.Account, env access.Environment, page, limit int,
) ([]*credit.Entry, int64, error) {
	if err := a.allow(who); err != nil {
		return nil, 0, err
	}
	return a.store().LedgerPage(ctx, account.ID, env, page, limit)
}

// Orders returns a page of the orders of an account and environment, newest first, and how many there are.
func (a *Administration) Orders(
	ctx context.Context, who *access.Staff, account *access.Account, env access.Environment, page, limit int,
) ([]order.Summary, int64, error) {
	f := order.Filter{Tenant: access.Tenant{AccountID: account.ID, Environment: env}}
	return a.service.OrderPage(ctx, who.Actor(Origin{}), f, page, limit)
}

// GrantCredits changes a balance by a ledger entry and returns the balance after it. The amount may be negative, the
// balance may not become so.
func (a *Administration) GrantCredits(
	ctx context.Context, who *access.Staff, account *access.Account, env access.Environment, amount int64, note string,
) (int64, error) {
	if err := a.allow(who); err != nil {
		return 0, err
	}
	var p problems
	if amount == 0 || amount > credit.MaxCredits || amount < -credit.MaxCredits {
		p.add("amount", "range", fmt.Sprintf("must be a whole number other than 0, at most %d", int64(credit.MaxCredits)))
	}
	p.name("note", note)
	if err := p.err(); err != nil {
		return 0, err
	}
	return a.service.GrantCredits(byStaff(ctx, who), account, env, amount, note)
}
