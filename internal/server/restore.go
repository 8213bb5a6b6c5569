package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/media"
)

// Backup copies everything into an empty folder while servers run.
func (a *App) Backup(ctx context.Context, dir string) (*backup.Summary, error) {
	return backup.Create(ctx, backup.Options{
		Store: a.Store, Media: a.Media, DataDir: a.Settings.Data, SecretFiles: a.Settings.SecretFiles(), Dir: dir,
		Now: time.Now,
	})
}

// Restore fills the empty place that the settings name with a backup. No server may run there.
func Restore(ctx context.Context, s Settings, dir string) (summary *backup.Summary, err error) {
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
	marker := s.restoreMarker()
	summary, err = backup.Restore(ctx, backup.RestoreOptions{
		Dir: dir, Database: s.databaseTarget(), Media: files, Staging: staging, DataDir: s.Data,
		Again: exists(marker),
		Begin: func() error {
			return os.WriteFile(marker, []byte("assay restore has not ended: run it again\n"), 0o600)
		},
	})
	if err != nil {
		return nil, err
	}
	return summary, os.Remove(marker)
}

// restoreMarker is in --data while it is being filled from a backup: nothing else may begin there.
func (s *Settings) restoreMarker() string { return filepath.Join(s.Data, "restore.unfinished") }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
