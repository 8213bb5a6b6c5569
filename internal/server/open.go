package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/service/keyring"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/schema"
)

// App is the program without its listeners: what commands and the server work on.
type App struct {
	Settings Settings
	Log      *slog.Logger
	Store    *store.Store
	Media    media.Store
	Secrets  *secret.Box
	Guard    *netguard.Guard // for the destinations of webhooks
	Config   service.Config  // of the service
	Service  *service.Service

	DecodeApart []string // command that decodes photos for the server, see imaging.Helper; nil: the server does it itself

	ordered  func(accountID string, names []string) // tells the image cache which photos will be viewed; set by the server
	wake     func()                                 // tells the sender that the outbox has grown; set by the server
	attempts signInWindows                          // its Redis is set by the server
	changed  func(service.Change)                   // tells other nodes of a change; the server does it in the background
	wakeMail func()                                 // tells the mail sender that there is mail; set by the server

	// flushRequests stores the API requests that were answered; set by the server.
	flushRequests func(context.Context) error

	temporary []string // folders with a copy of the database, or in place of what is not there
	lock      *os.File // on --data, until the server takes it

	closeLimit time.Duration // for which Close waits for the database; 0: until it is closed
}

// ErrNoInstallation is returned where there is nothing to open.
var ErrNoInstallation = errors.New("no installation here")

// Open opens the installation that the settings name. Where there is none it returns ErrNoInstallation and leaves
// everything as it is.
func Open(ctx context.Context, s Settings, log *slog.Logger) (*App, error) {
	if err := s.checkExists(ctx); err != nil {
		return nil, err
	}
	return open(ctx, s, log, opening{secrets: (*Settings).openSecrets})
}

// checkExists returns ErrNoInstallation where there is none.
func (s *Settings) checkExists(ctx context.Context) error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	exists, err := schema.Exists(ctx, s.databaseTarget())
	if err == nil && !exists {
		err = s.noInstallation()
	}
	return err
}

// Start is Begin for a server: no other one may run on the same SQLite database. What could not be served is refused
// before anything is made.
func Start(ctx context.Context, s Settings, log *slog.Logger) (_ *App, err error) {
	if err := errors.Join(s.checkOpen(), s.checkServe()); err != nil {
		return nil, err
	}
	if begun, err := schema.Exists(ctx, s.databaseTarget()); err == nil && !begun { // open tells of an error
		if err := s.tryListen(ctx); err != nil {
			return nil, err
		}
	}
	var lock *os.File
	if s.Database == "" {
		if err := s.makeData(); err != nil {
			return nil, err
		}
		if lock, err = lockData(s.Data); err != nil {
			return nil, err
		}
	}
	app, err := open(ctx, s, log, opening{secrets: (*Settings).keepSecrets})
	if err != nil {
		if lock != nil {
			err = errors.Join(err, lock.Close())
		}
		return nil, err
	}
	app.lock = lock
	return app, nil
}

func (s *Settings) noInstallation() error {
	where := "the database that --database names is empty"
	if s.Database == "" {
		where = "there is no database in the folder " + s.Data
	}
	return fmt.Errorf("%w: %s; assay serve begins one, assay restore fills one from a backup",
		ErrNoInstallation, where)
}

// Begin opens the installation that the settings name, and makes what is missing of a new one.
func Begin(ctx context.Context, s Settings, log *slog.Logger) (*App, error) {
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	return open(ctx, s, log, opening{secrets: (*Settings).keepSecrets})
}

func (s *Settings) checkOpen() error {
	if err := s.Check(); err != nil {
		return err
	}
	if _, err := photo.NewURLs(s.MediaURL); err != nil {
		return fmt.Errorf("--media-url: %w", err)
	}
	if host.Exists(s.restoreMarker()) {
		return fmt.Errorf("a restore into this folder has not ended, as %s says: run assay restore again",
			s.restoreMarker())
	}
	if s.moveUnfinished() {
		return fmt.Errorf("a move into this database has not ended, as %s says: run assay move again", s.moveMarker())
	}
	return nil
}

func (s *Settings) makeData() error {
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	return nil
}

// opening says how an installation is opened.
type opening struct {
	// secrets returns the box of the installation's keys.
	secrets func(*Settings, context.Context, *store.Store) (*secret.Box, error)
	// looks: nothing is made or changed, and a broken catalog is no obstacle.
	looks bool
	// failed is told of an error, before the database is closed where it could be opened; nil: nobody is.
	failed func(*store.Store, error)
}

