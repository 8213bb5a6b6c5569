// Package media keeps photo files and the images that were derived from them: it stages files on local disk, stores
// them under their names and serves photos. What a photo may be is decided in domain/photo; here a file is bytes
// with a name.
package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
)

// ErrNotFound tells that the store has no file of that name.
var ErrNotFound = errors.New("media: file not found")

// Store keeps photos by their managed names (photo.NewName), and images derived from them by the names that DerivedName
// gives. All methods may be called concurrently.
//
// A name that is neither is refused by Put and Delete with an error and is ErrNotFound for Open and Stat. A
// canceled context gives the context's error. Every other failure is the store's own (a full disk, an unreachable
// server) and is fault.UnavailableError with the cause inside.
type Store interface {
	// Put stores a staged file, which it may use up: a staged file is put once. When Put returns nil the file is
	// durable. At no time does anyone see a part of a file; a file already there is replaced as a whole. After an error
	// the file may be there or not, and the caller should delete the name.
	Put(ctx context.Context, name string, staged *Staged) error
	// Open returns the file for reading; the caller closes it. The context covers the reading too.
	Open(ctx context.Context, name string) (File, error)
	// Stat tells size and time of a file without opening it.
	Stat(ctx context.Context, name string) (Stat, error)
	// Delete removes a file, durably when it returns nil, and with a photo all that was derived from it. A missing file is
	// no error.
	Delete(ctx context.Context, name string) error
	// Names lists the stored photos in no particular order, without what was derived from them; one that comes or goes
	// meanwhile may or may not be listed. An error ends the list.
	Names(ctx context.Context) iter.Seq2[string, error]
	// Ping tells whether the store can take files now.
	Ping(ctx context.Context) error
}

// File is a stored file, open for reading.
type File interface {
	io.ReadSeekCloser
	Size() int64
	ModTime() time.Time
}

// Stat is what is known of a file without opening it.
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

// unavailable is the fault for a failure of the store itself while it did what is told.
func unavailable(doing string, cause error) error {
	return fault.UnavailableError(fmt.Errorf("media: %s: %w", doing, cause))
}
