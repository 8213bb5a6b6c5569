package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
)

const (
	assetPrefix   = "/assets/"
	assetHashSize = 8       // bytes
	minGzip       = 1 << 10 // below that nothing is won
)

// assets are the static files of all areas. Their addresses hold a hash over all of them, so that browsers keep them
// for good and a module can import another by a relative path.
type assets struct {
	hash  string
	files map[string]*asset
}

type asset struct {
	contentType string
	content     []byte
	zipped      []byte // nil when it is not smaller
}

var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".png": "image/png", ".jpg": "image/jpeg",
	".webp": "image/webp", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
}

// add takes the files below static/ of an area.
func (a *assets) add(area string, files fs.FS) error {
	return fs.WalkDir(files, "static", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == "static" { // an area need not have any
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		contentType, ok := assetTypes[path.Ext(name)]
		if !ok {
			return fmt.Errorf("%s: %s: no content type is known for this extension", area, name)
		}
		a.files[area+"/"+strings.TrimPrefix(name, "static/")] = &asset{
			contentType: contentType, content: content,
			zipped: zip(contentType, content),
		}
		return nil
	})
}

func zip(contentType string, content []byte) []byte {
	if len(content) < minGzip || strings.HasPrefix(contentType, "image/") && contentType != "image/svg+xml" {
		return nil
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
	if _, err := w.Write(content); err != nil || w.Close() != nil || b.Len() >= len(content) {
		return nil
	}
	return b.Bytes()
}

// seal computes the hash when all files are there.
func (a *assets) seal() {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		sum := sha256.Sum256(a.files[name].content)
		fmt.Fprintf(h, "%s %x\n", name, sum)
	}
	a.hash = hex.EncodeToString(h.Sum(nil)[:assetHashSize])
}

// url returns the address of a file such as ui/ui.css, or an error when there is none.
func (a *assets) url(name string) (string, error) {
	if _, ok := a.files[name]; !ok {
		return "", fmt.Errorf("there is no asset %q", name)
	}
	return assetPrefix + a.hash + "/" + name, nil
}

// ServeHTTP serves /assets/{hash}/{name}. Another hash is that of another version of the program, during an upgrade of
// several nodes: it gets the file as it is here, and is not to keep it.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hash, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, assetPrefix), "/")
	file, ok := a.files[name]
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	if !ok {
		header.Set("Cache-Control", "no-store")
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	header.Set("Cache-Control", "no-cache")
	if hash == a.hash {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("Content-Type", file.contentType)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Vary", "Accept-Encoding")
	content := file.content
	if file.zipped != nil && acceptsGzip(r) {
		header.Set("Content-Encoding", "gzip")
		content = file.zipped
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err == nil && name == "gzip" && params["q"] != "0" {
			return true
		}
	}
	return false
}

// PhotoFailed answers for a photo that was not served because of err: with a picture that says so, for now, where it
// cannot be decoded.
func (s *Site) PhotoFailed(w http.ResponseWriter, r *http.Request, err error) error {
	switch {
	case errors.Is(err, media.ErrNotFound):
		return PageNotFound()
	case errors.Is(err, imaging.ErrUndecodable):
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, s.AssetURL("ui/unavailable.svg"), http.StatusFound)
		return nil
	}
	return err
}
