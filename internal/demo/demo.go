// Package demo holds the catalog that a demonstration server starts with. It is an ordinary catalog document, so it is
// also the example to copy when writing a catalog of one's own.
//
// The document names no host outside the service (no icons, pictures or examples), no account, and keeps an answer time
// open at every hour, so that a first order can be made anywhere and at any time.
package demo

import _ "embed" // for Catalog

// Catalog is the demonstration catalog as a YAML document in English and Japanese, in the form that catalog.Parse reads.
// Callers must not change it.
//
//go:embed catalog.yaml
var Catalog []byte
