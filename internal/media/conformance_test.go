package media_test

import (
	"testing"

	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/media/mediatest"
)

func TestDisk_Conformance(t *testing.T) {
	mediatest.Run(t, func(t *testing.T) media.Store {
		d, err := media.NewDisk(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	})
}
