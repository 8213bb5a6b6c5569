package server

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestBackup_KeyReplaced replaces the secret key while a backup is made: the backup has the key of its database, or it
// is refused.
func TestBackup_KeyReplaced(t *testing.T) {
	t.Run("WhilePhotosAreCopied", func(t *testing.T) {
		_, dir, err := backupWhile(t, "photos")
		must.NoError(t, err)
		place := settingsIn(t.TempDir())
		_, err = Restore(t.Context(), place, dir)
		must.NoError(t, err)
		app, err := Open(t.Context(), place, slog.New(slog.DiscardHandler))
		must.NoError(t, err)
		must.NoError(t, app.Close())
	})
	t.Run("BeforeTheDatabaseIsRead", func(t *testing.T) {
		data, dir, err := backupWhile(t, "counting rows")
		if err == nil || !strings.Contains(err.Error(), "the secret key was replaced while the backup was being made") {
			t.Fatalf("a backup that cannot be opened: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err == nil {
			t.Error("it has a manifest")
		}
		app, err := Open(t.Context(), settingsIn(data), slog.New(slog.DiscardHandler))
		must.NoError(t, err)
		_, err = app.Backup(t.Context(), filepath.Join(t.TempDir(), "again"))
		must.NoError(t, err)
		must.NoError(t, app.Close())
	})
}

// settingsIn are the default settings with a data folder.
func settingsIn(data string) Settings {
	var s Settings
	s.Bind(flag.NewFlagSet("", flag.ContinueOnError))
	s.Data = data
	return s
}

// backupWhile makes a backup of a new installation, whose generated secret key is replaced when a step of it begins.
func backupWhile(t *testing.T, step string) (data, dir string, err error) {
	t.Helper()
	data, dir = t.TempDir(), filepath.Join(t.TempDir(), "backup")
	app, err := Begin(t.Context(), settingsIn(data), slog.New(slog.DiscardHandler))
	must.NoError(t, err)
	defer func() { must.NoError(t, app.Close()) }()
	replaced := false
	ctx := progress.With(t.Context(), func(what string, _ progress.Unit, _ int64) func(int64) {
		if what == step && !replaced {
			replaced = true
			replaceKey(t, data)
		}
		return func(int64) {}
	})
	var made *backup.Summary
	made, err = app.Backup(ctx, dir)
	if !replaced || err == nil && made.Secrets == 0 {
		t.Fatalf("replaced: %t, %+v", replaced, made)
	}
	return data, dir, err
}

// replaceKey seals everything with another secret key, and puts that into the place of the generated one.
func replaceKey(t *testing.T, data string) {
	t.Helper()
	s := settingsIn(data)
	former, err := os.ReadFile(s.secretPath())
	must.NoError(t, err)
	s.SecretKey, s.SecretKeyPrevious = secret.Generate(), strings.TrimSpace(string(former))
	app, err := Open(t.Context(), s, slog.New(slog.DiscardHandler))
	must.NoError(t, err)
	_, err = app.Service.RotateSecrets(context.WithoutCancel(t.Context()))
	must.NoError(t, err)
	must.NoError(t, app.Close())
	must.NoError(t, os.WriteFile(s.secretPath(), []byte(s.SecretKey+"\n"), 0o600))
}
