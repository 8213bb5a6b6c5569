package store

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
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

// PersonForUpdate is Person for a change: whoever gives them another password meanwhile waits. It comes before the
// locks of their sessions and of a log, and lets others refer to them.
func (t *Tx) PersonForUpdate(a access.Audience, id string) (*access.Person, error) {
	if lock := t.db.Dialect.ForNoKeyUpdate; lock != "" {
		table := "users"
		if a == access.Desk {
			table = "staff"
		}
		if _, err := db.Value[string](t.Context(), t.db.Queries, "SELECT id FROM "+table+" WHERE id = $1"+lock,
			id); err != nil {
			return nil, err
		}
	}
	return t.Person(t.Context(), a, id)
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
		return t.db.One("UPDATE staff SET password_hash = $1 WHERE id = $2", hash, id)
	}
	return t.db.One("UPDATE users SET password_hash = $1 WHERE id = $2 AND removed_at IS NULL", hash, id)
}

// TOTP is the second factor of a person.
type TOTP struct {
	SealedSecret string
	LastCounter  int64 // of the last code that was accepted
}

// TOTP returns the second factor of a person, or ErrNotFound when they have none.
func (q Queries) TOTP(ctx context.Context, a access.Audience, userID string) (*TOTP, error) {
	f := new(TOTP)
	return f, q.db.Row(ctx, "SELECT sealed_secret, last_counter FROM totp WHERE audience = $1 AND user_id = $2",
		[]any{string(a), userID}, &f.SealedSecret, &f.LastCounter)
}

// SetTOTP gives a person a second factor, in place of one they may have.
func (t *Tx) SetTOTP(a access.Audience, userID string, f *TOTP, now time.Time) error {
	return t.exec(`INSERT INTO totp (audience, user_id, sealed_secret, last_counter, enabled_at)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT (audience, user_id) DO UPDATE SET
			sealed_secret = excluded.sealed_secret, last_counter = excluded.last_counter, enabled_at = excluded.enabled_at`,
		string(a), userID, f.SealedSecret, f.LastCounter, column.Micros(now))
}

// UseTOTP records that the code with the counter was accepted, or returns ErrNotFound when that one or a later one was
// accepted before.
func (t *Tx) UseTOTP(a access.Audience, userID string, counter int64) error {
	return t.db.One("UPDATE totp SET last_counter = $1 WHERE audience = $2 AND user_id = $3 AND last_counter < $1",
		counter, string(a), userID)
}

// DeleteTOTP removes the second factor and the recovery codes of a person, if they have them.
func (t *Tx) DeleteTOTP(a access.Audience, userID string) error {
	if err := t.ReplaceRecoveryCodes(a, userID, nil); err != nil {
		return err
	}
	return t.exec("DELETE FROM totp WHERE audience = $1 AND user_id = $2", string(a), userID)
}

// ReplaceRecoveryCodes gives a person these recovery codes and no others.
func (t *Tx) ReplaceRecoveryCodes(a access.Audience, userID string, hashes []string) error {
	_, err := t.db.Exec("DELETE FROM recovery_codes WHERE audience = $1 AND user_id = $2", string(a), userID)
	for _, hash := range hashes {
		if err != nil {
			break
		}
		err = t.db.Insert("recovery_codes (audience, user_id, code_hash)", string(a), userID, hash)
	}
	return err
}

// UseRecoveryCode spends a recovery code, or returns ErrNotFound when the person has no such code left.
func (t *Tx) UseRecoveryCode(a access.Audience, userID, hash string, now time.Time) error {
	return t.db.One(`UPDATE recovery_codes SET used_at = $1
		WHERE audience = $2 AND user_id = $3 AND code_hash = $4 AND used_at IS NULL`, column.Micros(now), string(a), userID,
		hash)
}

// RecoveryCodesLeft returns how many recovery codes a person has not spent.
func (q Queries) RecoveryCodesLeft(ctx context.Context, a access.Audience, userID string) (int, error) {
	return db.Value[int](ctx, q.db, `SELECT COUNT(*) FROM recovery_codes
		WHERE audience = $1 AND user_id = $2 AND used_at IS NULL`, string(a), userID)
}

// InsertPasskey adds a passkey; ErrExists when a user has it already.
func (t *Tx) InsertPasskey(k *access.Passkey) error {
	return t.db.Insert(`passkeys (id, audience, user_id, name, credential_id, public_key, sign_count, backup_eligible,
		backed_up, transports, aaguid, created_at)`, k.ID, string(k.Audience), k.UserID, k.Name,
		column.EncodeBytes(k.CredentialID), column.EncodeBytes(k.PublicKey), int64(k.SignCount),
		column.Flag(k.BackupEligible), column.Flag(k.BackedUp),
		strings.Join(k.Transports, " "), k.AAGUID, column.Micros(k.CreatedAt))
}