func open(ctx context.Context, s Settings, log *slog.Logger, how opening) (_ *App, err error) {
	urls, err := photo.NewURLs(s.MediaURL)
	if err != nil {
		return nil, fmt.Errorf("--media-url: %w", err)
	}
	app := &App{Settings: s, Log: log, ordered: func(string, []string) {}, wake: func() {}, wakeMail: func() {}}
	app.changed = app.announce
	app.flushRequests = func(context.Context) error { return nil }
	defer func() {
		if err != nil {
			if how.failed != nil {
				how.failed(app.Store, err)
			}
			err = errors.Join(err, app.Close())
		}
	}()
	app.Guard = &netguard.Guard{AllowPrivate: s.WebhookPrivate, Deny: s.WebhookDeny, Ports: s.WebhookPorts}
	if app.Store, err = s.openStore(telling(ctx, log), how.looks); err != nil {
		return nil, err
	}
	if s.DatabaseRead != "" {
		if err := app.Store.UseReplica(s.DatabaseRead, s.DatabaseReadLag, log); err != nil {
			return nil, fmt.Errorf("--database-read %w", err)
		}
	}
	if app.Secrets, err = how.secrets(&s, ctx, app.Store); err != nil {
		return nil, err
	}
	photos := s.Data
	if how.looks && s.Media == "" && !host.Exists(filepath.Join(photos, "media")) { // then every photo is missing
		if photos, err = os.MkdirTemp("", "assay-check-"); err != nil {
			return nil, err
		}
		app.temporary = append(app.temporary, photos)
	}
	if app.Media, err = media.Open(s.Media, photos); err != nil {
		return nil, fmt.Errorf("--media %w", err)
	}
	config := service.Config{
		Store: app.Store, Media: app.Media, Secrets: app.Secrets, Guard: app.Guard,
		Now: time.Now, MediaURLs: urls, PublicURL: s.PublicURL, Log: log, OnDeliveries: func() { app.wake() },
		Limits:         s.serviceLimits(),
		SignInWindows:  &app.attempts,
		OnPhotos:       func(accountID string, names []string) { app.ordered(accountID, names) },
		TestEventDelay: s.TestEventDelay, EventAge: s.EventAge, ClaimAge: s.ClaimAge,
		SecretOverlap: s.SecretOverlap, OpenID: s.OpenID.config(), KeyLife: s.looks,
	}
	if s.SMTPURL != "" {
		config.OnMail = func() {
			app.wakeMail()
			app.changed(service.MailChange)
		}
	}
	config.OnChange = func(c service.Change) { app.changed(c) }
	config.FlushRequests = func(ctx context.Context) error { return app.flushRequests(ctx) }
	app.Config, app.Service = config, service.New(config)
	if err = app.Service.RefreshCatalog(ctx); how.looks && errors.Is(err, service.ErrStoredCatalog) {
		err = nil
	}
	return app, err
}

// telling lets the log say what takes long at the start, such as a migration that waits for others, where nobody else
// listens.
func telling(ctx context.Context, log *slog.Logger) context.Context {
	if progress.On(ctx) {
		return ctx
	}
	return progress.With(ctx, func(what string, _ progress.Unit, _ int64) func(int64) {
		log.InfoContext(ctx, "starting", "step", what)
		return func(int64) {}
	})
}

