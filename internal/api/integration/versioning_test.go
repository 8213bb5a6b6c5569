package integration_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/testkit/expect"
)

// surface lists what clients of version 1 may rely on: operations, parameters, answers, codes, properties and values.
func surface() []string {
	var lines []string
	add := func(parts ...string) { lines = append(lines, strings.Join(parts, " ")) }
	var schema func(path string, s *spec.Schema, depth int)
	schema = func(path string, s *spec.Schema, depth int) {
		if s == nil || depth > 8 {
			return
		}
		for _, value := range s.Enum {
			add("value", path, value)
		}
		for _, p := range s.Properties {
			add("property", path+"."+p.Name)
			if p.Schema.Name == "" {
				schema(path+"."+p.Name, p.Schema, depth+1)
			}
		}
		if s.Items != nil && s.Items.Name == "" {
			schema(path+"[]", s.Items, depth+1)
		}
	}
	document := api.Integration()
	for _, op := range document.Operations {
		name := op.Method + " " + op.Path
		add("operation", name)
		for _, p := range op.Parameters {
			add("parameter", name, p.In, p.Name)
		}
		for _, r := range op.Responses {
			add("answer", name, r.Status)
			for _, code := range r.Codes() {
				add("code", name, r.Status, code)
			}
			for _, h := range r.Headers {
				add("header", name, r.Status, h.Name)
			}
		}
	}
	for _, op := range document.Webhooks {
		add("webhook", op.Path)
	}
	for _, s := range document.Schemas {
		schema(s.Name, s, 0)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestVersioning checks that version 1 only grows: nothing that testdata/v1_surface.txt lists may go. New lines are
// added to the file with ASSAY_UPDATE_GOLDEN.
func TestVersioning(t *testing.T) {
	const file = "testdata/v1_surface.txt"
	now := surface()
	t.Run("NothingIsTakenAway", func(t *testing.T) {
		promised, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(strings.TrimSpace(string(promised)), "\n") {
			if _, found := slices.BinarySearch(now, line); !found {
				t.Errorf("version 1 has lost: %s", line)
			}
		}
	})
	t.Run("EverythingIsPromised", func(t *testing.T) {
		expect.Golden(t, file, strings.Join(now, "\n")+"\n")
	})
}
