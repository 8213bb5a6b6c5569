package integration

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/assayhq/assay/internal/httpx"
)

// TestRenderedPages_Bounded keeps answers until their bytes are too many, and none of those to a search: callers choose
// what they ask for.
func TestRenderedPages_Bounded(t *testing.T) {
	p := new(pageCache).of(nil)
	ask := func(key pageKey) bool {
		asked := request{"/catalog/brands", key.search + strconv.Itoa(key.page)}
		p.store(key, asked, &page{Prepared: httpx.Prepare(bytes.Repeat([]byte("x"), 1<<20))})
		_, kept := p.load(key)
		if found := p.find(asked) != nil; found != kept {
			t.Errorf("%+v: kept %v, found by its query %v", key, kept, found)
		}
		return kept
	}
	if ask(pageKey{search: "a", page: 1}) {
		t.Error("the answer to a search is kept")
	}
	for i := 1; i <= maxPageBytes>>20; i++ {
		for range 2 {
			if !ask(pageKey{page: i}) {
				t.Fatalf("answer %d is not kept", i)
			}
		}
	}
	if ask(pageKey{page: 1000}) {
		t.Error("more answers are kept than may be")
	}
	if !ask(pageKey{page: 1}) {
		t.Error("the first answer is gone")
	}
}
