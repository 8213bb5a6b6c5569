// Package media stores photo files and the images derived from them: it stages uploads on local disk, stores them
// by name and serves photos. Which files are valid photos is decided in domain/photo.
package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
)

// ErrNotFound is returned if the store has no file with that name.
var ErrNotFound = errors.New("media: file not found")

// ErrExists is returned for a photo whose name has other bytes already.
var ErrExists = errors.New("media: another file has this name")

// Store stores photos by their managed names (photo.NewName), and images derived from them by DerivedName. It is
// safe for concurrent use.
//
// For any other name Put and Delete return an error, and Open and Stat return ErrNotFound. A canceled context
// returns the context's error. Every other failure (a full disk, an unreachable server) is a fault.UnavailableError
// with the cause.
type Store interface {
	// Put stores a staged file and may consume it: a staged file is put once. When Put returns nil, the file is
	// durable. Readers never see a partial file. A derived image is replaced atomically; the name of a photo never
	// refers to other bytes: putting the same ones again is no error, others are ErrExists. After any other error the
	// file may or may not exist, and the caller should delete the name.
	Put(ctx context.Context, name string, staged *Staged) error
	// Open returns the file for reading; the caller closes it. The context also applies to reading.
	Open(ctx context.Context, name string) (File, error)
	// Stat returns size and time of a file without opening it.
	Stat(ctx context.Context, name string) (Stat, error)
	// Delete removes a file durably, and with a photo the images derived from it. A missing file is not an error.
	Delete(ctx context.Context, name string) error
	// Names lists the stored photos in no particular order, without derived images. Concurrent changes may or may not
	// be seen. An error ends the list.
	Names(ctx context.Context) iter.Seq2[string, error]
	// DiscardUnfinished removes what uploads have left in the store that began before the time and never ended, and
	// returns how many.
	DiscardUnfinished(ctx context.Context, before time.Time) (int, error)
	// Ping checks that the store can accept files, by writing one.
	Ping(ctx context.Context) error
	// StagingDir returns the local directory for NewStaging.
	StagingDir() string
	// Close frees what the store holds. Files that are open on a Disk stay readable.
	Close() error
}

// Locator is a Store whose photos clients may fetch from elsewhere.
type Locator interface {
	// Location returns a URL that serves the photo to a request with the method, for a few minutes, or "" where the
	// photo is served here.
	Location(ctx context.Context, method, name string) (string, error)
}

// Open opens the store at an address: s3://… (see ParseS3), or empty for a folder in the data directory.
func Open(address, dataDir string) (Store, error) {
	if address == "" {
		return NewDisk(filepath.Join(dataDir, "media"))
	}
	s3, err := ParseS3(address)
	if err != nil {
		return nil, err
	}
	return NewS3(s3, filepath.Join(dataDir, stagingFolder))
}

// File is a stored file opened for reading.
type File interface {
	io.ReadSeekCloser
	Size() int64
	ModTime() time.Time
}

// Stat is the size and time of a file.
type Stat struct {
	Size    int64
	ModTime time.Time
}

// CheckName returns an error unless name is a managed name or that of a derived image. Stores call it before a name
// becomes part of a path or key.
func CheckName(name string) error {
	if _, ok := photo.ParseName(name); !ok && !IsDerived(name) {
		return fmt.Errorf("media: %q is not a managed name", name)
	}
	return nil
}

// unavailable returns the fault for a failure of the store.
func unavailable(doing string, cause error) error {
	return fault.UnavailableError(fmt.Errorf("media: %s: %w", doing, cause))
}

// DerivedPrefix is the directory or key prefix of derived images. They can be recreated at any time, so that an
// operator may delete them and backups skip them.
const DerivedPrefix = "derived"

// derivedSizes are the sizes of derived images.
var derivedSizes = [...]string{"thumb", "screen", "full"}

// DerivedName returns the name of a derived image: the photo's name, a dot and the size. It is not a managed name,
// so that derived images are not served or listed as photos.
func DerivedName(name, size string) string { return name + "." + size }

// IsDerived reports whether a name is that of a derived image.
func IsDerived(name string) bool {
	for _, size := range derivedSizes {
		if of, ok := strings.CutSuffix(name, "."+size); ok {
			_, ok = photo.ParseName(of)
			return ok
		}
	}
	return false
}

// derivedOf returns the names of all images derived from a photo. A store deletes them twice: before the photo, because
// a photo that is still listed is deleted again while images alone would stay unseen; and after it, because one may
// have been made meanwhile. Whoever makes an image looks for its photo afterwards.
func derivedOf(name string) (names []string) {
	if _, ok := photo.ParseName(name); ok {
		for _, size := range derivedSizes {
			names = append(names, DerivedName(name, size))
		}
	}
	return names
}

// batchSize is how many names are in a batch.
const batchSize = 500

// Batches collects names, to look them up together.
func Batches(names iter.Seq2[string, error]) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		var batch []string
		for name, err := range names {
			if err != nil {
				yield(nil, err)
				return
			}
			if batch = append(batch, name); len(batch) == batchSize {
				if !yield(batch, nil) {
					return
				}
				batch = nil
			}
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}
