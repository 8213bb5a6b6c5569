package server

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
)

// TestMove_Interrupted interrupts a move after the database was loaded: the new place cannot be used, the old one can,
// and the same move goes on. Both have the same data folder, so that photos stay where they are.
func TestMove_Interrupted(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	data, database, key := t.TempDir(), pgtest.Database(t), secret.Generate()
	newMove := func() *Move {
		m := new(Move)
		m.Bind(flag.NewFlagSet("", flag.ContinueOnError))
		m.From.Data, m.To.Data, m.To.Database, m.To.SecretKey = data, data, database, key
		m.Say = func(string) {}
		return m
	}
	old := newMove().From
	app, err := Begin(t.Context(), old, log)
	must.NoError(t, err)
	_, err = app.Service.CreateAccount(t.Context(), access.System, "Acme", "owner@acme.example", text.English)
	must.NoError(t, err)
	must.NoError(t, app.Close())

	ctx, cancel := context.WithCancel(t.Context())
	_, err = newMove().Run(progress.With(ctx, func(what string, _ progress.Unit, _ int64) func(int64) {
		if what == "files of the database" { // which are checked in the end
			cancel()
		}
		return func(int64) {}
	}), log)
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Fatalf("interrupted: %v", err)
	}
	moved := newMove().To
	if _, err := Open(t.Context(), moved, log); err == nil || !strings.Contains(err.Error(), "run assay move again") {
		t.Errorf("the new place: %v", err)
	}
	app, err = Open(t.Context(), old, log)
	must.NoError(t, err)
	must.NoError(t, app.Close())

	report, err := newMove().Run(t.Context(), log)
	must.NoError(t, err)
	if !report.OK || report.Accounts != 1 || report.Resealed != 0 { // the first run has done that
		t.Errorf("report %+v", report)
	}
	app, err = Open(t.Context(), moved, log)
	must.NoError(t, err)
	accounts, _, err := app.Service.Accounts(t.Context(), access.System, "", 1, 10)
	must.NoError(t, err)
	if len(accounts) != 1 {
		t.Errorf("%d accounts", len(accounts))
	}
	must.NoError(t, app.Close())
}

// TestMove_OtherPhotos: a media store with photos of others is refused and left as it is.
func TestMove_OtherPhotos(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	m := new(Move)
	m.Bind(flag.NewFlagSet("", flag.ContinueOnError))
	m.From.Data, m.To.Data, m.Say = t.TempDir(), t.TempDir(), func(string) {}
	app, err := Begin(t.Context(), m.From, log)
	must.NoError(t, err)
	must.NoError(t, app.Close())
	name := photo.NewName(photo.JPEG)
	file := filepath.Join(m.To.Data, "media", name[:1], name[1:2], name)
	must.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must.NoError(t, os.WriteFile(file, []byte("of others"), 0o600))
	for range 2 { // the first one is not taken for a move that was interrupted
		move := *m
		if _, err := move.Run(t.Context(), log); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want a refusal that names the photo", err)
		}
		if content, err := os.ReadFile(file); err != nil || string(content) != "of others" {
			t.Errorf("the photo is %q, %v", content, err)
		}
	}
	must.NoError(t, os.Remove(file))
	move := *m
	if _, err := move.Run(t.Context(), log); err != nil {
		t.Error(err)
	}
}

// TestMove_WrongKey names the key that is wrong by the flag or the file that it is from.
func TestMove_WrongKey(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	m := new(Move)
	m.Bind(flag.NewFlagSet("", flag.ContinueOnError))
	m.From.Data, m.To.Data = t.TempDir(), filepath.Join(t.TempDir(), "new")
	app, err := Begin(t.Context(), m.From, log)
	must.NoError(t, err)
	must.NoError(t, app.Close())
	wrong := func(source string) {
		t.Helper()
		move := *m
		_, err := move.Run(t.Context(), log)
		if err == nil || !strings.Contains(err.Error(), " "+source+": ") || strings.Contains(err.Error(), " --secret-key") {
			t.Errorf("got %v, want an error about %s", err, source)
		}
		if host.Exists(m.To.Data) {
			t.Error("the new place is there")
		}
	}
	m.From.SecretKey = secret.Generate()
	wrong("--from-secret-key")
	m.From.SecretKey = ""
	file := filepath.Join(m.From.Data, "secret.key")
	must.NoError(t, os.WriteFile(file, []byte(secret.Generate()+"\n"), 0o600))
	wrong(file)
}
