package store

import (
	"context"
	"time"
)

// TOTP is the second factor of a staff user.
type TOTP struct {
	SealedSecret string
	LastCounter  int64 // of the last code that was accepted
}

// StaffTOTP returns the second factor of a staff user, or ErrNotFound when they have none.
func (q Queries) StaffTOTP(ctx context.Context, staffID string) (*TOTP, error) {
	t := new(TOTP)
	err := q.row(ctx, "SELECT sealed_secret, last_counter FROM staff_totp WHERE staff_id = $1", []any{staffID}, &t.SealedSecret, &t.LastCounter)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// SetStaffTOTP gives a staff user a second factor, in place of one they may have.
func (t *Tx) SetStaffTOTP(staffID string, f *TOTP, now time.Time) error {
	_, err := t.exec(`INSERT INTO staff_totp (staff_id, sealed_secret, last_counter, enabled_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (staff_id) DO UPDATE SET sealed_secret = excluded.sealed_secret, last_counter = excluded.last_counter, enabled_at = excluded.enabled_at`,
		staffID, f.SealedSecret, f.LastCounter, micros(now))
	return err
}

// UseStaffTOTP notes that the code with the counter was accepted, or returns ErrNotFound when that one or a later one was
// accepted before.
func (t *Tx) UseStaffTOTP(staffID string, counter int64) error {
	return t.one("UPDATE staff_totp SET last_counter = $1 WHERE staff_id = $2 AND last_counter < $1", counter, staffID)
}

// DeleteStaffTOTP takes the second factor from a staff user. One who has none stays so.
func (t *Tx) DeleteStaffTOTP(staffID string) error {
	_, err := t.exec("DELETE FROM staff_totp WHERE staff_id = $1", staffID)
	return err
}

// SetStaffPassword replaces the password of a staff user.
func (t *Tx) SetStaffPassword(staffID, hash string) error {
	return t.one("UPDATE staff SET password_hash = $1 WHERE id = $2", hash, staffID)
}
