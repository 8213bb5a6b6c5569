package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/backup"
	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/dump"
	"github.com/assayhq/assay/internal/store/schema"
)

// Move says from where to where an installation is moved. What is not set is in the data folder of its side.
type Move struct {
	From, To Settings

	keepKey bool // the key of the new place is written into its data folder

	Say func(line string) // takes what was copied, and what is wrong with it, line by line
}

// Bind adds the flags of both sides.
func (m *Move) Bind(fs *flag.FlagSet) {
	for _, side := range []struct {
		s           *Settings
		name, place string
	}{{&m.From, "from", "the installation"}, {&m.To, "to", "the new place"}} {
		side.s.Bind(flag.NewFlagSet("", flag.ContinueOnError)) // the defaults of everything else
		fs.StringVar(&side.s.Data, side.name+"-data", "data", "data `folder` of "+side.place)
		side.s.bindSecret(fs, &side.s.Database, side.name+"-database",
			"postgres://… of "+side.place+"; empty: SQLite in --"+side.name+"-data")
		fs.StringVar(&side.s.Media, side.name+"-media", "",
			"s3://… of "+side.place+", as for --media; empty: a folder in --"+side.name+"-data")
		side.s.bindSecret(fs, &side.s.SecretKey, side.name+"-secret-key",
			"secret key of "+side.place+"; empty: that in --"+side.name+"-data")
	}
}

// MoveReport is what a move has done.
type MoveReport struct {
	OK bool `json:"ok"`
	backup.Moved
	Resealed int `json:"resealed"` // secrets that have another key now
}

