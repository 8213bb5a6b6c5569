package main

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// image reads an archive as an OCI layout and as what `docker load` takes, with every digest and size compared, and
// returns its configuration.
func image(archive string) (*v1.ConfigFile, error) {
	docker, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		return nil, err
	}
	if err := validate.Image(docker); err != nil {
		return nil, fmt.Errorf("as an archive of Docker: %w", err)
	}
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := unpack(archive, folder); err != nil {
		return nil, err
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	if err := validate.Index(index); err != nil {
		return nil, fmt.Errorf("as an OCI layout: %w", err)
	}
	return docker.ConfigFile()
}

func unpack(archive, folder string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		path := filepath.Join(folder, filepath.Clean("/"+h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
}
