package integrationtest

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// Account is a customer with an owner. It has the usual Test credits and LiveCredits.
type Account struct {
	World   *World
	Account *access.Account
	OwnerID string
}

// LiveCredits is the Live balance of a new account.
const LiveCredits = 1_000

// noPassword is the hash of no password: hashing one takes longer than most tests.
const noPassword = "$none$"

// NewAccount makes an account whose webhook payloads are in English.
func (w *World) NewAccount(t testing.TB) *Account {
	t.Helper()
	return w.NewAccountIn(t, text.English)
}

// NewAccountIn makes an account whose webhook payloads are in the language.
func (w *World) NewAccountIn(t testing.TB, locale text.Locale) *Account {
	t.Helper()
	name := "account-" + strings.ToLower(rand.Text())
	now := w.Clock.Now()
	a := &Account{
		World: w, OwnerID: uuid7.New(),
		Account: &access.Account{ID: uuid7.New(), Name: name, Locale: locale, CreatedAt: now},
	}
	owner := &access.User{
		ID: a.OwnerID, AccountID: a.Account.ID, Email: name + "@example.com", Role: access.Owner, PasswordHash: noPassword,
		CreatedAt: now,
	}
	err := w.Store.Update(t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertAccount(a.Account); err != nil {
			return err
		}
		if err := tx.InsertUser(owner); err != nil {
			return err
		}
		if _, err := tx.Grant(a.Account.Tenant(access.Live), LiveCredits, "live", now); err != nil {
			return err
		}
		_, err := tx.Grant(a.Account.Tenant(access.Test), access.InitialTestCredits, "test", now)
		return err
	})
	if err != nil {
		t.Fatalf("make an account: %v", err)
	}
	return a
}

// Balance returns the credits as the database has them.
func (a *Account) Balance(t testing.TB, env access.Environment) int64 {
	t.Helper()
	credits, err := a.World.Store.Balance(t.Context(), a.Account.Tenant(env))
	if err != nil {
		t.Fatal(err)
	}
	return credits
}

// SetCredits brings a balance to a number by a ledger entry.
func (a *Account) SetCredits(t testing.TB, env access.Environment, credits int64) {
	t.Helper()
	change := credits - a.Balance(t, env)
	if change == 0 {
		return
	}
	tenant := access.Tenant{AccountID: a.Account.ID, Environment: env}
	if _, err := a.World.Service.GrantCredits(t.Context(), access.Operator, tenant, change, "set by a test"); err != nil {
		t.Fatal(err)
	}
}

// KeyOption changes a key from what it usually is: all scopes, and limits that no test reaches.
type KeyOption func(*service.NewKey)

// Scopes gives the key these scopes only.
func Scopes(scopes ...access.Scope) KeyOption {
	return func(n *service.NewKey) { n.Scopes = scopes }
}

// UsualLimits gives the key the limits of the contract.
func UsualLimits() KeyOption {
	return func(n *service.NewKey) { n.Limits = nil }
}

// Limit gives the key another limit in a category.
func Limit(category string, n int) KeyOption {
	return func(k *service.NewKey) {
		limits := map[string]int{category: n}
		for c, l := range k.Limits {
			if c != category {
				limits[c] = l
			}
		}
		k.Limits = limits
	}
}

// From restricts the key to networks.
func From(t testing.TB, networks ...string) KeyOption {
	t.Helper()
	checked, problem := access.CheckNetworks("networks", networks)
	if problem != nil {
		t.Fatal(problem.Message)
	}
	return func(n *service.NewKey) { n.Networks = checked }
}

// Named names the key.
func Named(name string) KeyOption {
	return func(n *service.NewKey) { n.Name = name }
}

const unreachable = 1_000_000

// lastAddress counts the addresses that clients come from: each has its own, so that one's failures are not another's.
var lastAddress atomic.Uint32

// Key makes an API key and returns the client that uses it.
func (a *Account) Key(t testing.TB, env access.Environment, options ...KeyOption) *Client {
	t.Helper()
	n := service.NewKey{
		Tenant: access.Tenant{AccountID: a.Account.ID, Environment: env}, Name: "key of a test", Scopes: access.AllScopes,
		Limits: map[string]int{},
	}
	for _, category := range ratelimit.Categories {
		n.Limits[category] = unreachable
	}
	for _, option := range options {
		option(&n)
	}
	k, secretKey, err := a.World.Service.CreateKey(t.Context(), access.Operator, n)
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	return &Client{World: a.World, Account: a, Key: k, Secret: secretKey, Address: newAddress()}
}

// Test makes a Test key with all scopes.
func (a *Account) Test(t testing.TB, options ...KeyOption) *Client {
	t.Helper()
	return a.Key(t, access.Test, options...)
}

// Live makes a Live key with all scopes.
func (a *Account) Live(t testing.TB, options ...KeyOption) *Client {
	t.Helper()
	return a.Key(t, access.Live, options...)
}

// Test makes an account and a Test key of it with all scopes.
func (w *World) Test(t testing.TB) *Client {
	t.Helper()
	return w.NewAccount(t).Test(t)
}

// Live makes an account and a Live key of it with all scopes.
func (w *World) Live(t testing.TB) *Client {
	t.Helper()
	return w.NewAccount(t).Live(t)
}

func newAddress() string {
	n := lastAddress.Add(1)
	return fmt.Sprintf("198.18.%d.%d:4321", n>>8&0xff, n&0xff)
}

// Anonymous returns a client without a key, from an address of its own.
func (w *World) Anonymous() *Client { return &Client{World: w, Address: newAddress()} }
