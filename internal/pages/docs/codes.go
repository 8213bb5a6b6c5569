package docs

import (
	"slices"
	"strings"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
)

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