const selectPasskeys = `SELECT id, audience, user_id, name, credential_id, public_key, sign_count,
	backup_eligible, backed_up, transports, aaguid, created_at, last_used_at FROM passkeys WHERE `

// Passkeys returns the passkeys of a person, the oldest first.
func (q Queries) Passkeys(ctx context.Context, a access.Audience, userID string) ([]*access.Passkey, error) {
	return q.passkeys(ctx, selectPasskeys+"audience = $1 AND user_id = $2 ORDER BY created_at, id", string(a), userID)
}

// Passkey returns one passkey of a person.
func (q Queries) Passkey(ctx context.Context, a access.Audience, userID, id string) (*access.Passkey, error) {
	return db.First(q.passkeys(ctx, selectPasskeys+"id = $1 AND audience = $2 AND user_id = $3", id, string(a), userID))
}

// PasskeyByCredential returns the passkey that devices know by the id, whoever of the audience has it.
func (q Queries) PasskeyByCredential(
	ctx context.Context, a access.Audience, credentialID []byte,
) (*access.Passkey, error) {
	return db.First(q.passkeys(ctx, selectPasskeys+"credential_id = $1 AND audience = $2",
		column.EncodeBytes(credentialID), string(a)))
}

func (q Queries) passkeys(ctx context.Context, text string, args ...any) ([]*access.Passkey, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*access.Passkey, error) {
		k := new(access.Passkey)
		var credential, public, transports string
		err := scan(&k.ID, &k.Audience, &k.UserID, &k.Name, &credential, &public, &k.SignCount, &k.BackupEligible,
			&k.BackedUp, &transports, &k.AAGUID, column.Time(&k.CreatedAt), column.TimeOrNil(&k.LastUsedAt))
		if err != nil {
			return nil, err
		}
		k.Transports = strings.Fields(transports)
		if k.CredentialID, err = column.DecodeBytes(credential); err != nil {
			return nil, err
		}
		k.PublicKey, err = column.DecodeBytes(public)
		return k, err
	}, text, args...)
}

// UsePasskey records a use with the counter that the device reported. It returns ErrNotFound when the passkey is gone,
// or when that count or a later one was reported before.
func (t *Tx) UsePasskey(id string, count uint32, backedUp bool, now time.Time) error {
	return t.db.One(`UPDATE passkeys SET sign_count = $1, backed_up = $2, last_used_at = $3
		WHERE id = $4 AND (sign_count < $1 OR sign_count = 0 AND CAST($1 AS BIGINT) = 0)`,
		int64(count), column.Flag(backedUp), column.Micros(now), id)
}

// RenamePasskey gives a passkey of a person another name, or returns ErrNotFound.
func (t *Tx) RenamePasskey(a access.Audience, userID, id, name string) error {
	return t.db.One("UPDATE passkeys SET name = $1 WHERE id = $2 AND audience = $3 AND user_id = $4",
		name, id, string(a), userID)
}

// DeletePasskey removes a passkey of a person, or returns ErrNotFound.
func (t *Tx) DeletePasskey(a access.Audience, userID, id string) error {
	return t.db.One("DELETE FROM passkeys WHERE id = $1 AND audience = $2 AND user_id = $3", id, string(a), userID)
}

// DeletePasskeys removes all passkeys of a person, if they have some.
func (t *Tx) DeletePasskeys(a access.Audience, userID string) error {
	return t.exec("DELETE FROM passkeys WHERE audience = $1 AND user_id = $2", string(a), userID)
}

// SpendChallenge notes that a challenge was answered; ErrExists when it was before.
func (t *Tx) SpendChallenge(hash string, expires time.Time) error {
	fresh, err := t.changed(`INSERT INTO spent_challenges (challenge_hash, expires_at) VALUES ($1, $2)
		ON CONFLICT (challenge_hash) DO NOTHING`, hash, column.Micros(expires))
	if err == nil && !fresh {
		return ErrExists
	}
	return err
}

