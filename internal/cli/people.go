package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/service"
)

// ofEmail adds the flag that names a person.
func ofEmail(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.email, "email", "", "`email` of the user")
}

// withUser is withApp for a command about the account user whom --email names.
func withUser(
	f func(context.Context, *invocation, *server.App, *access.User) error,
) func(context.Context, *invocation) error {
	return withApp(func(ctx context.Context, inv *invocation, app *server.App) error {
		user, err := app.Service.UserByEmail(ctx, access.Operator, inv.email)
		if errors.Is(err, service.UserNotFound) {
			return fmt.Errorf("there is no account user with the email %q", inv.email)
		}
		if err != nil {
			return err
		}
		return f(ctx, inv, app, user)
	})
}

// withStaff is withApp for a command about the staff user whom --email names.
func withStaff(
	f func(context.Context, *invocation, *server.App, *access.Staff) error,
) func(context.Context, *invocation) error {
	return withApp(func(ctx context.Context, inv *invocation, app *server.App) error {
		who, err := app.Service.FindStaff(ctx, inv.email)
		if err != nil {
			return err
		}
		return f(ctx, inv, app, who)
	})
}

// resetView is the JSON output for somebody whose credentials were reset.
type resetView struct {
	UserID   string `json:"user_id"`
	Email    string `json:"email"`
	Password string `json:"password,omitempty"`
}

const factorsGone = "second factor and passkeys of %s removed; all browsers are signed out\n" +
	"Where a second factor is required, they set one up when they sign in.\n"

func accountsResetFactor(ctx context.Context, inv *invocation, app *server.App, user *access.User) error {
	if _, err := app.Service.ResetUserFactors(ctx, access.Operator, user.AccountID, user.ID); err != nil {
		return err
	}
	return inv.print(resetView{UserID: user.ID, Email: user.Email}, factorsGone, user.Email)
}

func staffResetFactor(ctx context.Context, inv *invocation, app *server.App, who *access.Staff) error {
	if _, err := app.Service.ResetStaffFactors(ctx, access.Operator, who.ID); err != nil {
		return err
	}
	return inv.print(resetView{UserID: who.ID, Email: who.Email}, factorsGone, who.Email)
}

func staffResetPassword(ctx context.Context, inv *invocation, app *server.App, who *access.Staff) error {
	_, password, err := app.Service.ResetStaffPassword(ctx, access.Operator, who.ID)
	if err != nil {
		return err
	}
	return inv.print(resetView{UserID: who.ID, Email: who.Email, Password: password},
		"password of %s: %s\nIt is not shown again. Their token has ended, and all browsers are signed out.\n",
		who.Email, password)
}

func staffCreateFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.email, "email", "", "`email` to sign in with")
	fs.StringVar(&inv.name, "name", "", "`name` shown at the desk")
	fs.StringVar(&inv.role, "role", "", "reviewer or admin")
}

func staffCreate(ctx context.Context, inv *invocation) error {
	role, ok := enum.Parse(inv.role, access.StaffRoles)
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
