package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/assayhq/assay/internal/domain/audit"
)

// AppendStaffAction adds an entry to the log of administration and sets its ID. There is nothing that changes or
// removes one.
func (t *Tx) AppendStaffAction(a *audit.Action) error {
	if a.Details == nil {
		a.Details = map[string]any{}
	}
	details, err := json.Marshal(a.Details)
	if err != nil {
		return err
	}
	a.ID = NewID()
	_, err = t.exec(`INSERT INTO staff_actions (id, at, code, staff_id, staff_name, account_id, target_type, target_id,
		target_name, ip, user_agent, details)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		a.ID, micros(a.At), string(a.Code), textOrNull(a.StaffID), a.StaffName, textOrNull(a.AccountID),
		string(a.Target.Type), a.Target.ID, a.Target.Name,
		textOrNull(a.IP), textOrNull(a.UserAgent), string(details))
	return err
}

// StaffActions returns up to limit entries of the log after a cursor, the newest first. Nothing is counted: a page is a
// range of an index, at any depth.
func (q Queries) StaffActions(
	ctx context.Context, f audit.ActionFilter, after audit.ActionCursor, limit int,
) ([]*audit.Action, error) {
	at := int64(math.MaxInt64)
	if after.ID != "" {
		at = micros(after.At)
	}
	args := []any{at, after.ID, limit}
	var where strings.Builder
	add := func(condition string, value any) {
		args = append(args, value)
		fmt.Fprintf(&where, " AND "+condition, len(args))
	}
	if f.From != nil {
		add("at >= $%d", micros(*f.From))
	}
	if f.To != nil {
		add("at < $%d", micros(*f.To))
	}
	for _, c := range []struct{ column, value string }{
		{"code", string(f.Code)}, {"staff_id", f.StaffID}, {"account_id", f.AccountID}, {"target_id", f.TargetID},
	} {
		if c.value != "" {
			add(c.column+" = $%d", c.value)
		}
	}
	if f.Operator {
		where.WriteString(" AND staff_id IS NULL")
	}
	var list []*audit.Action
	err := q.rows(ctx, `SELECT id, at, code, staff_id, staff_name, account_id, target_type, target_id, target_name, ip,
		user_agent, details FROM staff_actions
		WHERE (at, id) < ($1, $2)`+where.String()+" ORDER BY at DESC, id DESC LIMIT $3", args,
		func(scan func(...any) error) error {
			a := new(audit.Action)
			var at int64
			var staffID, accountID, ip, userAgent sql.NullString
			var details string
			if err := scan(&a.ID, &at, &a.Code, &staffID, &a.StaffName, &accountID, &a.Target.Type, &a.Target.ID,
				&a.Target.Name, &ip, &userAgent, &details); err != nil {
				return err
			}
			a.At, a.StaffID, a.AccountID = timeOf(at), staffID.String, accountID.String
			a.IP, a.UserAgent = ip.String, userAgent.String
			list = append(list, a)
			return json.Unmarshal([]byte(details), &a.Details)
		})
	return list, err
}
