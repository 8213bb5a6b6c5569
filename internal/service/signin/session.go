package signin

import (
	"context"
	"crypto/hmac"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/letter"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/ttlcache"
)

// A session lives in the cache for half a second, so that a revocation is felt on every node within one.
const (
	sessionCacheLife = 500 * time.Millisecond
	sessionCacheSize = 10_000
)

// Who can sign in as somebody has these limits, so that neither rows nor mails grow without end. Several new browsers
// in an hour are told: one that is not theirs is to be seen among those of a person who sets theirs up.
const (
	maxSignIns        = 30 // in a throttleWindow: with a known browser, or with all others
	maxSessions       = 50
	maxDevices        = 20
	newDeviceMails    = 3
	newDeviceMailsPer = time.Hour
)

// SessionStore keeps the sessions of all audiences. A cache saves the reads of a page and its images.
type SessionStore struct {
	config Config
	cache  *ttlcache.Cache[string, *access.Session]
}

// NewSessionStore returns the use cases about sessions.
func NewSessionStore(c Config) *SessionStore {
	return &SessionStore{config: c, cache: ttlcache.New[string, *access.Session](sessionCacheLife, sessionCacheSize)}
}

// StartSession signs somebody in who has proved who they are, and records it in the same transaction. The session has a
// fresh id and secret, whatever the browser sent before, so that nobody can plant a session that a victim then signs in
// to. The token goes into the cookie and is not kept. Who may not sign in any more, or not with the password that they
// have given, gets WrongSignIn, who does it too often TooManyLogins. Beyond maxSessions the one ends that was used
// least lately.
func (s *SessionStore) StartSession(
	ctx context.Context, audience access.Audience, userID string, from access.Origin,
) (session *access.Session, token string, err error) {
	if err := s.countSignIn(ctx, audience, userID, from); err != nil {
		return nil, "", err
	}
	now := s.config.now()
	session = &access.Session{
		ID: uuid7.New(), Audience: audience, UserID: userID, IP: from.IP, UserAgent: from.Agent(), CreatedAt: now,
		ConfirmedAt: now, Factor: from.Factor,
	}
	session = session.Seen(now)
	token = access.NewSessionToken()
	hash, _ := access.HashSessionToken(token)
	var ended int64
	err = s.config.Store.Update(ctx, func(tx *store.Tx) error {
		who, err := tx.PersonForUpdate(audience, userID)
		if errors.Is(err, store.ErrNotFound) || err == nil && !who.Active {
			return WrongSignIn
		}
		if err != nil {
			return err
		}
		if from.Ticket != "" && !hmac.Equal([]byte(from.Ticket), []byte(s.config.TicketOf(who))) {
			return WrongSignIn // the password was changed while it was checked
		}
		if err := tx.InsertSession(session, hash); err != nil {
			return err
		}
		if ended, err = tx.KeepSessions(audience, userID, maxSessions); err != nil {
			return err
		}
		if err := s.seeDevice(tx, who, from); err != nil {
			return err
		}
		var details map[string]any
		if from.Method != "" && audience == access.Desk { // what an account's log says of a sign-in is fixed
			details = map[string]any{"method": from.Method}
		}
		return s.config.record(tx, who, from, signedIn, details)
	})
	if ended > 0 {
		s.ForgetSessions()
	}
	return session, token, s.config.Host.AfterMail(err)
}

// countSignIn counts a sign-in, which has succeeded.
func (s *SessionStore) countSignIn(ctx context.Context, a access.Audience, userID string, from access.Origin) error {
	t := s.throttle(a)
	known, err := t.knows(ctx, from, userID)
	if err != nil {
		return err
	}
	key := t.key("person", userID)
	if known {
		key = t.key("device", from.Device, userID)
	}
	_, err = t.count(ctx, limited{key, maxSignIns, throttleWindow})
	return err
}

// throttle counts what has succeeded.
func (s *SessionStore) throttle(a access.Audience) *throttle {
	return &throttle{Config: &s.config, audience: a, purpose: "session"}
}

// seeDevice notes the browser with which somebody signs in. When they have used others before and not this one, they
// get a mail: it may be somebody else.
func (s *SessionStore) seeDevice(tx *store.Tx, who *access.Person, from access.Origin) error {
	if from.Device == "" {
		return nil
	}
	others, err := tx.CountDevices(tx.Context(), who.Audience, who.ID)
	if err != nil {
		return err
	}
	isNew, err := tx.SeeDevice(who.Audience, who.ID, from.Device, s.config.now())
	if err != nil || !isNew || others == 0 {
		return err
	}
	if err := tx.KeepDevices(who.Audience, who.ID, maxDevices); err != nil {
		return err
	}
	told, err := tx.CountAttempt(s.throttle(who.Audience).key("new-device", who.ID), s.config.now(), newDeviceMailsPer)
	if err != nil || told.Count > newDeviceMails {
		return err
	}
	return s.config.Notify(tx, who, from, letter.NewDevice, whence(from))
}

