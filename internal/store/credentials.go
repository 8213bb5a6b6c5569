package store

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// Person returns an account user or staff user by the id, active or not; who has left is not found.
func (q Queries) Person(ctx context.Context, a access.Audience, id string) (*access.Person, error) {
	if a == access.Desk {
		return person(q.Staff(ctx, id))
	}
	return person(q.User(ctx, id))
}

// PersonByEmail returns an account user or staff user by the normalized email, active or not.
func (q Queries) PersonByEmail(ctx context.Context, a access.Audience, email string) (*access.Person, error) {
	if a == access.Desk {
		return person(q.StaffByEmail(ctx, email))
	}
	return person(q.UserByEmail(ctx, email))
}

func person[U interface{ Person() *access.Person }](u U, err error) (*access.Person, error) {
	if err != nil {
		return nil, err
	}
	return u.Person(), nil
}

// SetPassword replaces the password of a person.
func (t *Tx) SetPassword(a access.Audience, id, hash string) error {
	if a == access.Desk {
		return t.one("UPDATE staff SET password_hash = $1 WHERE id = $2", hash, id)
	}
	return t.one("UPDATE users SET password_hash = $1 WHERE id = $2 AND removed_at IS NULL", hash, id)
}

// TOTP is the second factor of a person.
type TOTP struct {
	SealedSecret string
	LastCounter  int64 // of the last code that was accepted
}

// TOTP returns the second factor of a person, or ErrNotFound when they have none.
func (q Queries) TOTP(ctx context.Context, a access.Audience, userID string) (*TOTP, error) {
	f := new(TOTP)
	err := q.row(ctx, "SELECT sealed_secret, last_counter FROM totp WHERE audience = $1 AND user_id = $2",
		[]any{string(a), userID}, &f.SealedSecret, &f.LastCounter)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// SetTOTP gives a person a second factor, in place of one they may have.
func (t *Tx) SetTOTP(a access.Audience, userID string, f *TOTP, now time.Time) error {
	_, err := t.exec(`INSERT INTO totp (audience, user_id, sealed_secret, last_counter, enabled_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (audience, user_id) DO UPDATE SET
			sealed_secret = excluded.sealed_secret, last_counter = excluded.last_counter, enabled_at = excluded.enabled_at`,
		string(a), userID, f.SealedSecret, f.LastCounter, micros(now))
	return err
}

// UseTOTP records that the code with the counter was accepted, or returns ErrNotFound when that one or a later one was
// accepted before.
func (t *Tx) UseTOTP(a access.Audience, userID string, counter int64) error {
	return t.one("UPDATE totp SET last_counter = $1 WHERE audience = $2 AND user_id = $3 AND last_counter < $1",
		counter, string(a), userID)
}

// DeleteTOTP removes the second factor and the recovery codes of a person, if they have them.
func (t *Tx) DeleteTOTP(a access.Audience, userID string) error {
	if err := t.ReplaceRecoveryCodes(a, userID, nil); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM totp WHERE audience = $1 AND user_id = $2", string(a), userID)
	return err
}

// ReplaceRecoveryCodes gives a person these recovery codes and no others.
func (t *Tx) ReplaceRecoveryCodes(a access.Audience, userID string, hashes []string) error {
	if _, err := t.exec("DELETE FROM recovery_codes WHERE audience = $1 AND user_id = $2", string(a), userID); err != nil {
		return err
	}
	for _, hash := range hashes {
		_, err := t.exec("INSERT INTO recovery_codes (audience, user_id, code_hash) VALUES ($1, $2, $3)", string(a), userID, hash)
		if err != nil {
			return err
		}
	}
	return nil
}

// UseRecoveryCode spends a recovery code, or returns ErrNotFound when the person has no such code left.
func (t *Tx) UseRecoveryCode(a access.Audience, userID, hash string, now time.Time) error {
	return t.one(`UPDATE recovery_codes SET used_at = $1
		WHERE audience = $2 AND user_id = $3 AND code_hash = $4 AND used_at IS NULL`, micros(now), string(a), userID, hash)
}

// RecoveryCodesLeft returns how many recovery codes a person has not spent.
func (q Queries) RecoveryCodesLeft(ctx context.Context, a access.Audience, userID string) (int, error) {
	var n int
	err := q.row(ctx, "SELECT COUNT(*) FROM recovery_codes WHERE audience = $1 AND user_id = $2 AND used_at IS NULL",
		[]any{string(a), userID}, &n)
	return n, err
}

// CountUnknownSignIn counts an attempt to sign in with an email that nobody has, with about as much work as the audit
// log has with the others: how long an answer takes must not tell which emails exist.
func (t *Tx) CountUnknownSignIn() error {
	_, err := t.exec(`INSERT INTO unknown_sign_ins (id, attempts) VALUES (1, 1)
		ON CONFLICT (id) DO UPDATE SET attempts = unknown_sign_ins.attempts + 1`)
	if err != nil {
		return err
	}
	for range 2 {
		if _, err := t.exec("UPDATE unknown_sign_ins SET attempts = attempts WHERE id = 1"); err != nil {
			return err
		}
	}
	return nil
}

// first returns the first of what was found, or ErrNotFound.
func first[T any](found []T, err error) (T, error) {
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return found[0], nil
}
