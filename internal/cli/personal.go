package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/service"
)

func export(ctx context.Context, inv *invocation) error {
	return inv.withAccount(ctx, func(app *server.App, a *access.Account) (err error) {
		to, err := newExportFolder(inv.args[0])
		if err != nil {
			return err
		}
		err = app.Service.ExportAccount(ctx, access.Operator, a, to)
		if err := errors.Join(err, to.close()); err != nil {
			return err
		}
		return inv.print(struct {
			AccountID string           `json:"account_id"`
			Dir       string           `json:"dir"`
			Rows      map[string]int64 `json:"rows"`
			Photos    int64            `json:"photos"`
			Bytes     int64            `json:"bytes"`
		}{a.ID, inv.args[0], to.rows, to.photos, to.bytes}, "%sexported %s (%s) of account %s to %s\n",
			countLines(to.rows), count(to.photos, "photo"), count(to.bytes, "byte"), a.ID, inv.args[0])
	})
}

// countLines writes numbers by name, a line each.
func countLines(counts map[string]int64) block {
	var lines strings.Builder
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&lines, "%s %d\n", what, counts[what])
	}
	return block(lines.String())
}

// exportFolder is a folder with a file of JSON lines for each kind of rows, and the photos. Only its owner may read it.
type exportFolder struct {
	root          *os.Root
	kind          string
	file          *os.File // of the kind
	buffer        *bufio.Writer
	rows          map[string]int64
	photos, bytes int64
}

func newExportFolder(dir string) (*exportFolder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return nil, errors.Join(err, fmt.Errorf("the folder %s is not empty", dir))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &exportFolder{root: root, rows: make(map[string]int64)}, root.Mkdir("photos", 0o700)
}

// Row implements service.ExportTarget. The rows of a kind come together.
func (f *exportFolder) Row(kind string, row map[string]any) error {
	if kind != f.kind {
		if err := f.endFile(); err != nil {
			return err
		}
		file, err := f.root.OpenFile(kind+".jsonl", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		f.kind, f.file, f.buffer = kind, file, bufio.NewWriter(file)
	}
	f.rows[kind]++
	lines := json.NewEncoder(f.buffer)
	lines.SetEscapeHTML(false)
	return lines.Encode(row)
}

// Photo implements service.ExportTarget.
func (f *exportFolder) Photo(name string, content io.Reader) error {
	file, err := f.root.OpenFile(filepath.Join("photos", name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, content)
	f.photos++
	f.bytes += n
	return errors.Join(err, file.Close())
}

func (f *exportFolder) endFile() error {
	if f.file == nil {
		return nil
	}
	err := errors.Join(f.buffer.Flush(), f.file.Close())
	f.file = nil
	return err
}

func (f *exportFolder) close() error { return errors.Join(f.endFile(), f.root.Close()) }

func eraseFlags(fs *flag.FlagSet, inv *invocation) {
	ofAccount(fs, inv)
	fs.StringVar(&inv.eraseOrder, "order", "", "`id` of the order")
	fs.BoolVar(&inv.dryRun, "dry-run", false, "tell what would be erased and what stays, and change nothing")
}

func erase(ctx context.Context, inv *invocation) error {
	switch {
	case (inv.account == "") == (inv.eraseOrder == ""):
		return wrongCall("either --account or --order is required")
	case inv.eraseOrder != "":
		return inv.open(ctx, func(app *server.App) error {
			return inv.printErasure(app.Service.EraseOrder(ctx, access.Operator, inv.eraseOrder, inv.dryRun))
		})
	}
	return inv.withAccount(ctx, func(app *server.App, a *access.Account) error {
		return inv.printErasure(app.Service.EraseAccount(ctx, access.Operator, a.ID, inv.dryRun))
	})
}

// printErasure tells what was erased, also where it has to be run again because of err.
func (inv *invocation) printErasure(r *service.ErasureReport, err error) error {
	if r == nil {
		return err
	}
	verb := "erased"
	if r.DryRun {
		verb = "would erase"
	}
	var stays strings.Builder
	for _, k := range r.Stays {
		fmt.Fprintf(&stays, "stays: %s: %s\n", shown(k.What), shown(k.Why))
	}
	if err := inv.print(r, "%s%s%s texts of %s and %s (%s)\n", countLines(r.Rows), block(stays.String()), verb,
		count(r.Orders, "order"), count(r.Photos, "photo"), count(r.Bytes, "byte")); err != nil {
		return err
	}
	return err
}
