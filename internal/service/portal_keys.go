package service

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
)

// KeyNotFound is the refusal of a key that the account does not have, or not any more.
var KeyNotFound = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such API key.").With("entity", "api-key")

// UsedKey is a key with the time of its last use; nil: never, as far as is known.
type UsedKey struct {
	*access.Key
	LastUsedAt *time.Time
}

// PortalKeys returns the keys of the member's account, the oldest first.
func (s *Service) PortalKeys(ctx context.Context, who *Member) ([]UsedKey, error) {
	keys, err := s.Store.Keys(ctx, who.AccountID)
	if err != nil {
		return nil, err
	}
	uses, err := s.Store.KeyUses(ctx, who.AccountID)
	if err != nil {
		return nil, err
	}
	used := make([]UsedKey, len(keys))
	for i, k := range keys {
		used[i].Key = k
		if at, ok := uses[k.ID]; ok {
			used[i].LastUsedAt = &at
		}
	}
	return used, nil
}

// PortalKey returns a key of the member's account, or KeyNotFound.
func (s *Service) PortalKey(ctx context.Context, who *Member, id string) (*access.Key, error) {
	id, ok := store.ParseID(id)
	if !ok {
		return nil, KeyNotFound
	}
	k, err := s.Store.KeyOf(ctx, who.AccountID, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, KeyNotFound
	}
	return k, err
}

// PortalCreateKey makes an API key for the member's account. The secret is told once. It is for developers.
func (s *Service) PortalCreateKey(ctx context.Context, who *Member, n NewKey, from Origin) (*access.Key, string, error) {
	if err := who.Require(access.Developer); err != nil {
		return nil, "", err
	}
	var problems []fault.Problem
	n.Name = strings.TrimSpace(n.Name)
	if p := nameProblem("name", n.Name); p != nil {
		problems = append(problems, *p)
	}
	if len(n.Scopes) == 0 {
		problems = append(problems, fault.Problem{Field: "scopes", Code: "required", Message: "must name at least one scope"})
	}
	if n.ExpiresAt != nil && !n.ExpiresAt.After(s.now()) {
		problems = append(problems, fault.Problem{Field: "expires", Code: "past", Message: "must be in the future"})
	}
	if problems != nil {
		return nil, "", fault.Validation(problems...)
	}
	n.AccountID, n.UserID, n.Actor, n.Limits = who.AccountID, who.ID, auditActor(who.Actor("", from)), nil
	return s.CreateKey(ctx, n)
}

// nameProblem holds the rules of names as problems of a field.
func nameProblem(field, name string) *fault.Problem {
	if name == "" {
		return &fault.Problem{Field: field, Code: "required", Message: "must not be empty"}
	}
	if err := access.CheckName(field, name); err != nil {
		return &fault.Problem{Field: field, Code: "name", Message: "must have 1 to 100 characters and no control characters"}
	}
	return nil
}

// RenameKey gives a key another name. It is for developers; a revoked key keeps its name.
func (s *Service) RenameKey(ctx context.Context, who *Member, id, name string, from Origin) error {
	if err := who.Require(access.Developer); err != nil {
		return err
	}
	name = strings.TrimSpace(name)
	if p := nameProblem("name", name); p != nil {
		return fault.Validation(*p)
	}
	k, err := s.PortalKey(ctx, who, id)
	if err != nil {
		return err
	}
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.LockKey(k.ID); err != nil {
			return err
		}
		k, err := tx.KeyOf(ctx, who.AccountID, k.ID)
		if err != nil || k.Name == name {
			return err
		}
		if err := tx.RenameKey(who.AccountID, k.ID, name); err != nil {
			return err
		}
		old := k.Name
		k.Name = name
		e := keyEvent(audit.KeyRenamed, k, auditActor(who.Actor("", from)), who.ID)
		e.At = s.now()
		e.Metadata["old_name"], e.Metadata["new_name"] = old, name
		return tx.AppendAudit(e)
	})
	s.keys.Clear()
	if errors.Is(err, store.ErrNotFound) {
		return KeyNotFound
	}
	return err
}

// SetKeyNetworks replaces where a key may be used from; none: anywhere. It takes effect as a revocation does, within a
// second. It is for developers; a revoked key keeps its networks. The interface has no audit event for it, so it stands in the
// log of the program.
func (s *Service) SetKeyNetworks(ctx context.Context, who *Member, id string, networks access.Networks, from Origin) error {
	if err := who.Require(access.Developer); err != nil {
		return err
	}
	k, err := s.PortalKey(ctx, who, id)
	if err != nil {
		return err
	}
	err = s.Store.Update(ctx, func(tx *store.Tx) error { return tx.SetKeyNetworks(who.AccountID, k.ID, networks) })
	s.keys.Clear()
	if errors.Is(err, store.ErrNotFound) {
		return KeyNotFound
	}
	if err == nil {
		s.Log.InfoContext(ctx, "networks of a key set", "account_id", who.AccountID, "key_id", k.ID, "user_id", who.ID, "ip", from.IP, "networks", networks.String())
	}
	return err
}

// PortalRevokeKey ends a key of the member's account for good. It is for developers.
func (s *Service) PortalRevokeKey(ctx context.Context, who *Member, id string, from Origin) (*access.Key, error) {
	if err := who.Require(access.Developer); err != nil {
		return nil, err
	}
	k, err := s.PortalKey(ctx, who, id)
	if err != nil {
		return nil, err
	}
	return s.RevokeKey(ctx, k.ID, auditActor(who.Actor("", from)))
}

// keyUseGap is how stale the time of a key's last use may be: a key in use writes to the database at most this often.
const keyUseGap = time.Minute

// keyUses remembers which uses of keys this node has noted lately.
type keyUses struct {
	mu    sync.Mutex
	noted map[string]time.Time
}

// due reports whether a use now is to be noted, and takes it as noted.
func (u *keyUses) due(id string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.noted[id]; ok && now.Sub(last) < keyUseGap && !now.Before(last) {
		return false
	}
	if u.noted == nil || len(u.noted) >= keyCacheSize {
		u.noted = make(map[string]time.Time)
	}
	u.noted[id] = now
	return true
}

// noteKeyUse keeps the time of a key's use, without the request waiting for it. What is lost when the program ends is a
// minute of precision.
func (s *Service) noteKeyUse(k *access.Key, now time.Time) {
	if !s.uses.due(k.ID, now) {
		return
	}
	go func() {
		if err := s.Store.Update(context.Background(), func(tx *store.Tx) error { return tx.TouchKey(k.ID, now) }); err != nil {
			s.Log.Debug("the use of a key was not noted", "key", k.ID, "error", err)
		}
	}()
}
