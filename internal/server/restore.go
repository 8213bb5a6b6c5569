package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/media"
)

// Backup copies everything into an empty folder while servers run.
func (a *App) Backup(ctx context.Context, dir string, progress func(string)) (*backup.Summary, error) {
	return backup.Create(ctx, backup.Options{
		Store: a.Store, Media: a.Media, DataDir: a.Settings.Data, SecretFiles: a.Settings.SecretFiles(), Dir: dir,
		Now: time.Now, Progress: progress,
	})
}

// Restore fills the empty place that the settings name with a backup. No server may run there.
func Restore(ctx context.Context, s Settings, dir string, progress func(string)) (summary *backup.Summary, err error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	lock, err := lockData(s.Data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	files, err := media.Open(s.Media, s.Data)
	if err != nil {
		return nil, fmt.Errorf("--media %w", err)
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	staging, err := media.NewStaging(files.StagingDir())
	if err != nil {
		return nil, err
	}
	return backup.Restore(ctx, backup.RestoreOptions{
		Dir: dir, Database: s.databaseTarget(), Media: files, Staging: staging, DataDir: s.Data, Progress: progress,
	})
}
