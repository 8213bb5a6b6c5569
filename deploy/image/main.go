// Command image builds the image that deploy/Dockerfile describes, without Docker: an OCI archive that
// `docker load`, `podman load`, `skopeo copy oci-archive:…` and registries take. The program must have been built
// before (`make build`); what the first stage of the Dockerfile would bring comes from this machine. The same
// program and certificates make the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

func main() {
	root := flag.String("root", ".", "`folder` of the repository")
	program := flag.String("program", "bin/assay", "built program for linux, `file`")
	certificates := flag.String("certificates", "/etc/ssl/certs/ca-certificates.crt",
		"certificates of public CAs in PEM, `file`")
	architecture := flag.String("architecture", runtime.GOARCH, "of the program, as Go names it")
	name := flag.String("name", "assay:latest", "`name` of the image")
	out := flag.String("o", "bin/assay-image.tar", "archive to write, `file`")
	flag.Parse()

	// What the stage "build" of the Dockerfile has, and where it is on this machine; "": an empty folder.
	sources := map[string]string{
		"/src/bin/assay": *program, "/etc/ssl/certs/ca-certificates.crt": *certificates, "/empty": "",
	}
	if err := build(*root, *out, *name, *architecture, sources); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func build(root, out, name, architecture string, sources map[string]string) error {
	dockerfile, err := os.ReadFile(filepath.Join(root, "deploy", "Dockerfile"))
	if err != nil {
		return err
	}
	s, err := lastStage(string(dockerfile))
	if err != nil {
		return fmt.Errorf("deploy/Dockerfile: %w", err)
	}
	layer, err := makeLayer(s.files, sources)
	if err != nil {
		return err
	}
	archive, err := makeArchive(layer, s.config, architecture, name)
	if err != nil {
		return err
	}
	return os.WriteFile(out, archive, 0o644) //nolint:gosec // an image is no secret
}
