package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
)

// StartSession signs a user in: it makes a session with a fresh id and secret, whatever the browser sent before, so that
// nobody can plant a session that a victim then signs in to. The token goes into the cookie and is not kept.
func (s *Service) StartSession(ctx context.Context, audience access.Audience, userID string, from Origin) (session *access.Session, token string, err error) {
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		session, token, err = s.startSession(tx, audience, userID, from)
		if err != nil || audience != access.Desk {
			return err
		}
		who, err := tx.Staff(ctx, userID)
		if errors.Is(err, store.ErrNotFound) { // a session of nobody leads nowhere
			return nil
		}
		if err != nil {
			return err
		}
		return s.did(byStaff(From(ctx, from), who), tx, audit.Action{Code: audit.StaffSignedIn, Target: onStaff(who)})
	})
	return session, token, err
}

// startSession is StartSession inside a transaction that also records the sign-in.
func (s *Service) startSession(tx *store.Tx, audience access.Audience, userID string, from Origin) (*access.Session, string, error) {
	now := s.now()
	session := &access.Session{
		ID: store.NewID(), Audience: audience, UserID: userID, IP: from.IP, UserAgent: storable(from.UserAgent, maxUserAgent), CreatedAt: now,
	}
	session = session.Seen(now)
	token := access.NewSessionToken()
	hash, _ := access.HashSessionToken(token)
	return session, token, tx.InsertSession(session, hash)
}

// Session returns the session behind a cookie's token, or access.NoSession, which is the same for malformed, unknown,
// revoked and ended ones. Using a session keeps it alive.
func (s *Service) Session(ctx context.Context, audience access.Audience, token string) (*access.Session, error) {
	hash, ok := access.HashSessionToken(token)
	if !ok {
		return nil, access.NoSession
	}
	now := s.now()
	session := s.sessions.get(audience, hash, now)
	if session == nil {
		var err error
		session, err = s.Store.SessionByHash(ctx, audience, hash)
		if errors.Is(err, store.ErrNotFound) {
			return nil, access.NoSession
		}
		if err != nil {
			return nil, err
		}
	}
	if !session.UsableAt(now) {
		return nil, access.NoSession
	}
	if now.Sub(session.LastSeenAt) >= access.SessionTouch {
		session = session.Seen(now)
		if err := s.Store.Update(ctx, func(tx *store.Tx) error { return tx.TouchSession(session) }); err != nil {
			return nil, err
		}
	}
	s.sessions.put(hash, session, now)
	return session, nil
}

// Sessions returns a user's sessions that have not ended, the newest first.
func (s *Service) Sessions(ctx context.Context, audience access.Audience, userID string) ([]*access.Session, error) {
	return s.Store.Sessions(ctx, audience, userID, s.now())
}

// EndSession signs out. A session that is gone already is no error.
func (s *Service) EndSession(ctx context.Context, session *access.Session) error {
	err := s.RevokeSession(ctx, session.Audience, session.UserID, session.ID)
	if errors.Is(err, SessionNotFound) {
		return nil
	}
	return err
}

// SessionNotFound is the refusal to revoke a session that the user does not have.
var SessionNotFound = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such session.").With("entity", "session")

// RevokeSession ends one session of a user, or returns SessionNotFound. Every node refuses it within a second.
func (s *Service) RevokeSession(ctx context.Context, audience access.Audience, userID, id string) error {
	err := s.Store.Update(ctx, func(tx *store.Tx) error { return tx.DeleteSession(audience, userID, id) })
	s.sessions.drop()
	if errors.Is(err, store.ErrNotFound) {
		return SessionNotFound
	}
	return err
}

// RevokeSessions ends all sessions of a user but one, which may be empty: after a change of password, say.
func (s *Service) RevokeSessions(ctx context.Context, audience access.Audience, userID, exceptID string) error {
	err := s.Store.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.DeleteSessions(audience, userID, exceptID)
		return err
	})
	s.sessions.drop()
	return err
}

// DeleteExpiredSessions removes up to limit sessions that have ended, and returns how many.
func (s *Service) DeleteExpiredSessions(ctx context.Context, limit int) (int, error) {
	var n int64
	err := s.Store.Update(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.DeleteExpiredSessions(s.now(), limit)
		return err
	})
	return int(n), err
}

// sessionCache saves the reads of a page and its images. An entry lives for half a second, so that a revocation is felt
// on every node within one.
type sessionCache struct {
	mu      sync.Mutex
	entries map[string]cachedSession
}

type cachedSession struct {
	session *access.Session
	loaded  time.Time
}

const (
	sessionCacheLife = 500 * time.Millisecond
	sessionCacheSize = 10_000
)

func newSessionCache() *sessionCache { return &sessionCache{entries: make(map[string]cachedSession)} }

func (c *sessionCache) get(audience access.Audience, hash string, now time.Time) *access.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[hash]
	if !ok || e.session.Audience != audience || now.Sub(e.loaded) >= sessionCacheLife || now.Before(e.loaded) {
		return nil
	}
	return e.session
}

// put keeps a session that was read now; what is kept already keeps its age.
func (c *sessionCache) put(hash string, session *access.Session, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[hash]; ok && now.Sub(e.loaded) < sessionCacheLife && !now.Before(e.loaded) {
		c.entries[hash] = cachedSession{session: session, loaded: e.loaded}
		return
	}
	if len(c.entries) >= sessionCacheSize {
		clear(c.entries) // only sessions that exist get in: this is rare, and cheaper than keeping an order
	}
	c.entries[hash] = cachedSession{session: session, loaded: now}
}

func (c *sessionCache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}
