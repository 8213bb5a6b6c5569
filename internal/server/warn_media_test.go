package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
)

// addPhotos adds photos to a database, without their files.
func addPhotos(t *testing.T, set Settings) (names []string) {
	t.Helper()
	app, err := Begin(t.Context(), set, slog.New(slog.DiscardHandler))
	must.NoError(t, err)
	a := &access.Account{ID: uuid7.New(), Name: "Acme", Locale: text.English, CreatedAt: time.UnixMicro(1).UTC()}
	var photos []photo.Stored
	for range 2 {
		p := photo.Stored{Name: photo.NewName(photo.PNG), CreatedAt: time.Now()}
		p.AccountID, p.Environment = a.ID, access.Live
		photos, names = append(photos, p), append(names, p.Name)
	}
	must.NoError(t, app.Store.Update(t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertAccount(a); err != nil {
			return err
		}
		return tx.InsertPhotos(photos)
	}))
	must.NoError(t, app.Close())
	return names
}

// TestMediaWarnings checks what is said at the start of a media store that is not that of the photos, or is away.
func TestMediaWarnings(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	const away = "s3://photos?endpoint=http://127.0.0.1:1&region=us-east-1"
	for name, c := range map[string]struct {
		change func(s *Settings, names []string)
		want   string
	}{
		"Lost": {func(*Settings, []string) {}, "THE MEDIA STORE LACKS THE PHOTOS"},
		"OneIsThere": {func(s *Settings, names []string) {
			folder := filepath.Join(s.Data, "media", names[0][:1], names[0][1:2])
			must.NoError(t, os.MkdirAll(folder, 0o700))
			must.NoError(t, os.WriteFile(filepath.Join(folder, names[0]), []byte("photo"), 0o600))
		}, ""},
		"Erased": {func(s *Settings, names []string) {
			app, err := Open(t.Context(), *s, slog.New(slog.DiscardHandler))
			must.NoError(t, err)
			must.NoError(t, app.Store.Update(t.Context(), func(tx *store.Tx) error {
				_, err := tx.ErasePhotos(names, time.Now())
				return err
			}))
			must.NoError(t, app.Close())
		}, ""},
		"Away": {func(s *Settings, _ []string) { s.Media = away }, "THE MEDIA STORE IS AWAY"},
		"AwayFromNew": {func(s *Settings, _ []string) {
			s.Media, s.Data = away, filepath.Join(t.TempDir(), "new")
		}, "THE MEDIA STORE IS AWAY"},
	} {
		t.Run(name, func(t *testing.T) {
			s, log := startWith(t, func(s *Settings) { c.change(s, addPhotos(t, *s)) })
			if c.want == "" {
				s.warnMedia(t.Context())
				if got := loud(t, log); got != "" {
					t.Errorf("warned of %q", got)
				}
				return
			}
			must.Eventually(t, time.Minute, "a warning: "+c.want, func() bool { return loud(t, log) == c.want })
		})
	}
}

// TestMediaWarnings_ErasedMeanwhile checks that photos do not count as lost that were erased while they were sought.
func TestMediaWarnings_ErasedMeanwhile(t *testing.T) {
	var names []string
	s, _ := startWith(t, func(s *Settings) { names = addPhotos(t, *s) })
	want := func(lost int) {
		t.Helper()
		if got, err := s.lostPhotos(t.Context(), names); err != nil || len(got) != lost {
			t.Errorf("lost photos: %v, %v, want %d", got, err, lost)
		}
	}
	want(2)
	must.NoError(t, s.app.Store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.ErasePhotos(names, time.Now())
		return err
	}))
	want(0)
}
