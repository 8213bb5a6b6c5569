package release

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
)

// The parts of a bill of materials in the form of CycloneDX 1.6 that are used here.
type (
	bom struct {
		Schema       string       `json:"$schema"`
		Format       string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     bomMetadata  `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	bomMetadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Ref        string     `json:"bom-ref"`
		Type       string     `json:"type"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl"`
		Hashes     []sum      `json:"hashes,omitempty"`
		Licences   []licence  `json:"licenses,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	sum struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	licence struct {
		Licence struct {
			ID string `json:"id"`
		} `json:"license"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// WriteBOM writes the bill of materials of a program: every module that the toolchain has linked into it, as the
// program itself says, with the sums of go.sum and the licences of modules. version and at are those of the release.
func WriteBOM(w io.Writer, program, version string, at time.Time, modules []Module) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	licences := map[string]string{}
	for _, m := range modules {
		licences[m.Path] = m.Licence
	}
	b := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: bomMetadata{
			Timestamp: at.UTC().Format(time.RFC3339),
			Component: componentOf("application", info.Main.Path, version, "", "Apache-2.0"),
		},
	}
	b.Metadata.Component.Licences = nil // LICENSE is in the archive
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "-tags", "-trimpath":
			b.Metadata.Component.Properties = append(b.Metadata.Component.Properties,
				property{"assay:build:" + strings.TrimPrefix(s.Key, "-"), s.Value})
		}
	}
	b.Components = append(b.Components, componentOf("library", "std", strings.TrimPrefix(info.GoVersion, "go"), "",
		licences["std"]))
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		if licences[dep.Path] == "" {
			return fmt.Errorf("the licence of %s is not known", dep.Path)
		}
		b.Components = append(b.Components, componentOf("library", dep.Path, dep.Version, dep.Sum, licences[dep.Path]))
	}
	main := dependency{Ref: b.Metadata.Component.Ref}
	for _, c := range b.Components {
		main.DependsOn = append(main.DependsOn, c.Ref)
		b.Dependencies = append(b.Dependencies, dependency{Ref: c.Ref})
	}
	b.Dependencies = append([]dependency{main}, b.Dependencies...)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(b)
}

// componentOf describes a module. Its sum is that of go.sum: the SHA-256 of the list of its files.
func componentOf(kind, path, version, goSum, licenceID string) component {
	purl := "pkg:golang/" + path + "@" + url.PathEscape(version)
	c := component{Ref: purl, Type: kind, Name: path, Version: version, PURL: purl}
	if b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(goSum, "h1:")); err == nil && len(b) > 0 {
		c.Hashes = []sum{{"SHA-256", hex.EncodeToString(b)}}
	}
	if licenceID != "" {
		var l licence
		l.Licence.ID = licenceID
		c.Licences = []licence{l}
	}
	return c
}
