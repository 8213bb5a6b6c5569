package store

import (
	"context"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// InsertAccount adds an account with its two balances and its empty logs; ErrExists when the name is taken. The heads
// of empty logs are sealed, too: so they can be told from logs that were emptied.
func (t *Tx) InsertAccount(a *access.Account) error {
	if err := t.checkChain(); err != nil {
		return err
	}
	err := t.db.Insert("accounts (id, name, locale, created_at, audit_head, portal_head)", a.ID, a.Name, string(a.Locale),
		column.Micros(a.CreatedAt), t.chain.SealHead(&audit.Head{Chain: audit.OfAnAccount, AccountID: a.ID}),
		t.chain.SealHead(&audit.Head{Chain: audit.OfThePortal, AccountID: a.ID, Hash: audit.PortalSeed}))
	for _, e := range access.Environments {
		if err != nil {
			break
		}
		err = t.insertBalance(access.Tenant{AccountID: a.ID, Environment: e})
	}
	return err
}

// Account returns an account by its id.
func (q Queries) Account(ctx context.Context, id string) (*access.Account, error) {
	return q.account(ctx, "id = $1", id)
}

// AccountByName returns an account by its exact name.
func (q Queries) AccountByName(ctx context.Context, name string) (*access.Account, error) {
	return q.account(ctx, "name = $1", name)
}

func (q Queries) account(ctx context.Context, where, arg string) (*access.Account, error) {
	a := new(access.Account)
	return a, q.db.Row(ctx, "SELECT id, name, locale, created_at FROM accounts WHERE "+where, []any{arg},
		&a.ID, &a.Name, &a.Locale, column.Time(&a.CreatedAt))
}

// AccountIDs returns every account's id by its name.
func (q Queries) AccountIDs(ctx context.Context) (map[string]string, error) {
	return db.Pairs[string, string](ctx, q.db, "SELECT name, id FROM accounts")
}

// SetAccountLocale replaces the language of an account's webhook payloads and mail.
func (t *Tx) SetAccountLocale(id string, l text.Locale) error {
	return t.db.One("UPDATE accounts SET locale = $1 WHERE id = $2", string(l), id)
}

// likePattern takes the meaning from what LIKE would read as a pattern.
var likePattern = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// AccountSummaries returns a page of the accounts by name, and how many match. A search finds part of the name or of a
// user's email in any case, or the whole id. There are few accounts beside orders: they may be counted.
func (q Queries) AccountSummaries(
	ctx context.Context, search string, now time.Time, page, limit int,
) ([]access.AccountSummary, int64, error) {
	offset := int64(page-1) * int64(limit)
	if search != "" {
		ids, err := q.searchAccounts(ctx, strings.ToLower(search))
		total := int64(len(ids))
		if err != nil || offset >= total {
			return nil, total, err
		}
		found, err := q.summariesOf(ctx, ids[offset:min(offset+int64(limit), total)], now)
		return found, total, err
	}
	total, err := db.Value[int64](ctx, q.db, "SELECT COUNT(*) FROM accounts")
	if err != nil || offset >= total {
		return nil, total, err
	}
	found, err := q.accountSummaries(ctx, accountsByName+" LIMIT $2 OFFSET $3", column.Micros(now), limit, offset)
	return found, total, err
}

const accountsByName = " ORDER BY LOWER(a.name), a.id"

// searchAccounts returns the ids of the accounts that a search in lower case finds, by name. The names are looked
// through here: databases know the lower case of ASCII only.
func (q Queries) searchAccounts(ctx context.Context, search string) ([]string, error) {
	emails, err := db.Column[string](ctx, q.db, "SELECT DISTINCT account_id FROM users WHERE email LIKE $1 ESCAPE '!'",
		"%"+likePattern.Replace(search)+"%")
	if err != nil {
		return nil, err
	}
	byEmail := make(map[string]bool, len(emails))
	for _, id := range emails {
		byEmail[id] = true
	}
	var found []string
	err = q.db.Rows(ctx, "SELECT a.id, a.name FROM accounts a"+accountsByName, nil, func(scan db.Scanner) error {
		var id, name string
		err := scan(&id, &name)
		if id == search || byEmail[id] || strings.Contains(strings.ToLower(name), search) {
			found = append(found, id)
		}
		return err
	})
	return found, err
}

// summariesOf returns those of accounts, by name.
func (q Queries) summariesOf(ctx context.Context, ids []string, now time.Time) ([]access.AccountSummary, error) {
	var all []access.AccountSummary
	err := db.InBatches(ids, func(ids []string) error {
		found, err := q.accountSummaries(ctx, " WHERE a.id IN "+db.List(2, len(ids))+accountsByName,
			append([]any{column.Micros(now)}, db.Anys(ids)...)...)
		all = append(all, found...)
		return err
	})
	return all, err
}

// accountSummaries returns those that the rest of the statement chooses. The first argument is the present time.
func (q Queries) accountSummaries(ctx context.Context, rest string, args ...any) ([]access.AccountSummary, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (s access.AccountSummary, err error) {
		err = scan(&s.ID, &s.Name, &s.Locale, column.Time(&s.CreatedAt), &s.LiveCredits, &s.TestCredits, &s.LiveOrders,
			&s.ActiveKeys)
		return s, err
	}, `SELECT a.id, a.name, a.locale, a.created_at, live.credits, test.credits, live.orders,
		(SELECT COUNT(*) FROM api_keys k WHERE k.account_id = a.id AND k.revoked_at IS NULL
			AND (k.expires_at IS NULL OR k.expires_at > $1))
		FROM accounts a JOIN balances live ON live.account_id = a.id AND live.environment = 'live'
		JOIN balances test ON test.account_id = a.id AND test.environment = 'test'`+rest, args...)
}

