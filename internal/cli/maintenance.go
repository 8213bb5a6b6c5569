package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/server"
)

func checkCommand() *command {
	return &command{
		name:    "check",
		about:   "check the integrity of the ledger, the audit log, the order counters and the stored photos",
		example: "assay check --json",
		run: withApp(func(ctx context.Context, inv *invocation, app *server.App) error {
			report, err := proof.Check(ctx, app.Store, app.Media)
			if err != nil {
				return err
			}
			var lines strings.Builder
			for _, p := range report.Problems {
				fmt.Fprintf(&lines, "%s %s %s %s: %s\n", p.Kind, p.AccountID, p.Environment, p.ID, p.Message)
			}
			err = inv.print(report,
				"%schecked %d accounts, %d orders, %d ledger entries, %d audit events, %d photos: %d problems\n",
				lines.String(), report.Accounts, report.Orders, report.LedgerEntries, report.AuditEvents,
				report.Photos, report.ProblemCount)
			if err != nil {
				return err
			}
			if !report.OK {
				return fmt.Errorf("%d problems found", report.ProblemCount)
			}
			return nil
		}),
	}
}

func secretsRotate() *command {
	return &command{
		name:    "secrets rotate",
		about:   "seal everything with --secret-key that --secret-key-previous has sealed; servers may be running with both",
		example: "assay secrets rotate --secret-key-file new.key --secret-key-previous-file old.key",
		run: withApp(func(ctx context.Context, inv *invocation, app *server.App) error {
			r, err := app.Service.RotateSecrets(ctx)
			if err != nil {
				return err
			}
			if err := inv.print(r, "sealed again: %d, remaining: %d\n", r.Resealed, r.Remaining); err != nil {
				return err
			}
			if r.Remaining == 0 {
				return nil
			}
			for _, value := range r.Broken {
				fmt.Fprintf(inv.Stderr, "no key opens: %s\n", value)
			}
			return fmt.Errorf("%d values are not sealed with --secret-key: keep --secret-key-previous and run this again",
				r.Remaining)
		}),
	}
}

func backupCommand() *command {
	return &command{
		name:    "backup",
		args:    "DIR",
		about:   "copy database, photos and generated secrets into an empty directory; the server may be running",
		example: "assay backup /backups/2026-11-15",
		nargs:   1,
		run: withApp(func(ctx context.Context, inv *invocation, app *server.App) error {
			s, err := app.Backup(ctx, inv.args[0], inv.progress)
			if err != nil {
				return err
			}
			return inv.printSummary("backed up", s)
		}),
	}
}

func restoreCommand() *command {
	return &command{
		name:    "restore",
		args:    "DIR",
		about:   "restore a backup into an empty installation, on either database engine",
		example: "assay restore /backups/2026-11-15 --data data",
		nargs:   1,
		run: func(ctx context.Context, inv *invocation) error {
			s, err := server.Restore(ctx, inv.settings, inv.args[0], inv.progress)
			if err != nil {
				return err
			}
			return inv.printSummary("restored", s)
		},
	}
}

func (inv *invocation) progress(line string) { fmt.Fprintln(inv.Stderr, line) }

func (inv *invocation) printSummary(verb string, s *backup.Summary) error {
	return inv.print(s, "%s %d accounts, %d orders, %d photos (%d rows, %d bytes)\n",
		verb, s.Accounts, s.Orders, s.Photos, s.Rows, s.Bytes)
}
