package store

import (
	"context"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// StaffToken is what is kept of a token for the desk API.
type StaffToken struct {
	Hash     string
	Networks access.Networks // where it may be used from; empty: anywhere
	MadeAt   time.Time
}

// InsertStaff adds a staff user with their token, made with them; with an empty hash they have none. ErrExists when the
// email is taken.
func (t *Tx) InsertStaff(s *access.Staff, token StaffToken) error {
	if token.Hash == "" {
		token.Hash = noToken + s.ID
	}
	created := column.Micros(s.CreatedAt)
	return t.db.Insert(`staff (id, email, name, role, password_hash, token_hash, token_networks, token_made_at,
		created_at)`, s.ID, s.Email, s.Name, string(s.Role), s.PasswordHash, token.Hash, token.Networks.String(), created,
		created)
}

const staffColumns = "id, email, name, role, password_hash, created_at, deactivated_at"

// Staff returns a staff user by their id, deactivated or not.
func (q Queries) Staff(ctx context.Context, id string) (*access.Staff, error) {
	return db.First(q.staffList(ctx, "WHERE id = $1", id))
}

// StaffByEmail returns a staff user by their normalized email, deactivated or not.
func (q Queries) StaffByEmail(ctx context.Context, email string) (*access.Staff, error) {
	return db.First(q.staffList(ctx, "WHERE email = $1", email))
}

// StaffByToken returns the staff user whose token has the hash, deactivated or not, and what is kept of it.
func (q Queries) StaffByToken(ctx context.Context, tokenHash string) (*access.Staff, StaffToken, error) {
	var networks string
	token := StaffToken{Hash: tokenHash}
	s, err := db.First(db.Collect(ctx, q.db, func(scan db.Scanner) (*access.Staff, error) {
		s := new(access.Staff)
		return s, scanStaff(scan, s, &networks, column.Time(&token.MadeAt))
	}, "SELECT "+staffColumns+", token_networks, token_made_at FROM staff WHERE token_hash = $1", tokenHash))
	if err != nil {
		return nil, token, err
	}
	token.Networks, err = parseNetworks(networks)
	return s, token, err
}

// AllStaff returns every staff user, the oldest first.
func (q Queries) AllStaff(ctx context.Context) ([]*access.Staff, error) {
	return q.staffList(ctx, "ORDER BY created_at, id")
}

func (q Queries) staffList(ctx context.Context, rest string, args ...any) ([]*access.Staff, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*access.Staff, error) {
		s := new(access.Staff)
		return s, scanStaff(scan, s)
	}, "SELECT "+staffColumns+" FROM staff "+rest, args...)
}

// scanStaff reads staffColumns and what follows them.
func scanStaff(scan db.Scanner, s *access.Staff, more ...any) error {
	return scan(append([]any{
		&s.ID, &s.Email, &s.Name, &s.Role, &s.PasswordHash, column.Time(&s.CreatedAt), column.TimeOrNil(&s.DeactivatedAt),
	}, more...)...)
}

// selectMembers reads staff users with what administrators see of them. $1 is the time now.
const selectMembers = "SELECT " + staffColumns + `, token_hash,
		(SELECT COUNT(*) FROM totp f WHERE f.audience = 'desk' AND f.user_id = s.id),
		(SELECT COUNT(*) FROM passkeys k WHERE k.audience = 'desk' AND k.user_id = s.id),
		(SELECT COUNT(*) FROM sessions x WHERE x.audience = 'desk' AND x.user_id = s.id AND x.expires_at > $1),
		(SELECT COUNT(*) FROM orders o WHERE o.assignee_id = s.id AND o.environment = 'live' AND o.status = 'processing'),
		(SELECT COUNT(*) FROM orders o WHERE o.assignee_id = s.id AND o.environment = 'live' AND o.status = 'update-photos')
	FROM staff s`

// StaffMembers returns every staff user with what administrators see of them, the oldest first.
func (q Queries) StaffMembers(ctx context.Context, now time.Time) ([]*access.StaffMember, error) {
	return q.members(ctx, selectMembers+" ORDER BY created_at, id", column.Micros(now))
}

// StaffMember returns one staff user with what administrators see of them.
func (q Queries) StaffMember(ctx context.Context, id string, now time.Time) (*access.StaffMember, error) {
	return db.First(q.members(ctx, selectMembers+" WHERE id = $2", column.Micros(now), id))
}

func (q Queries) members(ctx context.Context, text string, args ...any) ([]*access.StaffMember, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*access.StaffMember, error) {
		m := new(access.StaffMember)
		var token string
		var factors int
		err := scanStaff(scan, &m.Staff, &token, &factors, &m.Passkeys, &m.Sessions, &m.InReview, &m.AwaitingPhotos)
		m.HasToken, m.SecondFactor = !strings.HasPrefix(token, noToken), factors > 0
		return m, err
	}, text, args...)
}

// StaffForUpdate returns a staff user whom the transaction is about to change, or whose being active it relies on.
func (t *Tx) StaffForUpdate(id string) (*access.Staff, error) {
	return db.First(t.staffList(t.Context(), "WHERE id = $1"+t.db.Dialect.ForUpdate, id))
}

// DeactivateStaff ends a staff user; it reports whether they were active before.
func (t *Tx) DeactivateStaff(id string, at time.Time) (bool, error) {
	return t.changed("UPDATE staff SET deactivated_at = $1 WHERE id = $2 AND deactivated_at IS NULL",
		column.Micros(at), id)
}

// ReactivateStaff lets a staff user who was deactivated come back.
func (t *Tx) ReactivateStaff(id string) error {
	return t.db.One("UPDATE staff SET deactivated_at = NULL WHERE id = $1", id)
}

// SetStaffRole gives a staff user another role.
func (t *Tx) SetStaffRole(id string, role access.StaffRole) error {
	return t.db.One("UPDATE staff SET role = $1 WHERE id = $2", string(role), id)
}

// noToken begins what stands in the place of a hash for staff without a token; no hash begins so.
const noToken = "none "

// RevokeStaffToken takes the token from a staff user.
func (t *Tx) RevokeStaffToken(id string) error {
	return t.SetStaffToken(id, StaffToken{Hash: noToken + id})
}

// SetStaffToken replaces the token of a staff user.
func (t *Tx) SetStaffToken(id string, token StaffToken) error {
	return t.db.One("UPDATE staff SET token_hash = $1, token_networks = $2, token_made_at = $3 WHERE id = $4",
		token.Hash, token.Networks.String(), column.Micros(token.MadeAt), id)
}
