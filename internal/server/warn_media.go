package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/media"
)

// How many photos the start looks for in the media store, and how long.
const (
	soughtPhotos  = 3
	mediaPatience = 5 * time.Second
)

// warnMedia says so where the media store is away, or has none of the newest photos: a folder that is not there is
// made, and another bucket answers as the right one would.
func (s *Server) warnMedia(ctx context.Context) {
	limit, cancel := context.WithTimeout(ctx, mediaPatience)
	defer cancel()
	names, err := s.app.Store.NewestPhotos(limit, soughtPhotos)
	if len(names) == 0 {
		names = []string{photo.NewName(photo.JPEG)} // which nobody has: a store that says so is not away
	}
	if err == nil {
		names, err = s.lostPhotos(limit, names)
	}
	store := cmp.Or(s.app.Settings.Media, filepath.Join(s.app.Settings.Data, "media"))
	switch away, isAway := errors.AsType[mediaAway](err); {
	case ctx.Err() != nil: // the server stops
	case isAway:
		s.app.Log.WarnContext(ctx, "THE MEDIA STORE IS AWAY: photos can be neither stored nor seen until it is back",
			"media", store, "error", away.error)
	case err != nil:
		s.app.Log.WarnContext(ctx, "the media store could not be held against the database", "error", err)
	case len(names) > 0:
		s.app.Log.WarnContext(ctx, "THE MEDIA STORE LACKS THE PHOTOS: none of the newest ones is there. "+
			"Is --media right, is the volume mounted?", "media", store, "looked_for", len(names))
	}
}

// mediaAway is why the media store cannot be used.
type mediaAway struct{ error }

// lostPhotos returns the photos where the media store has none of them, except those that were erased or deleted
// meanwhile: the database says so before a file goes.
func (s *Server) lostPhotos(ctx context.Context, names []string) (lost []string, err error) {
	found := make(chan error, 1)
	go func() { found <- findAny(ctx, s.app.Media, names) }() // a disk may never answer
	select {
	case err = <-found:
	case <-ctx.Done():
		err = fmt.Errorf("no answer within %s", mediaPatience)
	}
	switch {
	case err == nil:
		return nil, nil
	case !errors.Is(err, media.ErrNotFound):
		return nil, mediaAway{err}
	}
	known, err := s.app.Store.PhotosNamed(ctx, names)
	for name, p := range known {
		if !p.Erased {
			lost = append(lost, name)
		}
	}
	return lost, err
}

// findAny returns media.ErrNotFound where the media store has none of the photos.
func findAny(ctx context.Context, m media.Store, names []string) error {
	for _, name := range names {
		if _, err := m.Stat(ctx, name); !errors.Is(err, media.ErrNotFound) {
			return err
		}
	}
	return media.ErrNotFound
}
