package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/server"
)

func checkFlags(fs *flag.FlagSet, inv *invocation) {
	fs.BoolVar(&inv.deep, "deep", false, "also read every photo, event and delivery, and compare indexes and tables")
	fs.StringVar(&inv.heads, "heads", "",
		"`file` with what assay audit head --json has printed earlier: the logs must still lead through it")
}

func check(ctx context.Context, inv *invocation) (err error) {
	progress.Step(ctx, "opening the installation")
	app, report, err := server.OpenToCheck(ctx, inv.settings, inv.logger())
	if err != nil {
		return err
	}
	if app != nil {
		defer func() { err = errors.Join(err, app.Close()) }()
		if report, err = prove(ctx, inv, app); err != nil {
			return err
		}
	}
	return inv.printReport(report)
}

func prove(ctx context.Context, inv *invocation, app *server.App) (*proof.Report, error) {
	o := proof.Options{
		Store: app.Store, Media: app.Media, CertificateKeys: app.Service.CertificateKeys(), Deep: inv.deep,
		Unreadable: app.Service.UnreadableSecrets,
	}
	if inv.heads != "" {
		content, err := inv.read(inv.heads)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(content, &o.Heads); err != nil {
			return nil, fmt.Errorf("--heads: %s is not what assay audit head --json prints: %w", inv.heads, err)
		}
	}
	progress.Step(ctx, "working")
	return proof.Check(ctx, o)
}

// printReport prints what a check has found; problems are an error.
func (inv *invocation) printReport(report *proof.Report) error {
	var lines strings.Builder
	for _, p := range report.Problems {
		fmt.Fprintf(&lines, "%s %s %s %s: %s\n", p.Kind, shown(p.AccountID), shown(string(p.Environment)),
			shown(p.ID), shown(p.Message))
	}
	for _, note := range report.Notes {
		if err := sayf(inv.progress, "note: %s\n", note); err != nil {
			return err
		}
	}
	err := inv.print(report,
		"%schecked %s, %s, %s, %s, %s: %s\n",
		block(lines.String()), count(report.Accounts, "account"), count(report.Orders, "order"),
		count(report.LedgerEntries, "ledger entry"), count(report.AuditEvents, "audit event"),
		count(report.Photos, "photo"), count(report.ProblemCount, "problem"))
	if err != nil {
		return err
	}
	if !report.OK {
		return fmt.Errorf("%s found", count(report.ProblemCount, "problem"))
	}
	return nil
}

func auditHead(ctx context.Context, inv *invocation, app *server.App) error {
	heads, err := app.Service.AuditHeads(ctx)
	if err != nil {
		return err
	}
	return inv.print(heads, "%s", headLines(heads))
}

func headLines(heads []audit.Head) block {
	var lines strings.Builder
	for _, h := range heads {
		fmt.Fprintf(&lines, "%-14s %-36s %8d %s\n", h.Chain, cmp.Or(h.AccountID, "-"), h.Number, cmp.Or(h.Hash, "-"))
	}
	return block(lines.String())
}

func secretsRotate(ctx context.Context, inv *invocation, app *server.App) error {
	r, err := app.Service.RotateSecrets(ctx)
	if err != nil {
		return err
	}
	if err := inv.print(r, "sealed again: %d, remaining: %d\n", r.Resealed, r.Remaining); err != nil {
		return err
	}
	if inv.settings.SecretKeyPrevious == "" { // else who forgot it would take this for the end, and delete the old key
		fmt.Fprintln(inv.progress, "warning: --secret-key-previous is not given: there was nothing to replace")
	}
	if r.Remaining == 0 {
		return nil
	}
	for _, value := range r.Broken {
		fmt.Fprintf(inv.progress, "no key opens: %s\n", value)
	}
	return fmt.Errorf("not yet sealed with --secret-key: %s. Keep --secret-key-previous and run this again",
		count(r.Remaining, "value"))
}

func backUp(ctx context.Context, inv *invocation, app *server.App) error {
	s, err := app.Backup(ctx, inv.args[0])
	if err != nil {
		return err
	}
	if err := inv.printSummary("backed up", s); err != nil {
		return err
	}
	if !inv.json {
		heads := headLines(s.AuditHeads)
		if _, err := fmt.Fprintf(inv.Stdout, "heads of the logs, to be kept elsewhere:\n%s", heads); err != nil {
			return err
		}
	}
	if s.ProblemCount > 0 {
		return fmt.Errorf("the backup has everything that there is, but the installation itself lacks %s: see `assay check`",
			count(s.ProblemCount, "photo"))
	}
	return nil
}

func restore(ctx context.Context, inv *invocation) error {
	s, err := server.Restore(ctx, inv.settings, inv.args[0])
	if err != nil {
		return err
	}
	return inv.printSummary("restored", s)
}

func (inv *invocation) printSummary(verb string, s *backup.Summary) error {
	for _, p := range s.Problems {
		fmt.Fprintf(inv.progress, "photo %s: %s\n", p.Photo, p.Message)
	}
	return inv.print(s, "%s %s, %s, %s (%s, %s)\n", verb, count(s.Accounts, "account"), count(s.Orders, "order"),
		count(s.Photos, "photo"), count(s.Rows, "row"), count(s.Bytes, "byte"))
}

func moveFlags(fs *flag.FlagSet, inv *invocation) { inv.move.Bind(fs) }

func move(ctx context.Context, inv *invocation) error {
	m := &inv.move
	m.Say = func(line string) { fmt.Fprintln(inv.progress, line) }
	report, err := m.Run(ctx, inv.logger())
	if err != nil {
		return err
	}
	return inv.print(report, "moved %s, %s, %s (%s); secrets sealed again: %d. "+
		"The copy was checked; the old place is as it was\n",
		count(report.Accounts, "account"), count(report.Orders, "order"), count(report.Photos, "photo"),
		count(report.Rows, "row"), report.Resealed)
}
