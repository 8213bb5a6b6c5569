package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// NewKey says what key to make.
type NewKey struct {
	access.Tenant
	Name      string
	Scopes    []access.Scope
	Limits    map[string]int // by category, where it is not the default
	Networks  access.Networks
	ExpiresAt *time.Time // nil: never
}

func (n *NewKey) check(actor access.Actor, now time.Time) error {
	var p fault.Problems
	access.CheckNameField(&p, "name", n.Name)
	if len(n.Scopes) == 0 {
		p.Add("scopes", "required", "must name at least one scope")
	}
	for _, scope := range n.Scopes {
		if !slices.Contains(access.AllScopes, scope) {
			p.Add("scopes", "unknown_code", "has an unknown scope")
		}
	}
	if !slices.Contains(access.Environments, n.Environment) {
		p.Add("environment", "unknown_code", "must be test or live")
	}
	if n.ExpiresAt != nil && !n.ExpiresAt.After(now) {
		p.Add("expires", "past", "must be in the future")
	}
	if n.ExpiresAt != nil && n.ExpiresAt.After(now.AddDate(MaxKeyYears, 0, 0)) {
		p.Add("expires", "too_far", "must be at most 100 years from now")
	}
	checkLimits(&p, actor, n.Limits)
	return p.Err()
}

// MaxKeyYears bounds when a key may expire: no answer can tell a time after the year 9999.
const MaxKeyYears = 100

// MaxKeyLimit bounds what administrators may allow a key in a minute. Operators may allow more.
const MaxKeyLimit = 1_000_000

// checkLimits checks limits by category; the field of each is limit_ and its category.
func checkLimits(p *fault.Problems, actor access.Actor, limits map[string]int) {
	most, rule := MaxKeyLimit, "must be a whole number from 1 to 1000000"
	if actor.Kind == access.ByOperator {
		most, rule = math.MaxInt, "must be at least 1"
	}
	for _, category := range ratelimit.Categories {
		if n, ok := limits[category]; ok && (n < 1 || n > most) {
			p.Add("limit_"+category, "range", rule)
		}
	}
	for category := range limits {
		if !slices.Contains(ratelimit.Categories, category) {
			p.Add("limit_"+category, "unknown_code", "is no category")
		}
	}
}

// CreateKey makes an API key. The secret is returned once and cannot be read again. A key that no account user makes is
// made on behalf of the account's owner.
func (s *Service) CreateKey(ctx context.Context, actor access.Actor, n NewKey) (*access.Key, string, error) {
	if err := actor.RequireIn(access.ManageKeys, n.AccountID); err != nil {
		return nil, "", err
	}
	if len(n.Limits) > 0 {
		if err := actor.Require(access.LimitKeys); err != nil {
			return nil, "", err
		}
	}
	now := s.now()
	n.Name = strings.TrimSpace(n.Name)
	if err := n.check(actor, now); err != nil {
		return nil, "", err
	}
	secretKey := access.NewSecretKey(n.Environment)
	k := &access.Key{
		ID: uuid7.New(), Tenant: n.Tenant, Name: n.Name, Hint: access.KeyHint(secretKey), Scopes: n.Scopes,
		Limits: n.Limits, Networks: n.Networks, CreatedAt: now, ExpiresAt: n.ExpiresAt,
	}
	if k.Limits == nil {
		k.Limits = map[string]int{}
	}
	err := s.store.Update(ctx, func(tx *store.Tx) (err error) {
		if k.CreatedBy, err = userFor(tx, actor, k.AccountID); err != nil {
			return err
		}
		if err := s.checkKeys(tx, actor, k.AccountID); err != nil {
			return err
		}
		if err := tx.InsertKey(k, access.HashSecretKey(secretKey)); err != nil {
			return err
		}
		return s.recordKey(tx, actor, k, keyChange{code: audit.KeyCreated, userID: k.CreatedBy, details: map[string]any{
			"environment": string(k.Environment), "scopes": k.Scopes, "limits": k.Limits, "networks": k.Networks.Texts(),
		}})
	})
	if err != nil {
		return nil, "", err
	}
	return k, secretKey, nil
}

// userFor returns the account user on whose behalf an actor changes something of an account: themselves, or the owner.
func userFor(tx *store.Tx, actor access.Actor, accountID string) (string, error) {
	if actor.Kind == access.ByUser {
		return actor.ID, nil
	}
	owner, err := tx.Owner(tx.Context(), accountID)
	if err != nil {
		return "", fmt.Errorf("find the owner of the account: %w", err)
	}
	return owner.ID, nil
}

