package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

// Audience is the group of people that a session belongs to: staff or account users. A session of one is not valid
// for the other.
type Audience string

// The audiences.
const (
	Desk   Audience = "desk"
	Portal Audience = "portal"
)

// How long a session lives: it ends when nobody has used it for a working day, and in any case after a month, or, of
// staff, after a week.
const (
	SessionIdle          = 12 * time.Hour
	SessionLifetime      = 30 * 24 * time.Hour
	StaffSessionLifetime = 7 * 24 * time.Hour

	// ConfirmLife is for how long somebody may change how people sign in after they have proved who they are.
	ConfirmLife = 5 * time.Minute

	// DeviceLife is how long a browser is recognised after somebody has signed in with it.
	DeviceLife = 365 * 24 * time.Hour

	// SessionTouch is how stale the time of last use may be: using a session writes to the database at most this often.
	SessionTouch = time.Minute
)

// Session is one signed-in browser.
type Session struct {
	ID         string // public id; not the secret
	Audience   Audience
	UserID     string
	IP         string
	UserAgent  string
	CreatedAt  time.Time
	LastSeenAt time.Time
	ExpiresAt  time.Time // unless it is used again before

	ConfirmedAt time.Time // when the person has last proved who they are
	Factor      bool      // with more than a password
	PasskeyAt   time.Time // when they have last proved it with a passkey since they signed in; zero: never
}

// Lifetime is how long a session lives at most.
func (a Audience) Lifetime() time.Duration {
	if a == Desk {
		return StaffSessionLifetime
	}
	return SessionLifetime
}

// Proved reports whether the person has proved who they are a short while before, after they had signed in.
func (s *Session) Proved(now time.Time) bool {
	return s.ConfirmedAt.After(s.CreatedAt) && s.ConfirmedIn(now)
}

// ProvedWithPasskey reports whether the person has proved who they are with a passkey a short while before, after they
// had signed in.
func (s *Session) ProvedWithPasskey(now time.Time) bool {
	return now.Before(s.PasskeyAt.Add(ConfirmLife))
}

// ConfirmedIn reports whether the person has signed in, or proved who they are, a short while before.
func (s *Session) ConfirmedIn(now time.Time) bool { return now.Before(s.ConfirmedAt.Add(ConfirmLife)) }

// Seen returns the session after a use now: its expiry moves, but never past its lifetime.
func (s *Session) Seen(now time.Time) *Session {
	seen := *s
	seen.LastSeenAt = now
	seen.ExpiresAt = now.Add(SessionIdle)
	if end := s.CreatedAt.Add(s.Audience.Lifetime()); seen.ExpiresAt.After(end) {
		seen.ExpiresAt = end
	}
	return &seen
}

// UsableAt reports whether the session has not ended.
func (s *Session) UsableAt(now time.Time) bool { return now.Before(s.ExpiresAt) }

const sessionTokenBytes = 32

// NewSessionToken returns a new secret for a session cookie: 256 random bits in 43 characters.
func NewSessionToken() string {
	var b [sessionTokenBytes]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// HashSessionToken returns the hash under which a session token is stored; ok is false for a malformed token.
func HashSessionToken(token string) (hash string, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != sessionTokenBytes {
		return "", false
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), true
}

// NoSession is the error for a browser that is not, or no longer, signed in.
var NoSession = fault.New(fault.Unauthorized, "no-session", "You are not signed in, or your session has ended.")
