package imaging

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/gen2brain/heic"
)

// TestSystemLibraries checks that photos are never handed to a library of the system, however the program was built.
func TestSystemLibraries(t *testing.T) {
	if !heic.ForceWasmMode {
		t.Error("HEIC photos may go to libheif")
	}
	for library := range systemLibraries {
		found := systemLibraries[library]
		systemLibraries[library] = func() error { return nil } // as if it had been found
		defer func() { systemLibraries[library] = found }()
	}
	file := pictures.Sample(t, "github.com/gen2brain/avif", "test8.avif")
	_, err := decoded(t, file, photo.AVIF)
	if !errors.Is(err, ErrUndecodable) || !strings.Contains(err.Error(), "nodynamic") {
		t.Errorf("AVIF: %v", err)
	}
	if _, err := decodeAnimatedWebP(bytes.NewReader(nil)); err == nil || !strings.Contains(err.Error(), "nodynamic") {
		t.Errorf("WebP: %v", err)
	}
}
