package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// InsertPasskey adds a passkey; ErrExists when a user has it already.
func (t *Tx) InsertPasskey(k *access.Passkey) error {
	_, err := t.exec(`INSERT INTO passkeys (id, audience, user_id, name, credential_id, public_key, sign_count,
			backup_eligible, backed_up, transports, aaguid, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		k.ID, string(k.Audience), k.UserID, k.Name, binaryText(k.CredentialID), binaryText(k.PublicKey), int64(k.SignCount),
		flag(k.BackupEligible), flag(k.BackedUp), strings.Join(k.Transports, " "), k.AAGUID, micros(k.CreatedAt))
	return err
}

const selectPasskeys = `SELECT id, audience, user_id, name, credential_id, public_key, sign_count,
	backup_eligible, backed_up, transports, aaguid, created_at, last_used_at FROM passkeys WHERE `

// Passkeys returns the passkeys of a person, the oldest first.
func (q Queries) Passkeys(ctx context.Context, a access.Audience, userID string) ([]*access.Passkey, error) {
	return q.passkeys(ctx, selectPasskeys+"audience = $1 AND user_id = $2 ORDER BY created_at, id", string(a), userID)
}

// Passkey returns one passkey of a person.
func (q Queries) Passkey(ctx context.Context, a access.Audience, userID, id string) (*access.Passkey, error) {
	return first(q.passkeys(ctx, selectPasskeys+"id = $1 AND audience = $2 AND user_id = $3", id, string(a), userID))
}

// PasskeyByCredential returns the passkey that devices know by the id, whoever of the audience has it.
func (q Queries) PasskeyByCredential(ctx context.Context, a access.Audience, credentialID []byte) (*access.Passkey, error) {
	return first(q.passkeys(ctx, selectPasskeys+"credential_id = $1 AND audience = $2", binaryText(credentialID), string(a)))
}

func (q Queries) passkeys(ctx context.Context, statement string, args ...any) ([]*access.Passkey, error) {
	var keys []*access.Passkey
	err := q.rows(ctx, statement, args, func(scan func(...any) error) error {
		k := new(access.Passkey)
		var credential, public, transports string
		var count, created int64
		var used sql.NullInt64
		err := scan(&k.ID, &k.Audience, &k.UserID, &k.Name, &credential, &public, &count, &k.BackupEligible, &k.BackedUp,
			&transports, &k.AAGUID, &created, &used)
		if err != nil {
			return err
		}
		if k.CredentialID, err = binaryOf(credential); err != nil {
			return err
		}
		if k.PublicKey, err = binaryOf(public); err != nil {
			return err
		}
		k.SignCount = uint32(count) //nolint:gosec // stored from one
		k.Transports, k.CreatedAt, k.LastUsedAt = strings.Fields(transports), timeOf(created), timeOrNil(used)
		keys = append(keys, k)
		return nil
	})
	return keys, err
}

// UsePasskey records a use with the counter that the device reported. It returns ErrNotFound when the passkey is gone,
// or when that count or a later one was reported before.
func (t *Tx) UsePasskey(id string, count uint32, backedUp bool, now time.Time) error {
	return t.one(`UPDATE passkeys SET sign_count = $1, backed_up = $2, last_used_at = $3
		WHERE id = $4 AND (sign_count < $1 OR sign_count = 0 AND CAST($1 AS BIGINT) = 0)`,
		int64(count), flag(backedUp), micros(now), id)
}

// RenamePasskey gives a passkey of a person another name, or returns ErrNotFound.
func (t *Tx) RenamePasskey(a access.Audience, userID, id, name string) error {
	return t.one("UPDATE passkeys SET name = $1 WHERE id = $2 AND audience = $3 AND user_id = $4", name, id, string(a), userID)
}

// DeletePasskey removes a passkey of a person, or returns ErrNotFound.
func (t *Tx) DeletePasskey(a access.Audience, userID, id string) error {
	return t.one("DELETE FROM passkeys WHERE id = $1 AND audience = $2 AND user_id = $3", id, string(a), userID)
}

// DeletePasskeys removes all passkeys of a person, if they have some.
func (t *Tx) DeletePasskeys(a access.Audience, userID string) error {
	_, err := t.exec("DELETE FROM passkeys WHERE audience = $1 AND user_id = $2", string(a), userID)
	return err
}

// SpendChallenge notes that a challenge was answered; ErrExists when it was before.
func (t *Tx) SpendChallenge(hash string, expires time.Time) error {
	n, err := t.exec(`INSERT INTO spent_challenges (challenge_hash, expires_at) VALUES ($1, $2)
		ON CONFLICT (challenge_hash) DO NOTHING`, hash, micros(expires))
	if err == nil && n == 0 {
		return ErrExists
	}
	return err
}

// DeleteOldChallenges removes up to limit spent challenges that ended by a time, and returns how many.
func (t *Tx) DeleteOldChallenges(before time.Time, limit int) (int64, error) {
	return t.exec(`DELETE FROM spent_challenges WHERE challenge_hash IN
		(SELECT challenge_hash FROM spent_challenges WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2`+t.d.skipLocked+`)`, micros(before), limit)
}

// binaryText is the stored form of bytes: both engines keep text exactly, and a dump can hold it.
func binaryText(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func binaryOf(s string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("stored bytes: %w", err)
	}
	return b, nil
}
