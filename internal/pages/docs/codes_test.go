package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// onlyOnPages are the codes of refusals that people see on pages and that no API answers with.
var onlyOnPages = strings.Fields(`
	approval-decided approval-requested four-eyes-credentials four-eyes-mail not-your-approval own-approval
	requester-gone secret-already-rotated
	already-a-member capture-link-ended capture-upload-limit-reached catalog-changed certificate-broken
	certificate-revoked confirmation-needed draft-changed endpoint-stopped form-too-large invalid-photo-index
	key-limit-reached key-revoked last-owner missing-photo-indexes no-session not-redeliverable
	orders-open own-access own-credentials own-password own-second-factor staff-active staff-deactivated`)

// TestCodesOfProgram finds every refusal in the program below the pages. Its code is explained in the guide, or is one
// of those that only pages show.
func TestCodesOfProgram(t *testing.T) {
	made := regexp.MustCompile(`fault\.New\(\s*[\w.]+,\s*(?:"([^"]+)"|([\w.]+)),`)
	constant := regexp.MustCompile(`(?m)^\s*(?:const )?(\w+)(?: +\w+)? *= "([A-Za-z_-]+)"`)
	values := make(map[string]string)
	var sources []string
	root := filepath.Join("..", "..", "..", "internal")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.Contains(path, "testkit") || strings.Contains(path, "pages") || strings.Contains(path, "signin") {
			return err
		}
		content, err := os.ReadFile(filepath.Clean(path))
		sources = append(sources, string(content))
		for _, m := range constant.FindAllStringSubmatch(string(content), -1) {
			if strings.HasPrefix(strings.ToLower(m[1]), "code") {
				values[m[1]] = m[2]
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found, explained, unused := 0, Codes(), slices.Clone(onlyOnPages)
	for _, source := range sources {
		for _, m := range made.FindAllStringSubmatch(source, -1) {
			code := m[1]
			if name := m[2][strings.LastIndexByte(m[2], '.')+1:]; name == "Code" {
				continue // that of another refusal
			} else if name != "" {
				code = values[name]
			}
			found++
			unused = slices.DeleteFunc(unused, func(c string) bool { return c == code })
			if !slices.Contains(explained, code) && !slices.Contains(onlyOnPages, code) {
				t.Errorf("the code %q (%s) is not explained", code, m[0])
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d refusals were found", found)
	}
	if len(unused) > 0 {
		t.Errorf("no refusal has the codes %q any more", unused)
	}
}
