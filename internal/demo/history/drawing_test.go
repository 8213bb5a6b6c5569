package history

import (
	"bytes"
	"testing"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestDrawPhoto checks that each photo of an item shows something of its own, and that flaws can be seen.
func TestDrawPhoto(t *testing.T) {
	t.Parallel()
	document, err := catalog.Parse(demo.Catalog)
	must.NoError(t, err)
	snapshot := catalog.NewSnapshot(document, 1, nil, nil)
	for _, i := range items {
		where := catalog.Context{Category: i.category, Brand: i.brand, Model: i.model}
		must.NoError(t, snapshot.Check(where))
		for n, index := range snapshot.PhotoIndexes(where) {
			if _, ok := views[index.Code]; !ok && (n < 4 || index.Required) && index.Code != "overall-picture" {
				t.Errorf("the photo of %s of %v shows the whole item", index.Code, i)
			}
		}
	}
	sound := drawPhoto("bags", "serial-number", 1, sharp)
	for _, f := range []flaw{blurred, tooDark, wrongPart} {
		if bytes.Equal(drawPhoto("bags", "serial-number", 1, f), sound) {
			t.Errorf("flaw %d cannot be seen", f)
		}
	}
}
