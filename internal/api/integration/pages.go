package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/httpx"
)

// pageKey names one answer of the catalog.
type pageKey struct {
	list                           string
	locale                         text.Locale
	brand, category, model, search string
	page, limit                    int
}

// page is an answer that has been rendered once.
type page struct {
	body []byte
	etag string
}

// maxPages bounds the memory of rendered answers. Callers choose the search text, so the number of possible answers is
// not bounded by the catalog.
const maxPages = 4096

// pageCache keeps the rendered answers of one catalog snapshot; the next snapshot starts with none.
type pageCache struct{ current atomic.Pointer[renderedPages] }

type renderedPages struct {
	snapshot *catalog.Snapshot
	count    atomic.Int64
	pages    sync.Map // pageKey → *page
}

// answer writes the page with the key, making it first if this snapshot has not rendered it yet.
func (c *pageCache) answer(w http.ResponseWriter, r *http.Request, snap *catalog.Snapshot, key pageKey,
	build func() (any, error),
) error {
	rendered := c.of(snap)
	if p, ok := rendered.pages.Load(key); ok {
		p.(*page).write(w, r)
		return nil
	}
	v, err := build()
	if err != nil {
		return err
	}
	p, err := render(v)
	if err != nil {
		return err
	}
	if rendered.count.Add(1) <= maxPages {
		rendered.pages.Store(key, p)
	}
	p.write(w, r)
	return nil
}

func (c *pageCache) of(snap *catalog.Snapshot) *renderedPages {
	current := c.current.Load()
	if current != nil && current.snapshot == snap {
		return current
	}
	next := &renderedPages{snapshot: snap}
	c.current.CompareAndSwap(current, next)
	return next
}

func render(v any) (*page, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return &page{body: body, etag: `"` + hex.EncodeToString(sum[:12]) + `"`}, nil
}

// write answers with the page, or with 304 when the client has it.
func (p *page) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Etag", p.etag)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Authorization")
	if matches(r.Header.Get("If-None-Match"), p.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	httpx.WriteRaw(w, http.StatusOK, p.body)
}

func matches(ifNoneMatch, etag string) bool {
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == etag || candidate == "*" {
			return true
		}
	}
	return false
}