// InsertUser adds an account user; ErrExists when another user has the email who has not left.
func (t *Tx) InsertUser(u *access.User) error {
	return t.db.Insert("users ("+userColumns+")",
		u.ID, u.AccountID, u.Email, string(u.Role), u.PasswordHash, column.Micros(u.CreatedAt))
}

const userColumns = "id, account_id, email, role, password_hash, created_at"

// User returns an account user who has not left.
func (q Queries) User(ctx context.Context, id string) (*access.User, error) {
	return db.First(q.users(ctx, "id = $1 AND removed_at IS NULL", id))
}

// UserByEmail returns an account user who has not left by the normalised email.
func (q Queries) UserByEmail(ctx context.Context, email string) (*access.User, error) {
	return db.First(q.users(ctx, "email = $1 AND removed_at IS NULL", email))
}

// FormerUser returns the user who has left the account last with the normalised email.
func (q Queries) FormerUser(ctx context.Context, accountID, email string) (*access.User, error) {
	return db.First(q.users(ctx, `account_id = $1 AND email = $2 AND removed_at IS NOT NULL
		ORDER BY removed_at DESC, id DESC LIMIT 1`, accountID, email))
}

// Owner returns the first owner of an account.
func (q Queries) Owner(ctx context.Context, accountID string) (*access.User, error) {
	return db.First(q.users(ctx, "account_id = $1 AND role = 'owner' ORDER BY created_at, id LIMIT 1", accountID))
}

// Users returns the users of an account who have not left, the longest there first.
func (q Queries) Users(ctx context.Context, accountID string) ([]*access.User, error) {
	return q.users(ctx, "account_id = $1 AND removed_at IS NULL ORDER BY created_at, id", accountID)
}

func (q Queries) users(ctx context.Context, where string, args ...any) ([]*access.User, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*access.User, error) {
		u := new(access.User)
		return u, scan(&u.ID, &u.AccountID, &u.Email, &u.Role, &u.PasswordHash, column.Time(&u.CreatedAt))
	}, "SELECT "+userColumns+" FROM users WHERE "+where, args...)
}

// LockTeam makes transactions that change the users of one account run one after the other.
func (t *Tx) LockTeam(accountID string) error {
	_, err := db.Value[string](t.Context(), t.db.Queries, "SELECT id FROM accounts WHERE id = $1"+t.db.Dialect.ForUpdate,
		accountID)
	return err
}

// SetUserEmail replaces the email of a user; ErrExists when another user has it who has not left.
func (t *Tx) SetUserEmail(id, email string) error {
	return t.db.One("UPDATE users SET email = $1 WHERE id = $2 AND removed_at IS NULL", email, id)
}

// SetUserRole replaces the role of a user of the account.
func (t *Tx) SetUserRole(accountID, id string, role access.Role) error {
	return t.db.One("UPDATE users SET role = $1 WHERE id = $2 AND account_id = $3 AND removed_at IS NULL",
		string(role), id, accountID)
}

// RemoveUser marks a user of the account as gone, without any power.
func (t *Tx) RemoveUser(accountID, id string, at time.Time) error {
	return t.db.One(`UPDATE users SET removed_at = $1, role = 'viewer'
		WHERE id = $2 AND account_id = $3 AND removed_at IS NULL`, column.Micros(at), id, accountID)
}

// RestoreUser brings a user back who has left, with another role and password; ErrExists when another user has got the
// email since.
func (t *Tx) RestoreUser(id string, role access.Role, hash string) error {
	return t.db.One(`UPDATE users SET removed_at = NULL, role = $1, password_hash = $2
		WHERE id = $3 AND removed_at IS NOT NULL`, string(role), hash, id)
}

// EmailTaken reports whether an account user who has not left has the normalised email.
func (q Queries) EmailTaken(ctx context.Context, email string) (bool, error) {
	return q.db.Exists(ctx, "FROM users WHERE email = $1 AND removed_at IS NULL", email)
}

// Untouched reports whether nobody has used the database yet: whatever is done first leaves a row in one of the tables,
// and none of them is ever emptied.
func (q Queries) Untouched(ctx context.Context) (bool, error) {
	used, err := q.db.Exists(ctx, `FROM (SELECT 1 FROM accounts UNION ALL SELECT 1 FROM staff
		UNION ALL SELECT 1 FROM catalog_versions UNION ALL SELECT 1 FROM staff_actions
		UNION ALL SELECT 1 FROM staff_actions_head WHERE head <> '') AS used`)
	return !used, err
}