// Keys returns the keys of an account, the oldest first, revoked ones included.
func (s *Service) Keys(ctx context.Context, actor access.Actor, accountID string) ([]*access.Key, error) {
	if err := actor.RequireIn(access.ViewAccount, accountID); err != nil {
		return nil, err
	}
	return s.store.Lists(ctx).Keys(ctx, accountID)
}

// Key returns a key, or access.KeyNotFound.
func (s *Service) Key(ctx context.Context, actor access.Actor, id string) (*access.Key, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	return keyFor(ctx, s.store.Queries, actor, id)
}

// keyFor returns a key that exists for the actor, or access.KeyNotFound.
func keyFor(ctx context.Context, q store.Queries, actor access.Actor, id string) (*access.Key, error) {
	k, err := byID(ctx, id, q.Key, access.KeyNotFound)
	if err == nil && !actor.Sees(k.Tenant) {
		return nil, access.KeyNotFound
	}
	return k, err
}

// RenameKey gives a key another name. The same name changes nothing.
func (s *Service) RenameKey(ctx context.Context, actor access.Actor, id, name string) error {
	if err := actor.Require(access.ManageKeys); err != nil {
		return err
	}
	name = strings.TrimSpace(name)
	var p fault.Problems
	access.CheckNameField(&p, "name", name)
	if err := p.Err(); err != nil {
		return err
	}
	return s.changeKey(ctx, actor, id, func(tx *store.Tx, k *access.Key) error {
		old := k.Name
		if old == name {
			return nil
		}
		userID, err := userFor(tx, actor, k.AccountID)
		if err != nil {
			return err
		}
		k.Name = name
		return errors.Join(tx.RenameKey(k.ID, name), s.recordKey(tx, actor, k, keyChange{
			code: audit.KeyRenamed, userID: userID,
			metadata: map[string]any{"old_name": old, "new_name": name}, details: map[string]any{"old_name": old},
		}))
	})
}

// SetKeyLimits replaces the limits of a key; a category that is not there has the default.
func (s *Service) SetKeyLimits(ctx context.Context, actor access.Actor, id string, limits map[string]int) error {
	if err := actor.Require(access.LimitKeys); err != nil {
		return err
	}
	var p fault.Problems
	checkLimits(&p, actor, limits)
	if err := p.Err(); err != nil {
		return err
	}
	return s.changeKey(ctx, actor, id, func(tx *store.Tx, k *access.Key) error {
		change := map[string]any{"limits": limits}
		return errors.Join(tx.SetKeyLimits(k.ID, limits),
			s.recordKey(tx, actor, k, keyChange{code: audit.KeyLimited, metadata: change, details: change}))
	})
}

// SetKeyNetworks replaces where a key may be used from; none: anywhere. It takes effect as a revocation does, within a
// second.
func (s *Service) SetKeyNetworks(ctx context.Context, actor access.Actor, id string, networks access.Networks) error {
	if err := actor.Require(access.ManageKeys); err != nil {
		return err
	}
	return s.changeKey(ctx, actor, id, func(tx *store.Tx, k *access.Key) error {
		change := map[string]any{"networks": networks.Texts()}
		return errors.Join(tx.SetKeyNetworks(k.ID, networks),
			s.recordKey(tx, actor, k, keyChange{code: audit.KeyNetworksSet, metadata: change, details: change}))
	})
}

// changeKey changes a key that is not revoked, in one transaction.
func (s *Service) changeKey(
	ctx context.Context, actor access.Actor, id string, f func(*store.Tx, *access.Key) error,
) error {
	err := s.store.Update(ctx, func(tx *store.Tx) error {
		k, err := keyFor(ctx, tx.Queries, actor, id)
		if err != nil {
			return err
		}
		if err := tx.LockKey(k.ID); err != nil {
			return err
		}
		if k, err = tx.Key(ctx, k.ID); err != nil {
			return err
		}
		if k.RevokedAt != nil {
			return access.KeyRevoked
		}
		return f(tx, k)
	})
	s.keysChanged(err)
	return err
}

// RevokeKey ends a key for good: it no longer authenticates, and its webhook endpoints get nothing more; what was still
// to be sent to them is dropped by the sender. Revoking a revoked key changes nothing.
func (s *Service) RevokeKey(ctx context.Context, actor access.Actor, id string) (k *access.Key, err error) {
	if err := actor.Require(access.ManageKeys); err != nil {
		return nil, err
	}
	err = s.store.Update(ctx, func(tx *store.Tx) (err error) {
		if k, err = keyFor(ctx, tx.Queries, actor, id); err != nil {
			return err
		}
		now := s.now()
		changed, err := tx.RevokeKey(k.ID, now)
		if err != nil || !changed {
			return err
		}
		k.RevokedAt = &now
		userID, err := userFor(tx, actor, k.AccountID)
		if err != nil {
			return err
		}
		details := map[string]any{"environment": string(k.Environment)}
		return s.recordKey(tx, actor, k, keyChange{code: audit.KeyRevoked, userID: userID, details: details})
	})
	s.keysChanged(err)
	return k, err
}

