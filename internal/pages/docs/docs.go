// Package docs serves the reference of the JSON interfaces: pages made from the OpenAPI documents on the server, with
// plain CSS and a little script for comfort. They need nothing from elsewhere and can be read without scripts.
package docs

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
)

// Path is where the handler has to be mounted, with everything below it.
const Path = "/docs"

// The pages run our own script and style only, send nothing anywhere and cannot be framed.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

//go:embed templates static
var files embed.FS

// samplePhoto is for first orders: a photo that anybody can upload.
//
//go:embed static/sample.jpg
var samplePhoto []byte

// page is what the template shows.
type page struct {
	*spec.Document
	Self   string // path of the page
	Source string // path of the document without its extension
	Key    string // environment variable that holds the credentials in samples
	Other  link
	Groups []group
}

type link struct{ Path, Title string }

// group is the operations of one tag.
type group struct {
	spec.Tag
	Operations []*spec.Operation
	Webhooks   []*spec.Operation
}

func newPage(d *spec.Document, self, source, key string, other link) page {
	p := page{Document: d, Self: self, Source: source, Key: key, Other: other}
	for _, tag := range d.Tags {
		p.Groups = append(p.Groups, group{Tag: tag, Operations: tagged(d.Operations, tag), Webhooks: tagged(d.Webhooks, tag)})
	}
	return p
}

func tagged(operations []*spec.Operation, tag spec.Tag) []*spec.Operation {
	var out []*spec.Operation
	for _, op := range operations {
		if op.Tag == tag.Name {
			out = append(out, op)
		}
	}
	return out
}

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
	htmlType = "text/html; charset=utf-8"
	jsonType = "application/json"
	yamlType = "application/yaml"
)

// newResources makes all answers of the service at a public URL.
func newResources(publicURL string) (map[string]resource, error) {
	integrationDocument, deskDocument := api.IntegrationAt(publicURL), api.DeskAt(publicURL)
	integration, err := render(newPage(api.Integration(), Path, Path+"/openapi", "ASSAY_API_KEY",
		link{Path + "/desk", "Desk API"}))
	if err != nil {
		return nil, err
	}
	desk, err := render(newPage(api.Desk(), Path+"/desk", Path+"/desk", "ASSAY_STAFF_TOKEN",
		link{Path, "Integration API"}))
	if err != nil {
		return nil, err
	}
	style, err := files.ReadFile("static/reference.css")
	if err != nil {
		return nil, err
	}
	script, err := files.ReadFile("static/reference.js")
	if err != nil {
		return nil, err
	}
	mark, err := files.ReadFile("static/mark.svg")
	if err != nil {
		return nil, err
	}
	return map[string]resource{
		Path + "/mark.svg":      newResource("image/svg+xml", mark),
		Path:                    newResource(htmlType, integration),
		Path + "/":              newResource(htmlType, integration),
		Path + "/desk":          newResource(htmlType, desk),
		Path + "/reference.css": newResource("text/css; charset=utf-8", style),
		Path + "/reference.js":  newResource("text/javascript; charset=utf-8", script),

		Path + "/openapi.json":     newResource(jsonType, integrationDocument.JSON),
		Path + "/openapi.yaml":     newResource(yamlType, integrationDocument.YAML),
		Path + "/openapi-3.0.json": newResource(jsonType, integrationDocument.JSON30),
		Path + "/desk.json":        newResource(jsonType, deskDocument.JSON),
		Path + "/desk.yaml":        newResource(yamlType, deskDocument.YAML),
		Path + "/sample.jpg":       newResource("image/jpeg", samplePhoto),
	}, nil
}

func render(p page) ([]byte, error) {
	t, err := template.New("page.html").Funcs(functions).ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Handler serves the reference of the integration interface at Path, that of the desk at Path/desk, and both documents
// as JSON and YAML beside them, for the service at a public URL. missing answers for what is not there.
func Handler(publicURL string, missing http.Handler) http.Handler {
	// Made when the first of them is asked for, and kept.
	resources := sync.OnceValues(func() (map[string]resource, error) { return newResources(publicURL) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := resources()
		if err != nil {
			http.Error(w, "The reference cannot be shown.", http.StatusInternalServerError)
			return
		}
		found, ok := all[r.URL.Path]
		if !ok {
			missing.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("Content-Type", found.contentType)
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", found.etag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.body))
	})
}
