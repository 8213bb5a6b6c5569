// Package api contains the OpenAPI documents of the integration API and the desk API. They are written by hand and
// are the contract: the reference pages are generated from them, and tests check the server against them in both
// directions.
package api

import (
	_ "embed" // the documents
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

var (
	integrationJSON = sync.OnceValue(func() []byte { return mustJSON(integrationYAML) })
	deskJSON        = sync.OnceValue(func() []byte { return mustJSON(deskYAML) })
	integration     = sync.OnceValue(func() *spec.Document { return mustParse(integrationYAML) })
	desk            = sync.OnceValue(func() *spec.Document { return mustParse(deskYAML) })
)

// IntegrationYAML returns the document of the integration API as YAML. The caller must not change it.
func IntegrationYAML() []byte { return integrationYAML }

// IntegrationJSON returns the document of the integration API as JSON. The caller must not change it.
func IntegrationJSON() []byte { return integrationJSON() }

// Integration returns the parsed document of the integration API. The caller must not change it.
func Integration() *spec.Document { return integration() }

// DeskYAML returns the document of the desk API as YAML. The caller must not change it.
func DeskYAML() []byte { return deskYAML }

// DeskJSON returns the document of the desk API as JSON. The caller must not change it.
func DeskJSON() []byte { return deskJSON() }

// Desk returns the parsed document of the desk API. The caller must not change it.
func Desk() *spec.Document { return desk() }

// The documents are embedded: a broken one is a build mistake that the package's tests find.
func mustJSON(document []byte) []byte {
	out, err := spec.JSON(document)
	if err != nil {
		panic("api: embedded document: " + err.Error())
	}
	return out
}

func mustParse(document []byte) *spec.Document {
	out, err := spec.Parse(document)
	if err != nil {
		panic("api: embedded document: " + err.Error())
	}
	return out
}
