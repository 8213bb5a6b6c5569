package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
)

// AccountSummary is an account in the list of all accounts.
type AccountSummary struct {
	access.Account
	LiveCredits, TestCredits int64
	LiveOrders               int64
	ActiveKeys               int64
}

// AccountSummaries returns a page of the accounts by name, and how many match. A search finds part of the name or of a
// user's email in any case, or the whole id. There are few accounts beside orders: they may be counted.
func (q Queries) AccountSummaries(ctx context.Context, search string, page, limit int) ([]AccountSummary, int64, error) {
	where := ""
	var args []any
	if search = strings.ToLower(search); search != "" {
		where = ` WHERE LOWER(a.name) LIKE $1 ESCAPE '!' OR a.id = $2
			OR EXISTS (SELECT 1 FROM users WHERE users.account_id = a.id AND users.email LIKE $1 ESCAPE '!')`
		args = []any{"%" + likePattern.Replace(search) + "%", search}
	}
	var total int64
	if err := q.row(ctx, "SELECT COUNT(*) FROM accounts a"+where, args, &total); err != nil {
		return nil, 0, err
	}
	offset := int64(page-1) * int64(limit)
	if offset >= total {
		return nil, total, nil
	}
	var found []AccountSummary
	err := q.rows(ctx, `SELECT a.id, a.name, a.locale, a.created_at, live.credits, test.credits, live.orders,
		(SELECT COUNT(*) FROM api_keys k WHERE k.account_id = a.id AND k.revoked_at IS NULL)
		FROM accounts a JOIN balances live ON live.account_id = a.id AND live.environment = 'live'
		JOIN balances test ON test.account_id = a.id AND test.environment = 'test'`+where+
		fmt.Sprintf(" ORDER BY LOWER(a.name), a.id LIMIT $%d OFFSET $%d", len(args)+1, len(args)+2), append(args, limit, offset),
		func(scan func(...any) error) error {
			var s AccountSummary
			var created int64
			err := scan(&s.ID, &s.Name, &s.Locale, &created, &s.LiveCredits, &s.TestCredits, &s.LiveOrders, &s.ActiveKeys)
			s.CreatedAt = timeOf(created)
			found = append(found, s)
			return err
		})
	return found, total, err
}

// likePattern takes the meaning from what LIKE would read as a pattern.
var likePattern = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// SetKeyLimits replaces the limits of a key of the account, or returns ErrNotFound.
func (t *Tx) SetKeyLimits(accountID, id string, limits map[string]int) error {
	text, err := json.Marshal(limits)
	if err != nil {
		return err
	}
	return t.one("UPDATE api_keys SET limits = $1 WHERE id = $2 AND account_id = $3", string(text), id, accountID)
}

// EmailTaken reports whether an account user has the normalised email, also one who has left.
func (q Queries) EmailTaken(ctx context.Context, email string) (bool, error) {
	var n int
	err := q.row(ctx, "SELECT COUNT(*) FROM users WHERE email = $1", []any{email}, &n)
	return n > 0, err
}
