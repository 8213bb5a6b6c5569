package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/server"
)

func catalogImportFlags(fs *flag.FlagSet, inv *invocation) {
	fs.BoolVar(&inv.dryRun, "dry-run", false, "show what would change, without changing it")
}

func importCatalog(ctx context.Context, inv *invocation) error {
	document, err := inv.read(inv.args[0])
	if err != nil {
		return err
	}
	apply := func(app *server.App) error { return applyCatalog(ctx, inv, app, document) }
	err = inv.open(ctx, apply)
	if !errors.Is(err, server.ErrNoInstallation) {
		return err
	}
	first, err := catalog.ParseFor(document, nil) // a new installation has no accounts
	if err != nil {
		return inv.refusedCatalog(err)
	}
	if inv.dryRun {
		return inv.printChanges(catalog.Compare(nil, first))
	}
	inv.begins = true
	return inv.open(ctx, apply)
}

func applyCatalog(ctx context.Context, inv *invocation, app *server.App, document []byte) (err error) {
	var changes []catalog.Change
	if inv.dryRun {
		_, changes, err = app.Service.PlanCatalogImport(ctx, document)
	} else {
		changes, err = app.Service.ImportCatalog(ctx, access.Operator, document)
	}
	if err != nil {
		return inv.refusedCatalog(err)
	}
	return inv.printChanges(changes)
}

func (inv *invocation) printChanges(changes []catalog.Change) error {
	if changes == nil {
		changes = []catalog.Change{}
	}
	var lines strings.Builder
	for _, c := range changes {
		fmt.Fprintln(&lines, shown(c.String()))
	}
	verb := "imported"
	if inv.dryRun {
		verb = "would be imported"
	}
	return inv.print(struct {
		DryRun  bool             `json:"dry_run"`
		Changes []catalog.Change `json:"changes"`
	}{inv.dryRun, changes}, "%scatalog %s: %s\n", block(lines.String()), verb, count(len(changes), "change"))
}

// refusedCatalog prints the problems of a document, and returns what to say of them, or the error as it is.
func (inv *invocation) refusedCatalog(err error) error {
	refused, ok := errors.AsType[*catalog.DocumentError](err)
	if !ok {
		return err
	}
	for _, p := range refused.Problems {
		where := fmt.Sprintf("%s:%d", inv.args[0], p.Line)
		if p.Path != "" {
			where += ": " + p.Path
		}
		if err := sayf(inv.progress, "%s: %s\n", where, p.Message); err != nil {
			return err
		}
	}
	return fmt.Errorf("the document breaks %s; nothing was changed", count(len(refused.Problems), "rule"))
}

func (inv *invocation) read(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(inv.Stdin)
	}
	return os.ReadFile(filepath.Clean(path))
}

func catalogExport(ctx context.Context, inv *invocation, app *server.App) error {
	doc, err := app.Service.CatalogDocument(ctx)
	if err != nil {
		return err
	}
	if inv.json {
		text, err := doc.JSON()
		if err != nil {
			return err
		}
		return inv.print(json.RawMessage(text), "")
	}
	text, err := doc.YAML()
	if err != nil {
		return err
	}
	inv.progress.end()
	_, err = inv.Stdout.Write(text)
	return err
}