// Run copies the installation, seals its secrets with the key of the new place, and proves the copy. It can be repeated
// when it was interrupted. The old place stays as it is.
func (m *Move) Run(ctx context.Context, log *slog.Logger) (report *MoveReport, err error) {
	if err := m.prepare(ctx); err != nil {
		return nil, err
	}
	keep := host.Exists(m.To.moveMarker()) // what an interrupted move has copied
	to, err := takeDataFolder(m.To.Data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.close(err == nil || keep)) }()
	if m.From.Database == "" && m.From.Data != m.To.Data { // servers on PostgreSQL are noticed at the end
		lock, failed := lockData(m.From.Data)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	loaded, err := m.targetLoaded(ctx)
	if err != nil {
		return nil, err
	}
	from, err := open(ctx, m.From, log, opening{secrets: (*Settings).openSecrets})
	if err != nil {
		return nil, fmt.Errorf("the installation to move: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := m.checkMedia(ctx, from); err != nil {
		return nil, err
	}
	keep = true
	if err := writeMarker(m.To.moveMarker(), m.To.place()); err != nil {
		return nil, err
	}
	report = new(MoveReport)
	moved, err := m.copy(ctx, from, loaded)
	if err == nil {
		report.Moved = *moved
		err = m.finish(ctx, from, report, log)
	}
	if ctx.Err() != nil {
		return nil, errors.New("interrupted: the same command goes on where it was")
	}
	if err != nil {
		return nil, err
	}
	report.OK = true
	return report, nil
}

// checkMedia refuses a media store that has photos of others: servers of the new place would sweep them away.
func (m *Move) checkMedia(ctx context.Context, from *App) (err error) {
	if m.sameMedia() || m.To.moveUnfinished() { // which has looked, and has put photos there that may be deleted by now
		return nil
	}
	to, err := media.Open(m.To.Media, m.To.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	for names, err := range media.Batches(to.Names(ctx)) {
		if err != nil {
			return fmt.Errorf("the media store of the new place: %s", Reason(err))
		}
		found, err := from.Store.PhotosNamed(ctx, names)
		if err != nil {
			return err
		}
		for _, name := range names {
			if _, ok := found[name]; !ok {
				return fmt.Errorf("the media store of the new place has photos that the installation does not have, %s for "+
					"example: move into an empty one", name)
			}
		}
	}
	return nil
}

// copy copies photos, database and generated secrets.
func (m *Move) copy(ctx context.Context, from *App, loaded bool) (moved *backup.Moved, err error) {
	to, err := media.Open(m.To.Media, m.To.Data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	staging, err := media.NewStaging(to.StagingDir())
	if err != nil {
		return nil, err
	}
	if err := to.Ping(ctx); err != nil {
		return nil, fmt.Errorf("the media store of the new place: %s", Reason(err))
	}
	began := time.Now()
	moved, err = backup.Move(ctx, backup.MoveOptions{
		Store: from.Store, Media: from.Media, Database: m.To.databaseTarget(), Loaded: loaded, ToMedia: to,
		ToStaging: staging, SameMedia: m.sameMedia(), Dir: m.To.Data, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	seconds := time.Since(began).Seconds()
	m.Say(fmt.Sprintf("copied: %d rows, %d photos (%.1f MB) in %.1f s, %.1f MB/s; %d photos were there", moved.Rows,
		moved.Copied, float64(moved.Bytes)/1e6, seconds, float64(moved.Bytes)/1e6/seconds, moved.Photos-moved.Copied))
	if m.From.Data != m.To.Data {
		err = copyMissing(m.From.Data, m.To.Data, []string{tlsCertFile, tlsKeyFile, autocertFolder})
	}
	return moved, err
}

// finish seals the secrets with the key of the new place and checks both ends.
func (m *Move) finish(ctx context.Context, from *App, report *MoveReport, log *slog.Logger) (err error) {
	if err := m.keepSecretKey(); err != nil {
		return err
	}
	settings := m.To
	if m.From.SecretKey != m.To.SecretKey {
		settings.SecretKeyPrevious = m.From.SecretKey
	}
	app, err := open(ctx, settings, log, opening{secrets: (*Settings).openSecrets})
	if err != nil {
		return fmt.Errorf("the new place: %w", err)
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	sealed, err := app.Service.RotateSecrets(ctx)
	if err != nil {
		return err
	}
	if report.Resealed = sealed.Resealed; sealed.Remaining > 0 {
		return fmt.Errorf("%d secrets cannot be opened with --from-secret-key: %s", sealed.Remaining,
			strings.Join(sealed.Broken, ", "))
	}
	progress.Step(ctx, "comparing both places")
	if err := report.Compare(ctx, from.Store); err != nil {
		return fmt.Errorf("the installation was changed while it was moved: stop its servers, empty the new database, "+
			"and run this again: %w", err)
	}
	if err := report.Compare(ctx, app.Store); err != nil {
		return fmt.Errorf("the new place is not what was moved: empty its database and run this again: %w", err)
	}
	found, err := proof.Check(ctx, proof.Options{
		Store: app.Store, Media: app.Media, CertificateKeys: app.Service.CertificateKeys(),
		Unreadable: app.Service.UnreadableSecrets,
	})
	if err != nil {
		return err
	}
	for _, p := range found.Problems {
		m.Say(fmt.Sprintf("%s %s %s: %s", p.Kind, p.AccountID, p.ID, p.Message))
	}
	if !found.OK {
		return fmt.Errorf("%d problems found in the new place; assay check tells whether the installation had them before",
			found.ProblemCount)
	}
	return os.Remove(m.To.moveMarker())
}

// prepare checks the settings of both sides, in the words of their flags.
func (m *Move) prepare(ctx context.Context) error {
	for _, side := range []struct {
		s    *Settings
		name string
	}{{&m.From, "from"}, {&m.To, "to"}} {
		if side.s.Database != "" && !store.IsPostgres(side.s.Database) {
			return fmt.Errorf("--%s-database must be postgres://…, or empty for SQLite in --%s-data", side.name, side.name)
		}
		if side.s.Media != "" {
			if _, err := media.ParseS3(side.s.Media); err != nil {
				return fmt.Errorf("--%s-media %w", side.name, err)
			}
		}
		if side.s.SecretKey != "" && secret.Weak(side.s.SecretKey) {
			return fmt.Errorf("--%s-secret-key must have at least %d characters", side.name, secret.MinKeyLength)
		}
		dir, err := filepath.Abs(side.s.Data)
		if err != nil {
			return err
		}
		side.s.Data, side.s.keySource = dir, "--"+side.name+"-secret-key"
		if side.s.SecretKey == "" {
			side.s.keySource = side.s.secretPath()
			key, err := os.ReadFile(filepath.Clean(side.s.keySource))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			side.s.SecretKey = strings.TrimSpace(string(key))
		}
	}
	if m.From.databaseTarget() == m.To.databaseTarget() {
		return errors.New("both sides have the same database: give --to-database or another --to-data")
	}
	exists, err := schema.Exists(ctx, m.From.databaseTarget())
	if err != nil {
		return fmt.Errorf("the installation to move: %w", err)
	}
	if !exists {
		return fmt.Errorf("%w: --from-data and --from-database name none", ErrNoInstallation)
	}
	if m.From.SecretKey == "" {
		return errors.New("--from-secret-key is required: there is no " + secretKeyFile + " in --from-data")
	}
	if m.To.SecretKey == "" {
		m.To.SecretKey, m.keepKey = m.From.SecretKey, true
	}
	return nil
}

func (m *Move) sameMedia() bool {
	return m.From.Media == m.To.Media && (m.From.Media != "" || m.From.Data == m.To.Data)
}

// targetLoaded reports whether an interrupted move has loaded the new database, and refuses one that others have
// filled.
func (m *Move) targetLoaded(ctx context.Context) (bool, error) {
	newest, err := schema.NewestVersion()
	if err != nil {
		return false, err
	}
	err = dump.CanLoad(ctx, m.To.databaseTarget(), newest)
	if errors.Is(err, dump.ErrNotEmpty) && m.To.moveUnfinished() {
		return true, nil
	}
	if errors.Is(err, dump.ErrNotEmpty) {
		return false, errors.New("the new database is not empty: move into an empty one")
	}
	if err != nil {
		err = fmt.Errorf("the new place: %w", err)
	}
	return false, err
}

// keepSecretKey leaves the key of the installation where servers of the new place look for it, unless it has its own.
func (m *Move) keepSecretKey() error {
	if file := filepath.Join(m.To.Data, secretKeyFile); m.keepKey && !host.Exists(file) {
		return writeOnce(file, []byte(m.To.SecretKey+"\n"))
	}
	return nil
}

// moveMarker is in --data while an installation is being moved there. It holds the new place, because the old one may
// have the same folder.
func (s *Settings) moveMarker() string { return filepath.Join(s.Data, moveFile) }

const moveFile = "move.unfinished"

// moveUnfinished reports whether a move into the database has begun and not ended: nothing else may begin there.
func (s *Settings) moveUnfinished() bool {
	content, err := os.ReadFile(filepath.Clean(s.moveMarker()))
	return err == nil && string(content) == s.place()
}

// place names the database without showing the password in its address.
func (s *Settings) place() string {
	target := s.databaseTarget()
	if s.Database == "" {
		if dir, err := filepath.Abs(target); err == nil {
			target = dir
		}
	}
	sum := sha256.Sum256([]byte(target))
	return hex.EncodeToString(sum[:]) + "\n"
}

// copyMissing copies files and folders that the other folder does not have.
func copyMissing(from, to string, names []string) error {
	for _, name := range names {
		err := fs.WalkDir(os.DirFS(from), name, func(file string, d fs.DirEntry, err error) error {
			switch target := filepath.Join(to, filepath.FromSlash(file)); {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case d.IsDir():
				return os.MkdirAll(target, 0o700)
			case host.Exists(target):
				return nil
			default:
				content, err := fs.ReadFile(os.DirFS(from), path.Clean(file))
				if err != nil {
					return err
				}
				return writeOnce(target, content)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
