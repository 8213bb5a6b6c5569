package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	apis "github.com/assayhq/assay/api"
	"github.com/assayhq/assay/docs/guides"
	"github.com/assayhq/assay/internal/pages/ui"
)

// samplePhoto is for first orders: a photo that anybody can upload.
//
//go:embed static/sample.jpg
var samplePhoto []byte

// resource is one answer, ready to send.
type resource struct {
	contentType string
	body        []byte
	etag        string
}

func newResource(contentType string, body []byte) resource {
	sum := sha256.Sum256(body)
	return resource{contentType: contentType, body: body, etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
}

const (
	jsonType     = "application/json"
	yamlType     = "application/yaml"
	markdownType = "text/markdown; charset=utf-8"
)

// resources are made when somebody asks for one of them, for the service at a public URL.
var resources = map[string]func(publicURL string) resource{
	Path + "/openapi.json": func(u string) resource { return newResource(jsonType, apis.IntegrationAt(u).JSON) },
	Path + "/openapi.yaml": func(u string) resource { return newResource(yamlType, apis.IntegrationAt(u).YAML) },
	Path + "/openapi-3.0.json": func(u string) resource {
		return newResource(jsonType, apis.IntegrationAt(u).JSON30)
	},
	Path + "/desk.json":    func(u string) resource { return newResource(jsonType, apis.DeskAt(u).JSON) },
	Path + "/desk.yaml":    func(u string) resource { return newResource(yamlType, apis.DeskAt(u).YAML) },
	Path + "/postman.json": func(u string) resource { return newResource(jsonType, postman(integrationAPI(u))) },
	Path + "/sample.jpg":   func(string) resource { return newResource("image/jpeg", samplePhoto) },
}

func (d *Docs) document(w http.ResponseWriter, r *http.Request) error {
	found, err := d.resources.get(r.URL.Path, func(path string) (resource, error) {
		return resources[path](d.site.PublicURL), nil
	})
	if err != nil {
		return err
	}
	return serve(w, r, found)
}

func serve(w http.ResponseWriter, r *http.Request, found resource) error {
	h := w.Header()
	h.Set("Content-Type", found.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", found.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.body))
	return nil
}

func markdownAddress(name string) string { return Path + "/" + name + ".md" }

// markdown sends a guide as it was written.
func (d *Docs) markdown(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, Path+"/"), ".md")
	content, err := guides.Read(name, ui.LocaleOf(r))
	if err != nil {
		return err
	}
	w.Header().Add("Vary", "Cookie, Accept-Language")
	content = bytes.ReplaceAll(content, []byte(sampleServer), []byte(d.site.PublicURL))
	return serve(w, r, newResource(markdownType, content))
}
