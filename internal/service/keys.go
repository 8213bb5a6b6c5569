package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store"
)

// NewKey says what key to make.
type NewKey struct {
	AccountID   string
	Environment access.Environment
	Name        string
	Scopes      []access.Scope
	Limits      map[string]int // by category, where it is not the default
	Networks    access.Networks
	ExpiresAt   *time.Time // nil: never
	UserID      string     // the account user who makes it; empty: the owner, for whom an operator acts
	Actor       audit.Actor
}

// CreateKey makes an API key. The secret is returned once and cannot be read again.
func (s *Service) CreateKey(ctx context.Context, n NewKey) (k *access.Key, secretKey string, err error) {
	if err := access.CheckName("the key name", n.Name); err != nil {
		return nil, "", err
	}
	if len(n.Scopes) == 0 {
		return nil, "", errors.New("a key needs at least one scope")
	}
	secretKey = access.NewSecretKey(n.Environment)
	k = &access.Key{
		ID: store.NewID(), Tenant: access.Tenant{AccountID: n.AccountID, Environment: n.Environment}, Name: n.Name, Hint: access.KeyHint(secretKey),
		Scopes: n.Scopes, Limits: n.Limits, Networks: n.Networks, CreatedBy: n.UserID, CreatedAt: s.now(), ExpiresAt: n.ExpiresAt,
	}
	if k.Limits == nil {
		k.Limits = map[string]int{}
	}
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		if k.CreatedBy == "" {
			owner, err := tx.Owner(ctx, n.AccountID)
			if err != nil {
				return fmt.Errorf("find the owner of the account: %w", err)
			}
			k.CreatedBy = owner.ID
		}
		if err := tx.InsertKey(k, access.HashSecretKey(secretKey)); err != nil {
			return err
		}
		if err := tx.AppendAudit(keyEvent(audit.KeyCreated, k, n.Actor, k.CreatedBy)); err != nil {
			return err
		}
		return s.did(ctx, tx, audit.Action{
			Code: audit.ActionKeyCreated, AccountID: k.AccountID, Target: onKey(k),
			Details: map[string]any{"environment": string(k.Environment), "scopes": k.Scopes, "limits": k.Limits, "networks": k.Networks.Texts()},
		})
	})
	if err != nil {
		return nil, "", err
	}
	return k, secretKey, nil
}

// RevokeKey ends a key for good: it no longer authenticates, and its webhook endpoints get nothing more. Revoking a
// revoked key changes nothing.
func (s *Service) RevokeKey(ctx context.Context, keyID string, actor audit.Actor) (*access.Key, error) {
	id, ok := store.ParseID(keyID)
	if !ok {
		return nil, fmt.Errorf("%q is not a key id", keyID)
	}
	var k *access.Key
	err := s.Store.Update(ctx, func(tx *store.Tx) (err error) {
		if k, err = tx.Key(ctx, id); err != nil {
			return err
		}
		now := s.now()
		changed, err := tx.RevokeKey(id, now)
		if err != nil || !changed {
			return err
		}
		k.RevokedAt = &now
		if err := tx.DropPendingDeliveriesOfKey(id); err != nil {
			return err
		}
		userID := actor.ID
		if actor.Type != audit.ByUser {
			owner, err := tx.Owner(ctx, k.AccountID)
			if err != nil {
				return err
			}
			userID = owner.ID
		}
		e := keyEvent(audit.KeyRevoked, k, actor, userID)
		e.At = now
		if err := tx.AppendAudit(e); err != nil {
			return err
		}
		return s.did(ctx, tx, audit.Action{
			Code: audit.ActionKeyRevoked, AccountID: k.AccountID, Target: onKey(k), Details: map[string]any{"environment": string(k.Environment)},
		})
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("there is no key with the id %s", id)
	}
	s.keys.Clear()
	return k, err
}

func keyEvent(code audit.Code, k *access.Key, actor audit.Actor, userID string) *audit.Event {
	return &audit.Event{
		AccountID: k.AccountID, UserID: userID, At: k.CreatedAt, Code: code, Actor: actor,
		Target:   audit.Target{Type: audit.OnAPIKey, ID: k.ID},
		Metadata: map[string]any{"name": k.Name, "environment": string(k.Environment), "scopes": k.Scopes},
	}
}
