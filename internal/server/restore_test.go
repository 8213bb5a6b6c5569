package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service/keyring"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/dump"
	"github.com/assayhq/assay/internal/store/schema"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestRestore_SecretKey: a place with another secret key than the one of the backup is refused, with the key to give,
// and left as it was; with that key the same place is filled.
func TestRestore_SecretKey(t *testing.T) {
	generated, inBackup := backUpNew(t, settingsIn(t.TempDir()))
	set := settingsIn(t.TempDir())
	set.SecretKey = secret.Generate()
	keyless, _ := backUpNew(t, set)
	must.NoError(t, os.WriteFile(set.secretPath(), []byte(secret.Generate()+"\n"), 0o600)) // of another time
	stale, staleFile := backUpNew(t, set)

	notInBackup := "--secret-key or --secret-key-file: the backup does not have it"
	key, err := os.ReadFile(inBackup)
	must.NoError(t, err)
	right := strings.TrimSpace(string(key))
	for name, c := range map[string]struct {
		dir, wrong, right string
		says              []string
	}{
		"Another":         {generated, secret.Generate(), right, []string{"--secret-key:", inBackup}},
		"NotInTheBackup":  {keyless, secret.Generate(), set.SecretKey, []string{"--secret-key:", notInBackup}},
		"None":            {keyless, "", set.SecretKey, []string{"nor in --data", notInBackup}},
		"OneOfTheBackup":  {stale, "", set.SecretKey, []string{staleFile + ":", notInBackup}},
		"AnotherAndStale": {stale, secret.Generate(), set.SecretKey, []string{"--secret-key:", notInBackup}},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.EachTarget(t, func(t *testing.T, target string) {
				place := settingsIn(filepath.Join(t.TempDir(), "new"))
				if store.IsPostgres(target) {
					place.Database = target
				}
				if place.SecretKey = c.wrong; place.Database != "" && c.wrong == "" {
					return // a node on PostgreSQL has no other key
				}
				_, err := Restore(t.Context(), place, c.dir)
				if err == nil {
					t.Fatal("it was restored")
				}
				for _, want := range append(c.says, "the installation that was backed up") {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("the refusal lacks %q: %v", want, err)
					}
				}
				if host.Exists(place.Data) {
					t.Error("the data folder is there")
				}
				newest, err := schema.NewestVersion()
				must.NoError(t, err)
				must.NoError(t, dump.CanLoad(t.Context(), place.databaseTarget(), newest))
				place.SecretKey = c.right
				_, err = Restore(t.Context(), place, c.dir)
				must.NoError(t, err)
				app, err := Open(t.Context(), place, slog.New(slog.DiscardHandler))
				must.NoError(t, err)
				must.NoError(t, app.Close())
			})
		})
	}
}

// TestRestore_SecretKeyInPlace: a key that waits in the data folder counts where the backup has none.
func TestRestore_SecretKeyInPlace(t *testing.T) {
	set := settingsIn(t.TempDir())
	set.SecretKey = secret.Generate()
	dir, _ := backUpNew(t, set)
	place := settingsIn(t.TempDir())
	must.NoError(t, os.WriteFile(place.secretPath(), []byte(secret.Generate()+"\n"), 0o600))
	if _, err := Restore(t.Context(), place, dir); err == nil || !strings.Contains(err.Error(), place.secretPath()) ||
		!strings.Contains(err.Error(), keyring.ErrSecretKey.Error()) {
		t.Errorf("got %v, want a refusal of the key in the folder", err)
	}
	must.NoError(t, os.WriteFile(place.secretPath(), []byte(set.SecretKey+"\n"), 0o600))
	_, err := Restore(t.Context(), place, dir)
	must.NoError(t, err)
}

// backUpNew backs up an installation, which is begun if there is none. key is where the backup has a generated key.
func backUpNew(t *testing.T, s Settings) (dir, key string) {
	t.Helper()
	app, err := Begin(t.Context(), s, slog.New(slog.DiscardHandler))
	must.NoError(t, err)
	dir = filepath.Join(t.TempDir(), "backup")
	_, err = app.Backup(t.Context(), dir)
	must.NoError(t, err)
	must.NoError(t, app.Close())
	return dir, filepath.Join(dir, "secrets", secretKeyFile)
}