// Session returns the session behind a cookie's token, or access.NoSession, which is the same for malformed, unknown,
// revoked and ended ones. Using a session keeps it alive.
func (s *SessionStore) Session(ctx context.Context, audience access.Audience, token string) (*access.Session, error) {
	session, hash, err := s.find(ctx, audience, token)
	if err != nil {
		return nil, err
	}
	if now := s.config.now(); now.Sub(session.LastSeenAt) >= access.SessionTouch {
		session = session.Seen(now)
		if err := s.config.Store.Update(ctx, func(tx *store.Tx) error { return tx.TouchSession(session) }); err != nil {
			return nil, err
		}
		s.cache.Remove(hash) // and not replaced: it may have ended meanwhile
	}
	return session, nil
}

// LookAtSession is Session without keeping it alive: for what pages ask for by themselves.
func (s *SessionStore) LookAtSession(
	ctx context.Context, audience access.Audience, token string,
) (*access.Session, error) {
	session, _, err := s.find(ctx, audience, token)
	return session, err
}

// find returns the session behind a token, and the hash of the token.
func (s *SessionStore) find(
	ctx context.Context, audience access.Audience, token string,
) (session *access.Session, hash string, err error) {
	hash, ok := access.HashSessionToken(token)
	if !ok {
		return nil, "", access.NoSession
	}
	now := s.config.now()
	session, err = s.cache.Load(hash, now, func() (*access.Session, error) {
		return s.config.Store.SessionByHash(ctx, audience, hash)
	})
	if err != nil {
		return nil, "", store.NotFoundAs(err, access.NoSession)
	}
	if session.Audience != audience || !session.UsableAt(now) {
		return nil, "", access.NoSession
	}
	return session, hash, nil
}

// Sessions returns a person's sessions that have not ended, the newest first.
func (s *SessionStore) Sessions(
	ctx context.Context, audience access.Audience, userID string,
) ([]*access.Session, error) {
	return s.config.Store.Sessions(ctx, audience, userID, s.config.now())
}

// EndSession signs out. A session that is gone already is no error.
func (s *SessionStore) EndSession(ctx context.Context, session *access.Session, from access.Origin) error {
	return store.IgnoreNotFound(s.endSession(ctx, session.Audience, session.UserID, session.ID, from, signedOut))
}

// SessionNotFound is the refusal to revoke a session that the person does not have.
var SessionNotFound = fault.Missing("session")

// RevokeSession ends one session of a person, or returns SessionNotFound. Every node refuses it within a second.
func (s *SessionStore) RevokeSession(
	ctx context.Context, audience access.Audience, userID, id string, from access.Origin,
) error {
	return store.NotFoundAs(s.endSession(ctx, audience, userID, id, from, sessionsEnded), SessionNotFound)
}

func (s *SessionStore) endSession(
	ctx context.Context, audience access.Audience, userID, id string, from access.Origin, e event,
) error {
	err := s.config.Store.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.DeleteSession(audience, userID, id),
			s.recordSessions(tx, audience, userID, from, e, 1))
	})
	s.ForgetSessions()
	return err
}

// recordSessions writes down that sessions of somebody were ended; who has left may have had some.
func (s *SessionStore) recordSessions(
	tx *store.Tx, a access.Audience, userID string, from access.Origin, e event, n int64,
) error {
	who, err := tx.Person(tx.Context(), a, userID)
	if err != nil {
		return store.IgnoreNotFound(err)
	}
	return s.config.record(tx, who, from, e, map[string]any{"sessions": n})
}

// RevokeSessions ends all sessions of a person but one, which may be empty.
func (s *SessionStore) RevokeSessions(
	ctx context.Context, audience access.Audience, userID, exceptID string, from access.Origin,
) error {
	err := s.config.Store.Update(ctx, func(tx *store.Tx) error {
		n, err := tx.DeleteSessions(audience, userID, exceptID)
		if err != nil {
			return err
		}
		return s.recordSessions(tx, audience, userID, from, sessionsEnded, n)
	})
	s.ForgetSessions()
	return err
}

// EndSessions ends all sessions of a person in a transaction; the caller calls SessionStore.ForgetSessions after it.
func EndSessions(tx *store.Tx, a access.Audience, userID string) error {
	_, err := tx.DeleteSessions(a, userID, "")
	return err
}

// DeleteExpiredSessions removes up to limit sessions that have ended, and returns how many.
func (s *SessionStore) DeleteExpiredSessions(ctx context.Context, limit int) (int, error) {
	return s.config.Store.DeleteAged(ctx, store.OldSessions, s.config.now(), limit)
}

// DeleteOldChallenges removes up to limit answered challenges of passkeys whose time is over, and returns how many.
func (s *SessionStore) DeleteOldChallenges(ctx context.Context, limit int) (int, error) {
	return s.config.Store.DeleteAged(ctx, store.OldChallenges, s.config.now().Add(-spentChallengeAge), limit)
}

// ForgetSessions empties the cache, after a transaction that ended sessions.
func (s *SessionStore) ForgetSessions() { s.cache.Clear() }
