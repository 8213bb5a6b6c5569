package integrationtest

import (
	_ "embed" // the catalog
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
)

// Catalog is the catalog document of every world that is not given another.
//
//go:embed catalog.yaml
var Catalog []byte

// ImportCatalog replaces the catalog of the world.
func (w *World) ImportCatalog(t testing.TB, document []byte) {
	t.Helper()
	if _, err := w.Service.ImportCatalog(t.Context(), access.Operator, document); err != nil {
		t.Fatalf("import the catalog: %v", err)
	}
}
