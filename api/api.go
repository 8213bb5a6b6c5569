// Package api contains the OpenAPI documents of the integration API and the desk API. They are written by hand and
// are the contract: the reference pages are generated from them, and tests check the server against them in both
// directions.
package api

import (
	_ "embed" // the documents
	"strings"
	"sync"

	"github.com/assayhq/assay/api/spec"
)

var (
	//go:embed openapi.yaml
	integrationYAML []byte
	//go:embed desk.yaml
	deskYAML []byte
)

// Paths of the APIs. The paths of the documents are relative to them.
const (
	IntegrationPrefix = "/v1/integrations"
	DeskPrefix        = "/v1/desk"
)

// Integration and Desk return the parsed documents of the two APIs. The caller must not change them.
var (
	Integration = sync.OnceValue(func() *spec.Document { return must(spec.Parse(integrationYAML)) })
	Desk        = sync.OnceValue(func() *spec.Document { return must(spec.Parse(deskYAML)) })
)

// IntegrationYAML returns the document of the integration API as YAML. The caller must not change it.
func IntegrationYAML() []byte { return integrationYAML }

// DeskYAML returns the document of the desk API as YAML. The caller must not change it.
func DeskYAML() []byte { return deskYAML }

// Document is the document of an API as a service serves it. Whoever reads it must not change it.
type Document struct {
	YAML   []byte
	JSON   []byte
	JSON30 []byte // the same as OpenAPI 3.0.3
}

// IntegrationAt returns the document of the integration API of the service at a public URL.
func IntegrationAt(publicURL string) Document {
	return at(integrationYAML, publicURL, IntegrationPrefix)
}

// DeskAt returns the document of the desk API of the service at a public URL.
func DeskAt(publicURL string) Document { return at(deskYAML, publicURL, DeskPrefix) }

func at(document []byte, publicURL, prefix string) Document {
	document = must(spec.WithServer(document, strings.TrimSuffix(publicURL, "/")+prefix))
	return Document{YAML: document, JSON: must(spec.JSON(document)), JSON30: must(spec.JSON30(document))}
}

// must is for embedded documents: a broken one is a build mistake that the package's tests find.
func must[T any](v T, err error) T {
	if err != nil {
		panic("api: embedded document: " + err.Error())
	}
	return v
}
