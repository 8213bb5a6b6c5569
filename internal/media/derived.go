package media

import (
	"strings"

	"github.com/assayhq/assay/internal/domain/photo"
)

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

// WithDerived returns the names that a store deletes with a name: for a photo, also those of all derived images. The
// name itself is the last of them: a photo that is still listed is deleted again, images alone would stay unseen.
func WithDerived(name string) []string {
	var names []string
	if _, ok := photo.ParseName(name); ok {
		for _, size := range derivedSizes {
			names = append(names, DerivedName(name, size))
		}
	}
	return append(names, name)
}
