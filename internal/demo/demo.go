// Package demo has the catalog that a demo server starts with. It is an ordinary catalog document, so it is also the
// example to copy when writing a new catalog.
//
// The document names no host outside the service (no icons, pictures or examples), no account, and keeps an answer time
// open at every hour, so that a first order can be made anywhere and at any time.
package demo

import _ "embed" // for Catalog

// Catalog is the demo catalog as a YAML document in English and Japanese, for catalog.Parse. Callers must not change
// it.
//
//go:embed catalog.yaml
var Catalog []byte