// openStore opens the database, and makes the folder where it is or has to be. A server that cannot be reached leaves
// nothing behind.
func (s *Settings) openStore(ctx context.Context, looks bool) (*store.Store, error) {
	switch {
	case looks && s.databaseCopy == "":
		return store.OpenToCheck(ctx, s.databaseTarget())
	case looks:
		return store.Open(ctx, s.databaseCopy)
	case s.Database == "":
		if err := s.makeData(); err != nil {
			return nil, err
		}
		return store.Open(ctx, s.databaseTarget())
	}
	db, err := store.Open(ctx, s.Database)
	if err != nil {
		return nil, err
	}
	if err := s.makeData(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// announceTimeout is how long a command waits to tell running servers of what it has changed, which find out anyway.
const announceTimeout = time.Second

func (a *App) announce(c service.Change) {
	ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
	defer cancel()
	if err := a.Store.AnnounceChange(ctx, string(c)); err != nil {
		a.Log.Warn("a change could not be announced to running servers", "change", c, "error", err)
	}
}

// Close closes what was opened.
func (a *App) Close() error {
	var err error
	if a.Store != nil {
		err = a.closeStore()
	}
	if a.Media != nil {
		err = errors.Join(err, a.Media.Close())
	}
	if a.lock != nil {
		err = errors.Join(err, a.lock.Close())
	}
	for _, folder := range a.temporary {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

// closeStore closes the database, within the limit where there is one. One that is not closed by then loses nothing
// that was committed: it is like one whose process was killed.
func (a *App) closeStore() error {
	if a.closeLimit == 0 {
		return a.Store.Close()
	}
	closed := make(chan error, 1)
	go func() { closed <- a.Store.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(a.closeLimit):
		a.Log.Error("the database does not answer: it is left as it is", "waited", a.closeLimit)
		return nil
	}
}

func (s *Settings) databaseTarget() string {
	if s.Database != "" {
		return s.Database
	}
	if s.databaseCopy != "" {
		return s.databaseCopy
	}
	return filepath.Join(s.Data, "assay.db")
}

const secretKeyFile = "secret.key"

// SecretFiles are the generated files in --data that a backup has to hold.
func (s *Settings) SecretFiles() []string {
	return []string{secretKeyFile, tlsCertFile, tlsKeyFile, autocertFolder}
}

// openSecrets returns the box of the secret key: the one that was set, or the one in --data. A key that is missing
// beside a database, or is not that of the database, is refused.
func (s *Settings) openSecrets(ctx context.Context, db *store.Store) (*secret.Box, error) {
	path := s.secretPath()
	if s.SecretKey == "" && !host.Exists(path) {
		untouched, err := s.untouched(ctx, db)
		switch {
		case err != nil:
			return nil, err
		case untouched:
			return nil, s.noInstallation()
		}
		return nil, fmt.Errorf("secret key: %s is missing, and the database was written with it. "+
			"Put the file back (a backup has it as secrets/%s), or give the key as --secret-key or --secret-key-file",
			path, secretKeyFile)
	}
	return s.secrets(func(box *secret.Box) (*secret.Box, error) { return keyring.Open(ctx, db, box) })
}

// keepSecrets is openSecrets for what may begin an installation: it makes the keys of a new one. Anywhere else a new
// key would leave everything unreadable that was sealed before.
func (s *Settings) keepSecrets(ctx context.Context, db *store.Store) (*secret.Box, error) {
	untouched, err := s.untouched(ctx, db)
	if err != nil {
		return nil, err
	}
	if !untouched {
		return s.openSecrets(ctx, db)
	}
	if path := s.secretPath(); s.SecretKey == "" && !host.Exists(path) {
		if err := writeOnce(path, []byte(secret.Generate()+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("secret key: %w", err)
		}
	}
	return s.secrets(func(box *secret.Box) (*secret.Box, error) { return keyring.OpenOrCreate(ctx, db, box, time.Now()) })
}

// untouched reports whether nothing was sealed or written in the database yet.
func (s *Settings) untouched(ctx context.Context, db *store.Store) (bool, error) {
	untouched, err := db.Untouched(ctx)
	if err != nil || !untouched {
		return false, err
	}
	sealed, err := db.SealedKeys(ctx)
	return len(sealed) == 0, err
}

func (s *Settings) secretPath() string { return filepath.Join(s.Data, secretKeyFile) }

// secrets returns the box of the secret key with the kept keys.
func (s *Settings) secrets(keep func(*secret.Box) (*secret.Box, error)) (*secret.Box, error) {
	key, source := s.SecretKey, cmp.Or(s.keySource, "--secret-key")
	if key == "" {
		path := s.secretPath()
		source = path
		stored, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return nil, fmt.Errorf("secret key: %w", err)
		}
		key = strings.TrimSpace(string(stored))
		if secret.Weak(key) {
			return nil, fmt.Errorf("secret key: %s must hold at least %d characters", path, secret.MinKeyLength)
		}
	}
	box, err := secret.New(key, s.SecretKeyPrevious)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	kept, err := keep(box)
	switch {
	case errors.Is(err, keyring.ErrSecretKey) && s.keySource != "":
		return nil, fmt.Errorf("%s: %w", source, err)
	case errors.Is(err, keyring.ErrSecretKey):
		return nil, fmt.Errorf("%s: %w. Start with the right key. "+
			"Where the key was replaced on purpose, give the old one as --secret-key-previous and run: assay secrets rotate",
			source, err)
	case errors.Is(err, keyring.ErrNotBegun):
		return nil, s.noInstallation()
	}
	return kept, err
}

// writeOnce creates a file that only its owner can read, whole or not at all, and never replaces one.
func writeOnce(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return host.SyncFolder(filepath.Dir(path))
}
