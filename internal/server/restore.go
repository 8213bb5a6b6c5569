package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service/keyring"
)

// Backup copies everything into an empty folder while servers run.
func (a *App) Backup(ctx context.Context, dir string) (*backup.Summary, error) {
	if photos := filepath.Join(a.Settings.Data, "media"); a.Settings.Media == "" && within(dir, photos) {
		return nil, fmt.Errorf("%s is in the folder of the photos, where what is no photo is taken away: "+
			"choose another folder", dir)
	}
	return backup.Create(ctx, backup.Options{
		Store: a.Store, Media: a.Media, DataDir: a.Settings.Data, SecretFiles: a.Settings.SecretFiles(), Dir: dir,
		Now: time.Now, CheckKeys: a.checkBackupKeys,
	})
}

// checkBackupKeys refuses a backup whose database needs another secret key than it was made with: the one that it has
// copied, or --secret-key.
func (a *App) checkBackupKeys(secrets string, sealed map[string]string) error {
	s := a.Settings
	s.Data = secrets
	err := s.opens(sealed)
	if errors.Is(err, keyring.ErrSecretKey) {
		return errors.New("the secret key was replaced while the backup was being made, so that its database cannot be " +
			"opened with the key that belongs to it: delete it, and make it again with the new key")
	}
	return err
}

// opens returns an error unless the secret key opens the sealed keys of a database.
func (s *Settings) opens(sealed map[string]string) error {
	_, err := s.secrets(func(box *secret.Box) (*secret.Box, error) { return box, keyring.Check(sealed, box) })
	return err
}

// checkRestoredKeys refuses a place that could not open what is restored there: its secret key is --secret-key, or else
// the one that its data folder has or gets from the backup.
func (s *Settings) checkRestoredKeys(secrets string, sealed map[string]string) error {
	copied := Settings{Data: secrets}
	place := *s
	place.keySource = "--secret-key"
	if place.SecretKey == "" && host.Exists(copied.secretPath()) {
		place.Data = copied.Data
	}
	var err error
	if place.SecretKey == "" && !host.Exists(place.secretPath()) {
		err = fmt.Errorf("secret key: there is no %s in the backup, nor in --data", secretKeyFile)
	} else if err = place.opens(sealed); !errors.Is(err, keyring.ErrSecretKey) {
		return err
	}
	give := "--secret-key or --secret-key-file: the backup does not have it"
	if host.Exists(copied.secretPath()) && copied.opens(sealed) == nil {
		give = "--secret-key-file " + copied.secretPath()
	}
	return fmt.Errorf("%w. Give the key of the installation that was backed up as %s", err, give)
}

// Restore fills the empty place that the settings name with a backup. No server may run there. What is refused leaves
// the place as it was.
func Restore(ctx context.Context, s Settings, dir string) (summary *backup.Summary, err error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if within(s.Data, dir) {
		return nil, fmt.Errorf("--data %s is in the backup, which must stay as it is: choose another folder", s.Data)
	}
	o := backup.RestoreOptions{
		Dir: dir, Database: s.databaseTarget(), DataDir: s.Data, CheckKeys: s.checkRestoredKeys,
	}
	o.Begun, o.BegunDatabase = s.restoreBegun()
	if err := backup.CanRestore(ctx, o); err != nil {
		return nil, err
	}
	keep := o.Begun != "" // what an interrupted restore has written
	folder, err := takeDataFolder(s.Data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.close(err == nil || keep)) }()
	if !keep {
		folder.mayRemove(s.restoreMarker())
		if err := writeMarker(s.restoreMarker(), restoreNote); err != nil {
			return nil, err
		}
	}
	files, err := media.Open(s.Media, s.Data)
	if err != nil {
		return nil, fmt.Errorf("--media %w", err)
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	o.Media = files
	if o.Staging, err = media.NewStaging(files.StagingDir()); err != nil {
		return nil, err
	}
	o.Begin = func(backup string) error {
		keep = true
		return writeMarker(s.restoreMarker(), restoreNote+backup+"\n"+s.place())
	}
	if summary, err = backup.Restore(ctx, o); err != nil {
		return nil, err
	}
	return summary, os.Remove(s.restoreMarker())
}

// restoreMarker is in --data while it is being filled from a backup: nothing else may begin there. It is there before
// the backup is read, and names backup and database once something of it may have been written.
func (s *Settings) restoreMarker() string { return filepath.Join(s.Data, restoreFile) }

const (
	restoreFile = "restore.unfinished"
	// restoreNote is the first line of the marker; what names the backup and the database follows.
	restoreNote = "assay restore has not ended: run it again\n"
)

// restoreBegun returns which backup an interrupted restore has begun to write, empty: none, and whether it was going to
// fill this database.
func (s *Settings) restoreBegun() (backup string, sameDatabase bool) {
	content, err := os.ReadFile(filepath.Clean(s.restoreMarker()))
	if err != nil {
		return "", false
	}
	lines := strings.SplitAfterN(strings.TrimPrefix(string(content), restoreNote), "\n", 3)
	sameDatabase = len(lines) == 3 && lines[2] == s.place()
	return strings.TrimSpace(strings.Join(lines[:min(2, len(lines))], "")), sameDatabase
}

// within reports whether a path is that of a folder, or of something in it.
func within(path, folder string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	folder, err = filepath.Abs(folder)
	if err != nil {
		return false
	}
	relative, err := filepath.Rel(folder, path)
	return err == nil && (relative == "." || filepath.IsLocal(relative))
}
