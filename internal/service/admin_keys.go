package service

import (
	"context"
	"slices"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/store"
)

// MaxKeyLimit bounds what an administrator may allow a key in a minute.
const MaxKeyLimit = 1_000_000

// Keys returns the keys of an account, the oldest first, revoked ones included.
func (a *Administration) Keys(ctx context.Context, who *access.Staff, account *access.Account) ([]*access.Key, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	return a.store().Keys(ctx, account.ID)
}

// Key returns a key of an account with its webhook endpoints.
func (a *Administration) Key(ctx context.Context, who *access.Staff, account *access.Account, keyID string) (*access.Key, []*webhook.Endpoint, error) {
	if err := a.allow(who); err != nil {
		return nil, nil, err
	}
	k, err := keyOf(ctx, a.store().Queries, account, keyID)
	if err != nil {
		return nil, nil, err
	}
	endpoints, err := a.store().Endpoints(ctx, k.ID)
	return k, endpoints, err
}

func keyOf(ctx context.Context, q store.Queries, account *access.Account, keyID string) (*access.Key, error) {
	id, ok := store.ParseID(keyID)
	if !ok {
		return nil, missing("key")
	}
	k, err := q.KeyOf(ctx, account.ID, id)
	return k, orMissing(err, "key")
}

// CreateKey makes a key in the name of the account's owner. The secret is told once.
func (a *Administration) CreateKey(ctx context.Context, who *access.Staff, n NewKey) (*access.Key, string, error) {
	if err := a.allow(who); err != nil {
		return nil, "", err
	}
	var p problems
	p.name("name", n.Name)
	if len(n.Scopes) == 0 {
		p.add("scopes", "required", "at least one scope is needed")
	}
	for _, scope := range n.Scopes {
		if !slices.Contains(access.AllScopes, scope) {
			p.add("scopes", "unknown_code", "has an unknown scope")
		}
	}
	if _, ok := access.ParseEnvironment(string(n.Environment)); !ok {
		p.add("environment", "unknown_code", "must be test or live")
	}
	p.limits(n.Limits)
	if err := p.err(); err != nil {
		return nil, "", err
	}
	n.UserID, n.Actor = "", auditActor(who.Actor(Origin{}))
	return a.service.CreateKey(byStaff(ctx, who), n)
}

// limits checks limits by category; the field of each is limit_ and its category.
func (p *problems) limits(limits map[string]int) {
	for _, category := range ratelimit.Categories {
		if n, ok := limits[category]; ok && (n < 1 || n > MaxKeyLimit) {
			p.add("limit_"+category, "range", "must be a whole number from 1 to 1000000")
		}
	}
	for category := range limits {
		if !slices.Contains(ratelimit.Categories, category) {
			p.add("limit_"+category, "unknown_code", "is no category")
		}
	}
}

// keyRevoked is the refusal to change a key that has ended.
var keyRevoked = fault.New(fault.Conflict, "key-revoked", "The key is revoked; it cannot be changed any more.")

// RenameKey gives a key another name. The same name changes nothing.
func (a *Administration) RenameKey(ctx context.Context, who *access.Staff, account *access.Account, keyID, name string) error {
	if err := a.allow(who); err != nil {
		return err
	}
	var p problems
	p.name("name", name)
	if err := p.err(); err != nil {
		return err
	}
	return a.changeKey(ctx, account, keyID, func(tx *store.Tx, k *access.Key) error {
		old := k.Name
		if old == name {
			return nil
		}
		if err := tx.RenameKey(account.ID, k.ID, name); err != nil {
			return err
		}
		owner, err := tx.Owner(ctx, account.ID)
		if err != nil {
			return err
		}
		k.Name = name
		e := keyEvent(audit.KeyRenamed, k, auditActor(who.Actor(Origin{})), owner.ID)
		e.At = a.service.now()
		e.Metadata["old_name"], e.Metadata["new_name"] = old, name
		if err := tx.AppendAudit(e); err != nil {
			return err
		}
		return a.service.did(byStaff(ctx, who), tx, audit.Action{
			Code: audit.ActionKeyRenamed, AccountID: account.ID, Target: onKey(k), Details: map[string]any{"old_name": old},
		})
	})
}

// SetKeyLimits replaces the limits of a key; a category that is not there has the default.
func (a *Administration) SetKeyLimits(ctx context.Context, who *access.Staff, account *access.Account, keyID string, limits map[string]int) error {
	if err := a.allow(who); err != nil {
		return err
	}
	var p problems
	p.limits(limits)
	if err := p.err(); err != nil {
		return err
	}
	return a.changeKey(ctx, account, keyID, func(tx *store.Tx, k *access.Key) error {
		if err := tx.SetKeyLimits(account.ID, k.ID, limits); err != nil {
			return err
		}
		return a.service.did(byStaff(ctx, who), tx, audit.Action{
			Code: audit.ActionKeyLimited, AccountID: account.ID, Target: onKey(k), Details: map[string]any{"limits": limits},
		})
	})
}

// SetKeyNetworks replaces where a key may be used from; none: anywhere.
func (a *Administration) SetKeyNetworks(ctx context.Context, who *access.Staff, account *access.Account, keyID string, networks access.Networks) error {
	if err := a.allow(who); err != nil {
		return err
	}
	return a.changeKey(ctx, account, keyID, func(tx *store.Tx, k *access.Key) error {
		if err := tx.SetKeyNetworks(account.ID, k.ID, networks); err != nil {
			return err
		}
		return a.service.did(byStaff(ctx, who), tx, audit.Action{
			Code: audit.ActionKeyNetworks, AccountID: account.ID, Target: onKey(k), Details: map[string]any{"networks": networks.Texts()},
		})
	})
}

// changeKey changes a key that is not revoked, in one transaction.
func (a *Administration) changeKey(ctx context.Context, account *access.Account, keyID string, f func(*store.Tx, *access.Key) error) error {
	err := a.store().Update(ctx, func(tx *store.Tx) error {
		k, err := keyOf(ctx, tx.Queries, account, keyID)
		if err != nil {
			return err
		}
		if err := tx.LockKey(k.ID); err != nil {
			return err
		}
		if k, err = keyOf(ctx, tx.Queries, account, keyID); err != nil {
			return err
		}
		if k.RevokedAt != nil {
			return keyRevoked
		}
		return f(tx, k)
	})
	a.service.keys.Clear()
	return err
}

// RevokeKey ends a key of the account for good. Revoking a revoked key changes nothing.
func (a *Administration) RevokeKey(ctx context.Context, who *access.Staff, account *access.Account, keyID string) (*access.Key, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	k, err := keyOf(ctx, a.store().Queries, account, keyID)
	if err != nil {
		return nil, err
	}
	return a.service.RevokeKey(byStaff(ctx, who), k.ID, auditActor(who.Actor(Origin{})))
}
