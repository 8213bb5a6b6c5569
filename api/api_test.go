package api_test

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/expect"
)

// wantRoutes checks the operations of a document: method, path, scope, limit category and the statuses of successes.
func wantRoutes(t *testing.T, d *spec.Document, want ...string) {
	t.Helper()
	var got []string
	for _, op := range d.Operations {
		row := []string{op.Method, op.Path, cmp.Or(op.Scope, "-"), cmp.Or(op.Category, "-")}
		for _, r := range op.Responses {
			if r.Status < "400" {
				row = append(row, r.Status)
			}
		}
		got = append(got, strings.Join(row, " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("routes are\n%q\nwant\n%q", got, want)
	}
}

func TestIntegrationRoutes(t *testing.T) {
	wantRoutes(t, api.Integration(),
		"GET /catalog/categories - catalog 200 304",
		"GET /catalog/brands - catalog 200 304",
		"GET /catalog/models - catalog 200 304",
		"GET /catalog/answer_times - catalog 200 304",
		"GET /catalog/photo_indexes - catalog 200 304",
		"POST /photos orders:write upload 201",
		"GET /balance - read 200",
		"POST /orders orders:write create 201",
		"GET /orders orders:read read 200",
		"GET /orders/{id} orders:read read 200",
		"POST /orders/{id}/update_photos orders:write update 202",
		"POST /orders/{id}/cancel orders:write update 200",
		"POST /orders/{id}/simulate orders:write update 200",
		"POST /quote - catalog 200",
		"GET /me - read 200",
		"GET /events orders:read read 200",
		"POST /capture_links orders:write create 201",
		"GET /capture_links/{id} orders:read read 200",
		"DELETE /capture_links/{id} orders:write update 204",
		"GET /audit/events audit:read read 200",
		"POST /webhooks webhooks:manage webhook 201",
		"GET /webhooks webhooks:manage webhook 200",
		"DELETE /webhooks/{id} webhooks:manage webhook 204",
		"PATCH /webhooks/{id} webhooks:manage webhook 200",
		"POST /webhooks/{id}/rotate_secret webhooks:manage webhook 200",
		"GET /openapi.json - - 200",
		"GET /openapi-3.0.json - - 200",
	)
}

func TestDeskRoutes(t *testing.T) {
	wantRoutes(t, api.Desk(),
		"GET /orders - - 200",
		"POST /orders/next - - 200 204",
		"GET /orders/{id} - - 200",
		"POST /orders/{id}/claim - - 200",
		"POST /orders/{id}/release - - 200",
		"POST /orders/{id}/request_photos - - 200",
		"POST /orders/{id}/complete - - 200",
		"POST /orders/{id}/fail - - 200",
		"POST /orders/{id}/cancel - - 200",
		"GET /reasons - - 200",
	)
}

// failures lists every "status code" pair that the operations of a document can return.
func failures(d *spec.Document) []string {
	var out []string
	for _, op := range d.Operations {
		for _, r := range op.Responses {
			for _, code := range r.Codes() {
				out = append(out, r.Status+" "+code)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestErrorCodes(t *testing.T) {
	for _, test := range []struct {
		name     string
		document *spec.Document
		want     []string
	}{
		{"Integration", api.Integration(), []string{
			"400 INVALID_FILE_TYPE", "400 RESOLUTION_MISSING", "400 RESOLUTION_TOO_LARGE", "400 answer-time-unavailable",
			"400 bad-request", "400 empty-photo-file", "400 invalid-audit-date-range", "400 invalid-update-photo",
			"400 missing-requested-photo-indexes", "400 missing-required-photo-indexes", "400 mock-outcome-required",
			"400 photo-index-not-found", "400 photo-index-not-requested", "400 photo-limit-exceeded",
			"400 photo-upload-limit-exceeded", "400 unsafe-webhook-url", "400 unsupported-photo-url", "400 validation-error",
			"401 unauthorized", "402 not-enough-credits", "403 forbidden", "404 not-found", "404 order-not-found",
			"409 capture-link-limit-reached", "409 not-a-test-order", "409 order-not-awaiting-update-photos",
			"409 order-not-cancelable", "409 request-in-progress", "409 storage-limit-reached", "409 webhook-already-exists",
			"409 webhook-limit-reached", "409 webhook-not-hmac",
			"410 cursor-expired", "413 FILE_TOO_LARGE", "429 rate-limit-exceeded", "500 internal-error",
			"503 service-unavailable",
		}},
		{"Desk", api.Desk(), []string{
			"400 bad-request", "400 validation-error", "401 unauthorized", "403 forbidden", "404 order-not-found",
			"409 claim-limit-reached", "409 invalid-transition", "409 order-claimed", "429 rate-limit-exceeded",
			"500 internal-error", "503 service-unavailable",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := failures(test.document); !slices.Equal(got, test.want) {
				t.Errorf("codes are\n%v\nwant\n%v", got, test.want)
			}
		})
	}
}

func TestEveryLimitedOperationHasALimit(t *testing.T) {
	d := api.Integration()
	for _, op := range d.Operations {
		if !op.Public && d.RateLimits[op.Category] < 1 {
			t.Errorf("%s: the category %q has no limit", op.ID, op.Category)
		}
	}
}

const publicURL = "https://assay.example"

// TestRendition30 keeps the OpenAPI 3.0 form of the document equal to what is made of openapi.yaml.
func TestRendition30(t *testing.T) {
	made, err := spec.JSON30(api.IntegrationYAML())
	if err != nil {
		t.Fatal(err)
	}
	expect.Golden(t, "openapi-3.0.json", string(made))
}

// TestServers checks that the documents of a service name that service.
func TestServers(t *testing.T) {
	for _, url := range []string{publicURL, publicURL + "/", "http://localhost:8080"} {
		for prefix, d := range map[string]api.Document{
			api.IntegrationPrefix: api.IntegrationAt(url), api.DeskPrefix: api.DeskAt(url),
		} {
			for form, document := range map[string][]byte{"YAML": d.YAML, "JSON": d.JSON, "JSON30": d.JSON30} {
				var read struct{ Servers []struct{ URL string } }
				if err := yaml.Unmarshal(document, &read); err != nil {
					t.Fatal(err)
				}
				if want := strings.TrimSuffix(url, "/") + prefix; len(read.Servers) != 1 || read.Servers[0].URL != want {
					t.Errorf("the servers of %s as %s are %v, want %s", prefix, form, read.Servers, want)
				}
			}
		}
	}
}

func TestJSONEqualsYAML(t *testing.T) {
	for name, pair := range map[string][2][]byte{
		"Integration": {api.IntegrationAt(publicURL).YAML, api.IntegrationAt(publicURL).JSON},
		"Desk":        {api.DeskAt(publicURL).YAML, api.DeskAt(publicURL).JSON},
	} {
		t.Run(name, func(t *testing.T) {
			var fromYAML, fromJSON any
			if err := yaml.Unmarshal(pair[0], &fromYAML); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(pair[1], &fromJSON); err != nil {
				t.Fatal(err)
			}
			// Decode once more so that numbers have the same type on both sides.
			again, err := json.Marshal(fromYAML)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(again, &fromYAML); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(fromYAML, fromJSON) {
				t.Error("the JSON form differs from the YAML")
			}
			if !bytes.HasPrefix(pair[1], []byte(`{"openapi":"3.1.0","info":{"title":`)) {
				t.Errorf("the order of keys is lost: %.60s", pair[1])
			}
		})
	}
}

// TestNoTextBecameAKey finds unquoted texts in braces: a comma in them silently ends the text and starts a key.
func TestNoTextBecameAKey(t *testing.T) {
	for _, document := range [][]byte{api.IntegrationYAML(), api.DeskYAML()} {
		var root yaml.Node
		if err := yaml.Unmarshal(document, &root); err != nil {
			t.Fatal(err)
		}
		var visit func(n *yaml.Node)
		visit = func(n *yaml.Node) {
			for i, child := range n.Content {
				if n.Kind == yaml.MappingNode && i%2 == 0 && strings.ContainsAny(child.Value, " ,;") {
					t.Errorf("line %d: %q is a key", child.Line, child.Value)
				}
				visit(child)
			}
		}
		visit(&root)
	}
}

func TestSignatureExampleIsRight(t *testing.T) {
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^ *` + name + ` {2,}(\S.*)$`).FindStringSubmatch(api.Integration().Description)
		if m == nil {
			t.Fatalf("the description has no example of %s", name)
		}
		return m[1]
	}
	mac := hmac.New(sha256.New, []byte(value("signing_secret")))
	mac.Write([]byte(value("X-LG-Timestamp") + "." + value("raw body")))
	if want, got := "v1="+hex.EncodeToString(mac.Sum(nil)), value("X-LG-Signature"); got != want {
		t.Errorf("the signature is %s, not %s", want, got)
	}
}

func TestOrderNumbersOfExamplesAreValid(t *testing.T) {
	for _, document := range [][]byte{api.IntegrationYAML(), api.DeskYAML()} {
		for _, number := range regexp.MustCompile(`AS-[0-9A-Z]{8}`).FindAllString(string(document), -1) {
			if !order.ValidNumber(number) {
				t.Errorf("%s has a wrong check character", number)
			}
		}
	}
}
