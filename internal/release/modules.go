// Package release is what a release is made and checked with: the licences of what is linked into the program, and a
// search for secrets in the files of the repository.
package release

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Platforms are those that releases are made for.
var Platforms = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
}

// Module is a module that is linked into the program, on any of the platforms.
type Module struct {
	Path    string
	Version string
	Licence string   // its SPDX name, empty when it is not known
	Texts   []string // its licence, and its notice where it has one
}

// Linked returns the modules that are linked into the program, and the Go standard library, in order of their paths.
// root is the folder of the repository.
func Linked(ctx context.Context, root string) ([]Module, error) {
	dirs := map[string]string{} // by path and version
	for _, platform := range Platforms {
		system, arch, _ := strings.Cut(platform, "/")
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-tags", "nodynamic",
			"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/assay")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list the modules for %s: %w", platform, withOutput(err))
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				dirs[name] = dir
			}
		}
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return nil, withOutput(err)
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(goroot)), "\n")
	dirs["std "+version] = dir
	modules := make([]Module, 0, len(dirs))
	for name, dir := range dirs {
		path, version, _ := strings.Cut(name, " ")
		m := Module{Path: path, Version: version}
		if m.Licence, m.Texts, err = licenceIn(dir); err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b Module) int { return cmp.Compare(a.Path, b.Path) })
	return modules, nil
}

func withOutput(err error) error {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, e.Stderr)
	}
	return err
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licenceIn reads the licence and notice of a folder.
func licenceIn(dir string) (licence string, texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Clean(dir), e.Name()))
		if err != nil {
			return "", nil, err
		}
		if licence == "" {
			licence = classify(string(text))
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	return licence, texts, nil
}

// classify recognises the licences that may be used: those that ask for nothing but their text and notices.
func classify(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	has := func(part string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(part)) }
	for _, l := range []struct {
		licence   string // empty: it may not be used
		says, and string
	}{
		{"", "GNU General Public License", ""},
		{"", "GNU Lesser", ""},
		{"", "GNU Affero", ""},
		{"", "Server Side Public", ""},
		{"Apache-2.0", "Apache License", "Version 2.0"},
		{"", "Mozilla Public License", ""},
		{"MIT", "Permission is hereby granted, free of charge", ""},
		{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose", ""},
		{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose", ""},
		{"BSD-3-Clause", "Redistribution and use in source and binary forms", "Neither the name"},
		{"BSD-2-Clause", "Redistribution and use in source and binary forms", ""},
		{"Unlicense", "This is free and unencumbered software", ""},
	} {
		if has(l.says) && has(l.and) {
			return l.licence
		}
	}
	return ""
}

// embedded are files of others that are part of the program without being modules, with their licence.
var embedded = []struct{ what, licence, text string }{
	{"BIZ UDPGothic, the typeface of certificates", "OFL-1.1", "internal/pages/certificate/fonts/OFL.txt"},
}

// WriteNotice writes what is linked into the program, and the licences of all of it, each text once.
func WriteNotice(w io.Writer, root string, modules []Module) error {
	var b strings.Builder
	b.WriteString("Assay contains the work of others. This file names it and repeats its licences.\n\n")
	of := map[string][]string{} // who has a text
	var order []string
	add := func(text, who string) {
		if _, ok := of[text]; !ok {
			order = append(order, text)
		}
		of[text] = append(of[text], who)
	}
	for _, m := range modules {
		fmt.Fprintf(&b, "%s %s (%s)\n", m.Path, m.Version, m.Licence)
		for _, text := range m.Texts {
			add(text, m.Path)
		}
	}
	for _, e := range embedded {
		fmt.Fprintf(&b, "%s (%s)\n", e.what, e.licence)
		text, err := os.ReadFile(filepath.Join(filepath.Clean(root), e.text))
		if err != nil {
			return err
		}
		add(strings.TrimSpace(string(text)), e.what)
	}
	for _, text := range order {
		line := strings.Repeat("=", 78)
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(slices.Compact(of[text]), "\n"), line, text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
