package imaging

import (
	"fmt"

	"github.com/gen2brain/avif"
	"github.com/gen2brain/heic"
	animated "github.com/gen2brain/webp"
)

// Built without the tag nodynamic, the decoders below look for a library of the system and hand photos to it: code in C
// that nothing here bounds, with files that anybody can send. That of HEIC can be told not to.
func init() { heic.ForceWasmMode = true }

// systemLibraries tells of decoders that would use a library of the system; nil is for one that has found it.
var systemLibraries = map[string]func() error{"libavif": avif.Dynamic, "libwebp": animated.Dynamic}

// withoutSystem returns an error where a decoder would hand a photo to a library of the system.
func withoutSystem(library string) error {
	if systemLibraries[library]() == nil {
		return fmt.Errorf("the program was built without the tag nodynamic, and would use %s of the system", library)
	}
	return nil
}
