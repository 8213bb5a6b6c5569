package docs

import (
	"slices"
	"strings"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
)

// ErrorURL is where the guides explain an error code, with its causes and cures: for pages and mails that show one.
func ErrorURL(code string) string { return address("errors") + "#" + slug(code) }

// Codes are the error codes that the APIs document, sorted.
func Codes() []string {
	var out []string
	for _, d := range []*spec.Document{api.Integration(), api.Desk()} {
		for _, op := range d.Operations {
			for _, r := range op.Responses {
				out = append(out, r.Codes()...)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return slices.Compact(out)
}
