package api_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/api"
)

// contract has the operations of the agreed interface with the parameters that it names; of the audit log it leaves
// the filters open.
var contract = map[string]string{
	"GET /catalog/categories":         "brand_code locale",
	"GET /catalog/brands":             "category_code locale page limit",
	"GET /catalog/models":             "brand_code category_code locale page limit",
	"GET /catalog/answer_times":       "brand_code category_code locale",
	"GET /catalog/photo_indexes":      "category_code brand_code model_code locale",
	"POST /photos":                    "",
	"GET /balance":                    "",
	"POST /orders":                    "",
	"GET /orders":                     "page limit",
	"GET /orders/{id}":                "id locale",
	"POST /orders/{id}/update_photos": "id",
	"GET /audit/events": "from to event_code actor_type actor_id source target_type target_id " +
		"page limit",
	"POST /webhooks":        "",
	"GET /webhooks":         "",
	"DELETE /webhooks/{id}": "id",
}

// furtherCodes are the codes of refusals, of agreed operations, that the agreed interface does not have.
var furtherCodes = regexp.MustCompile("`(storage-limit-reached|request-in-progress)`")

// TestAdditionsAreMarked: what goes beyond the agreed interface says so in the reference.
func TestAdditionsAreMarked(t *testing.T) {
	const mark = "*Addition.* "
	check := func(where, description string, agreed bool) {
		if strings.HasPrefix(description, mark) == agreed {
			t.Errorf("%s: an addition begins with %q, and nothing else does: %q", where, mark, description)
		}
	}
	for _, op := range api.Integration().Operations {
		name := op.Method + " " + op.Path
		parameters, agreed := contract[name]
		if !agreed {
			check(name, op.Description, false)
			continue
		}
		for _, p := range op.Parameters {
			check(name+" "+p.Name, p.Description, slices.Contains(strings.Fields(parameters), p.Name))
		}
		for _, r := range op.Responses {
			check(name+" "+r.Status, r.Description, r.Status != "304" && !furtherCodes.MatchString(r.Description))
			for _, h := range r.Headers {
				check(name+" "+h.Name, h.Description, h.Name != "ETag" && h.Name != "Idempotency-Replayed")
			}
		}
	}
}
