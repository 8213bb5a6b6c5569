package store

import (
	"context"
	"time"
)

// UserTOTP returns the second factor of an account user, or ErrNotFound when they have none.
func (q Queries) UserTOTP(ctx context.Context, userID string) (*TOTP, error) {
	f := new(TOTP)
	if err := q.row(ctx, "SELECT sealed_secret, last_counter FROM user_totp WHERE user_id = $1", []any{userID}, &f.SealedSecret, &f.LastCounter); err != nil {
		return nil, err
	}
	return f, nil
}

// SetUserTOTP gives an account user a second factor, in place of one they may have.
func (t *Tx) SetUserTOTP(userID string, f *TOTP, now time.Time) error {
	_, err := t.exec(`INSERT INTO user_totp (user_id, sealed_secret, last_counter, enabled_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id) DO UPDATE SET sealed_secret = excluded.sealed_secret, last_counter = excluded.last_counter, enabled_at = excluded.enabled_at`,
		userID, f.SealedSecret, f.LastCounter, micros(now))
	return err
}

// UseUserTOTP notes that the code with the counter was accepted, or returns ErrNotFound when that one or a later one was
// accepted before.
func (t *Tx) UseUserTOTP(userID string, counter int64) error {
	return t.one("UPDATE user_totp SET last_counter = $1 WHERE user_id = $2 AND last_counter < $1", counter, userID)
}

// DeleteUserTOTP takes the second factor and the recovery codes from an account user. One who has none stays so.
func (t *Tx) DeleteUserTOTP(userID string) error {
	if _, err := t.exec("DELETE FROM user_recovery_codes WHERE user_id = $1", userID); err != nil {
		return err
	}
	_, err := t.exec("DELETE FROM user_totp WHERE user_id = $1", userID)
	return err
}

// ReplaceRecoveryCodes gives a user these recovery codes and no others.
func (t *Tx) ReplaceRecoveryCodes(userID string, hashes []string) error {
	if _, err := t.exec("DELETE FROM user_recovery_codes WHERE user_id = $1", userID); err != nil {
		return err
	}
	for _, hash := range hashes {
		if _, err := t.exec("INSERT INTO user_recovery_codes (user_id, code_hash) VALUES ($1, $2)", userID, hash); err != nil {
			return err
		}
	}
	return nil
}

// UseRecoveryCode spends a recovery code, or returns ErrNotFound when the user has no such code left.
func (t *Tx) UseRecoveryCode(userID, hash string, now time.Time) error {
	return t.one("UPDATE user_recovery_codes SET used_at = $1 WHERE user_id = $2 AND code_hash = $3 AND used_at IS NULL", micros(now), userID, hash)
}

// RecoveryCodesLeft returns how many recovery codes a user has not spent.
func (q Queries) RecoveryCodesLeft(ctx context.Context, userID string) (int, error) {
	var n int
	err := q.row(ctx, "SELECT COUNT(*) FROM user_recovery_codes WHERE user_id = $1 AND used_at IS NULL", []any{userID}, &n)
	return n, err
}