// InsertLink adds a link by the hash of its token.
func (t *Tx) InsertLink(l *access.Link, hash string) error {
	return t.db.Insert(`links (id, token_hash, kind, audience, account_id, user_id, email, name, role, created_by,
		created_at, expires_at)`, l.ID, hash, string(l.Kind), string(l.Audience), column.TextOrNull(l.AccountID),
		column.TextOrNull(l.UserID), l.Email, l.Name, l.Role, l.CreatedBy, column.Micros(l.CreatedAt),
		column.Micros(l.ExpiresAt))
}

// selectLinks reads links that can still be used, each with its mail.
const selectLinks = `SELECT l.id, l.kind, l.audience, l.account_id, l.user_id, l.email, l.name, l.role, l.created_by,
		l.created_at, l.expires_at, a.name, m.created_at, m.failed_at
	FROM links l LEFT JOIN accounts a ON a.id = l.account_id LEFT JOIN mails m ON m.link_id = l.id WHERE l.used_at IS NULL`

// LinkByHash returns a link that can be used now, by the hash of its token.
func (q Queries) LinkByHash(
	ctx context.Context, a access.Audience, kind access.LinkKind, hash string, now time.Time,
) (*access.Link, error) {
	return db.First(q.links(ctx, selectLinks+` AND l.token_hash = $1 AND l.audience = $2 AND l.kind = $3
		AND l.expires_at > $4`, hash, string(a), string(kind), column.Micros(now)))
}

// Invitations returns the invitations that can still be used, the newest first: to an account, or of staff with an
// empty account id.
func (q Queries) Invitations(
	ctx context.Context, a access.Audience, accountID string, now time.Time,
) ([]*access.Link, error) {
	return q.links(ctx, selectLinks+` AND l.audience = $1 AND COALESCE(l.account_id, '') = $2 AND l.kind = 'invitation'
		AND l.expires_at > $3 ORDER BY l.created_at DESC, l.id DESC`, string(a), accountID, column.Micros(now))
}

// HasInvitation reports whether there is such an invitation, be it accepted or expired.
func (q Queries) HasInvitation(ctx context.Context, a access.Audience, accountID, id string) (bool, error) {
	return q.db.Exists(ctx, `FROM links WHERE id = $1 AND audience = $2 AND COALESCE(account_id, '') = $3
		AND kind = 'invitation'`, id, string(a), accountID)
}

func (q Queries) links(ctx context.Context, text string, args ...any) ([]*access.Link, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*access.Link, error) {
		l := new(access.Link)
		var mailed, failed sql.NullInt64
		err := scan(&l.ID, &l.Kind, &l.Audience, column.Text(&l.AccountID), column.Text(&l.UserID), &l.Email, &l.Name,
			&l.Role,
			&l.CreatedBy, column.Time(&l.CreatedAt), column.Time(&l.ExpiresAt), column.Text(&l.Account), &mailed, &failed)
		l.MailWaiting, l.MailFailed = mailed.Valid && !failed.Valid, failed.Valid
		return l, err
	}, text, args...)
}

// UseLink spends a link, or returns ErrNotFound when it was spent or withdrawn before.
func (t *Tx) UseLink(id string, now time.Time) error {
	return t.db.One("UPDATE links SET used_at = $1 WHERE id = $2 AND used_at IS NULL", column.Micros(now), id)
}

// DeleteInvitation withdraws an invitation, or returns ErrNotFound when there is no such one open.
func (t *Tx) DeleteInvitation(a access.Audience, accountID, id string) error {
	return t.db.One(`DELETE FROM links WHERE id = $1 AND audience = $2 AND COALESCE(account_id, '') = $3
		AND kind = 'invitation' AND used_at IS NULL`, id, string(a), accountID)
}

// DeleteInvitationsTo withdraws the invitations that an email has: a new one replaces them.
func (t *Tx) DeleteInvitationsTo(a access.Audience, accountID, email string) error {
	return t.exec(`DELETE FROM links WHERE audience = $1 AND COALESCE(account_id, '') = $2 AND kind = 'invitation'
		AND email = $3 AND used_at IS NULL`, string(a), accountID, email)
}

// DeleteLinksBy withdraws the open links that somebody has made for others and may not make any more: invitations, and
// those to choose a password.
func (t *Tx) DeleteLinksBy(userID string) error {
	return t.exec(`DELETE FROM links WHERE created_by = $1 AND COALESCE(user_id, '') <> $1 AND used_at IS NULL`, userID)
}

// DeleteResets withdraws the links that a person has to choose a new password.
func (t *Tx) DeleteResets(a access.Audience, userID string) error {
	return t.exec("DELETE FROM links WHERE audience = $1 AND user_id = $2 AND used_at IS NULL", string(a), userID)
}
