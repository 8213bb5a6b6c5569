package cli

import (
	"context"
	"errors"
	"flag"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/server"
)

func staffCreate() *command {
	return &command{
		name:   "staff create",
		begins: true,
		args:   "--email E --name N --role reviewer|admin",
		about:  "create a staff user with a password and a token for the desk API",
		needs:  []string{"email", "name", "role"},
		flags: func(fs *flag.FlagSet, inv *invocation) {
			fs.StringVar(&inv.email, "email", "", "`email` to sign in with")
			fs.StringVar(&inv.name, "name", "", "`name` shown at the desk")
			fs.StringVar(&inv.role, "role", "", "reviewer or admin")
		},
		run: func(ctx context.Context, inv *invocation) error {
			role, ok := access.ParseStaffRole(inv.role)
			if !ok {
				return errors.New("--role must be reviewer or admin")
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
		},
	}
}