// keyChange is what was done to a key, for both logs.
type keyChange struct {
	code     audit.Code     // the log of administration has the same one
	userID   string         // on behalf of whom; may be empty
	metadata map[string]any // for the log of the account
	details  map[string]any // for the log of administration
}

// recordKey writes what was done to a key to the log of its account and to that of administration.
func (s *Service) recordKey(tx *store.Tx, actor access.Actor, k *access.Key, c keyChange) error {
	of := map[string]any{"name": k.Name, "environment": string(k.Environment), "scopes": k.Scopes}
	e := eventOn(k.AccountID, c.code, audit.TargetAPIKey, k.ID, of, c.metadata)
	e.UserID, e.At, e.Actor = c.userID, s.now(), audit.By(actor)
	return errors.Join(tx.AppendEvent(&e), s.recordStaffAction(tx, actor, audit.Action{
		Code: audit.ActionCode(c.code), AccountID: k.AccountID, Details: c.details,
		Target: audit.ActionTarget{Type: audit.ActionTargetKey, ID: k.ID, Name: k.Name},
	}))
}

const (
	// keyCacheLife saves most look-ups of keys; a revocation by any node or command is felt everywhere within a second.
	keyCacheLife = 500 * time.Millisecond

	keyCacheSize = 10_000

	// keyUseGap is how stale the time of a key's last use may be: a key in use writes to the database at most this often.
	keyUseGap = time.Minute
)

// Authenticate returns the API key behind a bearer token that came from an address, or access.Unauthenticated, which is
// the same for missing, malformed, unknown, revoked and expired keys. A valid key that may not be used from there is
// access.WrongNetwork, and not noted as used.
func (s *Service) Authenticate(ctx context.Context, token, address string) (*access.Key, error) {
	if len(token) > access.MaxSecretKey {
		return nil, access.Unauthenticated
	}
	now := s.now()
	sum := access.SumSecretKey(token)
	k, err := s.keys.Load(sum, now, func() (*access.Key, error) {
		if _, ok := access.ParseSecretKey(token); !ok {
			return nil, access.Unauthenticated
		}
		k, err := s.store.KeyByHash(ctx, sum.String())
		if err == nil && k.UsableAt(now) && k.Networks.Allow(address) {
			s.recordKeyUse(k, now)
		}
		return k, store.NotFoundAs(err, access.Unauthenticated)
	})
	if err != nil {
		return nil, err
	}
	if !k.UsableAt(now) {
		return nil, access.Unauthenticated
	}
	if !k.Networks.Allow(address) {
		return nil, access.WrongNetwork(address)
	}
	return k, nil
}

// recordKeyUse saves the time of a key's use, without the request waiting for it. What is lost when the program ends is
// a minute of precision.
func (s *Service) recordKeyUse(k *access.Key, now time.Time) {
	if _, recorded := s.keyUses.Get(k.ID, now); recorded {
		return
	}
	s.keyUses.Put(k.ID, struct{}{}, now)
	go func() {
		err := s.store.Update(context.Background(), func(tx *store.Tx) error { return tx.TouchKey(k.ID, now) })
		if err != nil {
			s.log.Debug("the use of a key was not recorded", "key", k.ID, "error", err)
		}
	}()
}

// checkKeys refuses a further key to the users of an account that has as many as it may have. Each key has quotas of
// its own: without a cap they would mean nothing. Who runs the service is not held back.
func (s *Service) checkKeys(tx *store.Tx, actor access.Actor, accountID string) error {
	if s.limits.Keys <= 0 || actor.IsStaffOrOperator() {
		return nil
	}
	if err := tx.LockTeam(accountID); err != nil {
		return err
	}
	n, err := tx.CountKeys(tx.Context(), accountID)
	if err != nil || n < s.limits.Keys {
		return err
	}
	return KeyLimitReached.With("limit", s.limits.Keys)
}

// KeyLimitReached is the refusal of a key to an account that has as many as it may have.
var KeyLimitReached = fault.New(fault.Conflict, "key-limit-reached",
	"The account has as many API keys as it may have. Revoke one that is not used any more.")

// keysChanged forgets what is known of keys, here and on all nodes, unless the transaction has failed with err.
func (s *Service) keysChanged(err error) {
	if s.ForgetKeys(); err == nil {
		s.onChange(KeyChange)
	}
}

// ForgetKeys has all keys read from the database again.
func (s *Service) ForgetKeys() { s.keys.Clear() }
