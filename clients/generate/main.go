// Command generate writes the types of the TypeScript and the Python client from the OpenAPI document of the
// integration API, so that they cannot differ from the contract. Run it with go generate ./clients/... after a change
// of api/openapi.yaml; a test compares the committed files with its output.
package main

//go:generate go run . ..

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assayhq/assay/api"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate CLIENTS-FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	files, err := generate(api.IntegrationYAML())
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := root.WriteFile(filepath.FromSlash(name), []byte(text), 0o600); err != nil {
			return errors.Join(err, root.Close())
		}
	}
	return root.Close()
}

// generate returns the generated files by their path in the clients folder.
func generate(document []byte) (map[string]string, error) {
	d, err := parse(document)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"typescript/src/types.ts": typescript(d),
		"python/assay/types.py":   python(d),
	}, nil
}
