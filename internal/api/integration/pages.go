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
	httpx.Prepared
	etags []string // its ETag as the values of a header
}

// Header values of every page, shared to save their allocation. net/http only reads them.
var (
	privateNoCache    = []string{"private, no-cache"}
	varyAuthorization = []string{"Authorization"}
)

// request is how a page was asked for. The same page may be asked for in many ways.
type request struct{ path, query string }

// These bound the memory of rendered answers. Callers choose the limit and the search text, so the number of possible
// answers is not bounded by the catalog, and those to a search are not kept at all. maxQuery bounds what is kept of how
// they were asked for.
const (
	maxPages     = 4096
	maxPageBytes = 32 << 20 // of all answers
	maxQuery     = 256
)

// pageCache keeps the rendered answers of one catalog snapshot; the next snapshot starts with none.
type pageCache struct{ current atomic.Pointer[renderedPages] }

type renderedPages struct {
	snapshot *catalog.Snapshot

	mu    sync.RWMutex
	bytes int // of pages
	pages map[pageKey]*page
	asked map[request]*page
}

// rendered answers a request that was answered before without reading its query again.
func (a *API) rendered(handle func(http.ResponseWriter, *http.Request, *call) error) func(
	http.ResponseWriter, *http.Request, *call) error {
	return func(w http.ResponseWriter, r *http.Request, c *call) error {
		if p := a.pages.of(a.Service.Catalog()).find(request{r.URL.Path, r.URL.RawQuery}); p != nil {
			p.write(w, r)
			return nil
		}
		return handle(w, r, c)
	}
}

func (p *renderedPages) find(asked request) *page {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.asked[asked]
}

func (p *renderedPages) load(key pageKey) (*page, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	found, ok := p.pages[key]
	return found, ok
}

// store keeps a page and how it was asked for.
func (p *renderedPages) store(key pageKey, asked request, made *page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, kept := p.pages[key]; !kept {
		if key.search != "" || len(p.pages) >= maxPages || p.bytes+len(made.Body) > maxPageBytes {
			return
		}
		p.pages[key] = made
		p.bytes += len(made.Body)
	}
	if len(p.asked) < maxPages && len(asked.path)+len(asked.query) <= maxQuery {
		p.asked[request{strings.Clone(asked.path), strings.Clone(asked.query)}] = made
	}
}

// answer writes the page with the key, making it first if this snapshot has not rendered it yet.
func (c *pageCache) answer(w http.ResponseWriter, r *http.Request, snap *catalog.Snapshot, key pageKey,
	build func() (any, error),
) error {
	rendered := c.of(snap)
	p, ok := rendered.load(key)
	if !ok {
		v, err := build()
		if err != nil {
			return err
		}
		if p, err = render(v); err != nil {
			return err
		}
	}
	rendered.store(key, request{r.URL.Path, r.URL.RawQuery}, p)
	p.write(w, r)
	return nil
}

func (c *pageCache) of(snap *catalog.Snapshot) *renderedPages {
	current := c.current.Load()
	if current != nil && current.snapshot == snap {
		return current
	}
	next := &renderedPages{snapshot: snap, pages: make(map[pageKey]*page), asked: make(map[request]*page)}
	c.current.CompareAndSwap(current, next)
	return next
}

func render(v any) (*page, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return &page{httpx.Prepare(body), []string{`"` + hex.EncodeToString(sum[:12]) + `"`}}, nil
}

// write answers with the page, or with 304 when the client has it.
func (p *page) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["Etag"], h["Cache-Control"], h["Vary"] = p.etags, privateNoCache, varyAuthorization
	if matches(r.Header.Get("If-None-Match"), p.etags[0]) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	p.Write(w, http.StatusOK)
}

func matches(ifNoneMatch, etag string) bool {
	if ifNoneMatch == "" {
		return false
	}
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == etag || candidate == "*" {
			return true
		}
	}
	return false
}
