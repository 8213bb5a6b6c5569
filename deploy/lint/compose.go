package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose loads a project as `docker compose` does, strictly: unknown keys, references to networks, volumes and
// secrets that do not exist, and dependencies in a circle are refused. Files that it mounts have to exist.
func compose(ctx context.Context, file string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithName("assay"), cli.WithResolvedPaths(true),
		cli.WithConsistency(true), cli.WithInterpolation(true), cli.WithNormalization(true))
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(ctx)
	if err != nil {
		return nil, err
	}
	var problems []error
	exists := func(service, path string) {
		if _, err := os.Stat(path); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", service, err))
		}
	}
	for _, s := range project.Services {
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				exists(s.Name, v.Source)
			}
		}
		if s.Build != nil {
			exists(s.Name, filepath.Join(s.Build.Context, s.Build.Dockerfile))
		}
	}
	for name, secret := range project.Secrets {
		exists(name, secret.File)
	}
	return project, errors.Join(problems...)
}
