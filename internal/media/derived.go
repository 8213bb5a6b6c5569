package media

import (
	"strings"

	"github.com/assayhq/assay/internal/domain/photo"
)

// DerivedPrefix is where stores keep derived images: a folder, or the beginning of an object key. They can be made
// again at any time, so an operator may empty that place, and copies of the store need not hold it.
const DerivedPrefix = "derived"

// derivedSizes are the sizes that a photo may have derived images of.
var derivedSizes = [...]string{"thumb", "screen", "full"}

// DerivedName returns the name of the image that was made of a photo in a size: the photo's name, a dot and the
// size. It is no managed name, so nothing that serves or lists photos takes it for one.
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

// WithDerived returns a name and, when it is a photo's, the names of all that may have been derived from it: what a
// store removes when it is told to delete the photo.
func WithDerived(name string) []string {
	names := []string{name}
	if _, ok := photo.ParseName(name); ok {
		for _, size := range derivedSizes {
			names = append(names, DerivedName(name, size))
		}
	}
	return names
}
