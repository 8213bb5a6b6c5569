package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/service/keyring"
	"github.com/assayhq/assay/internal/store"
)

// OpenToCheck opens an installation to look at it, and makes and changes nothing. Where its folder cannot be written,
// such as a mounted snapshot, the database is opened in a copy that Close removes: SQLite writes beside a database,
// also to read it. An installation that is too broken to be opened gives a report instead.
func OpenToCheck(ctx context.Context, s Settings, log *slog.Logger) (app *App, broken *proof.Report, err error) {
	failed := func(db *store.Store, err error) { broken = proof.Broken(ctx, db, err, lostKeys(err)...) }
	var folder string
	if original := s.databaseTarget(); s.Database == "" && host.Exists(original) && !writable(s.Data) {
		if folder, err = s.copyDatabase(original); err != nil {
			return nil, nil, err
		}
	}
	if err = s.checkExists(ctx); err != nil {
		failed(nil, err)
	} else {
		app, err = open(ctx, s, log, opening{secrets: (*Settings).openSecrets, looks: true, failed: failed})
	}
	switch {
	case err == nil && folder != "":
		app.temporary = append(app.temporary, folder)
	case folder != "":
		err = errors.Join(err, os.RemoveAll(folder))
	}
	if broken != nil {
		return nil, broken, nil
	}
	return app, nil, err
}

// lostKeys tells of the keys without which an installation could not be opened.
func lostKeys(err error) (problems []proof.Problem) {
	if lost, ok := errors.AsType[*keyring.LostKeysError](err); ok {
		for _, label := range lost.Labels {
			problems = append(problems, proof.Problem{
				Kind: proof.SecretBroken, ID: label, Message: "the key is not in sealed_keys, and no other can take its place",
			})
		}
	}
	return problems
}

// inUse reports whether a server runs on the data folder, which need not be writable here. Where the file system cannot
// tell, as some that are mounted for reading only, none does.
func inUse(dir string) bool {
	f, err := os.Open(filepath.Join(filepath.Clean(dir), lockFile))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // was only read
	taken, err := host.Locked(f)
	return taken && err == nil
}

// copyDatabase copies the database into a temporary folder and uses it from there.
func (s *Settings) copyDatabase(original string) (folder string, err error) {
	if inUse(s.Data) { // a copy of what changes meanwhile would look broken
		return "", fmt.Errorf("a server is running on the data folder %s, which cannot be written from here: "+
			"check it where the server runs, or check a snapshot or a restored backup", s.Data)
	}
	if folder, err = os.MkdirTemp("", "assay-check-"); err != nil {
		return "", err
	}
	s.databaseCopy = filepath.Join(folder, filepath.Base(original))
	err = copyFile(s.databaseCopy, original)
	if err == nil { // what was committed last may be in the log beside the database
		if err = copyFile(s.databaseCopy+"-wal", original+"-wal"); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	return folder, nil
}

// writable reports whether files can be made in the folder; whose it is does not tell that of a read-only mount.
func writable(folder string) bool {
	file, err := os.CreateTemp(folder, ".writable-")
	if err != nil {
		return false
	}
	return errors.Join(file.Close(), os.Remove(file.Name())) == nil
}

func copyFile(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // read only

	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(target, source); err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", from, err), target.Close())
	}
	return target.Close()
}
