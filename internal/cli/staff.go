package cli

import (
	"context"
	"flag"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/service"
)

func staffCreateFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.email, "email", "", "`email` to sign in with")
	fs.StringVar(&inv.name, "name", "", "`name` shown at the desk")
	fs.StringVar(&inv.role, "role", "", "reviewer or admin")
}

func staffCreate(ctx context.Context, inv *invocation) error {
	role, ok := access.ParseStaffRole(inv.role)
	if !ok {
		return wrongCall("--role must be reviewer or admin")
	}
	if _, err := service.CheckNewStaff(inv.email, inv.name, role); err != nil {
		return err
	}
	return inv.open(ctx, func(app *server.App) error {
		n, err := app.Service.CreateStaff(ctx, access.Operator, inv.email, inv.name, role)
		if err != nil {
			return err
		}
		return inv.print(struct {
			UserID   string `json:"user_id"`
			Email    string `json:"email"`
			Password string `json:"password"`
			Token    string `json:"token"`
		}{n.Staff.ID, n.Staff.Email, n.Password, n.Token},
			"%s %s (%s) created\npassword %s\ntoken %s\nPassword and token are not shown again.\n",
			role, n.Staff.Email, n.Staff.ID, n.Password, n.Token)
	})
}

func staffList(ctx context.Context, inv *invocation, app *server.App) error {
	members, err := app.Service.StaffMembers(ctx, access.Operator)
	if err != nil {
		return err
	}
	views, rows := make([]staffView, len(members)), make([][]string, len(members))
	for i, m := range members {
		v := staffView{m.ID, m.Email, m.Name, m.Role, m.Active(), m.SecondFactor || m.Passkeys > 0, m.InReview}
		state, factor := "active", "none"
		if !v.Active {
			state = "deactivated"
		}
		if v.SecondFactor {
			factor = "set"
		}
		views[i] = v
		rows[i] = []string{v.ID, v.Email, v.Name, string(v.Role), state, factor, strconv.FormatInt(v.InReview, 10)}
	}
	return inv.table(views, "staff users", []string{
		"ID", "EMAIL", "NAME", "ROLE", "STATE", "SECOND FACTOR", "IN REVIEW",
	}, rows)
}

// staffView is the JSON output for a staff user.
type staffView struct {
	ID           string           `json:"id"`
	Email        string           `json:"email"`
	Name         string           `json:"name"`
	Role         access.StaffRole `json:"role"`
	Active       bool             `json:"active"`
	SecondFactor bool             `json:"second_factor"`
	InReview     int64            `json:"in_review"`
}
