package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/assayhq/assay/internal/domain/access"
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
