package release

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
)

// TestWriteBOM checks that the bill of materials of a program names every module that is linked into it, with version,
// sum and licence. The program is this test.
func TestWriteBOM(t *testing.T) {
	info, err := buildinfo.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	modules := []Module{{Path: "std", Licence: "BSD-3-Clause"}}
	for _, dep := range info.Deps {
		modules = append(modules, Module{Path: dep.Path, Licence: "MIT"})
	}
	var first, second bytes.Buffer
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := WriteBOM(out, os.Args[0], "v1.2.3", at, modules); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same program has two bills of materials")
	}
	var b bom
	if err := json.Unmarshal(first.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.SpecVersion != "1.6" || b.Metadata.Timestamp != "2030-01-02T03:04:05Z" ||
		b.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("%+v", b.Metadata)
	}
	if len(b.Components) != len(info.Deps)+1 || len(b.Dependencies[0].DependsOn) != len(b.Components) {
		t.Errorf("%d components of %d modules", len(b.Components), len(info.Deps))
	}
	for _, dep := range info.Deps {
		at := slices.IndexFunc(b.Components, func(c component) bool { return c.Name == dep.Path })
		if at < 0 || b.Components[at].Version != dep.Version || len(b.Components[at].Licences) != 1 ||
			dep.Sum != "" && len(b.Components[at].Hashes) != 1 {
			t.Errorf("%s is not described", dep.Path)
		}
	}
	if len(info.Deps) > 0 {
		if err := WriteBOM(&first, os.Args[0], "v1", at, nil); err == nil {
			t.Error("a module without a licence is described")
		}
	}
}
