package release

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
