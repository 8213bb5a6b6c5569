package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi/datamodel"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
)

// eachDocument runs a test on both documents.
func eachDocument(t *testing.T, test func(t *testing.T, v *Validator)) {
	t.Helper()
	t.Run("Integration", func(t *testing.T) { test(t, New(t)) })
	t.Run("Desk", func(t *testing.T) { test(t, NewDesk(t)) })
}

// contents returns every body of the document by its location.
func contents(d *spec.Document) map[string]*spec.Content {
	out := make(map[string]*spec.Content)
	for _, op := range slices.Concat(d.Operations, d.Webhooks) {
		if op.Body != nil {
			for _, c := range op.Body.Content {
				out[op.ID+" request "+c.MediaType] = c
			}
		}
		for _, r := range op.Responses {
			for _, c := range r.Content {
				out[op.ID+" "+r.Status] = c
			}
		}
	}
	return out
}

func TestDocumentIsValidOpenAPI31(t *testing.T) {
	metaschema, err := jsonschema.UnmarshalJSON(strings.NewReader(datamodel.OpenAPI31SchemaData))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://spec.openapis.org/oas/3.1/schema", metaschema); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("https://spec.openapis.org/oas/3.1/schema")
	if err != nil {
		t.Fatal(err)
	}
	for name, document := range map[string][]byte{
		"Integration": api.IntegrationAt("https://assay.example").JSON, "Desk": api.DeskAt("https://assay.example").JSON,
	} {
		t.Run(name, func(t *testing.T) {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); err != nil {
				t.Error(err)
			}
			if got := value.(map[string]any)["openapi"]; got != "3.1.0" {
				t.Errorf("openapi is %v", got)
			}
		})
	}
}

func TestEverySchemaCompiles(t *testing.T) {
	eachDocument(t, func(t *testing.T, v *Validator) {
		for _, s := range v.document.Schemas {
			if _, err := v.schemas.at(s.Pointer); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestEveryExampleFitsItsSchema(t *testing.T) {
	eachDocument(t, func(t *testing.T, v *Validator) {
		for where, c := range contents(v.document) {
			for _, e := range c.Examples {
				if err := v.schemas.body(c.Schema.Pointer, e.JSON); err != nil {
					t.Errorf("%s: example %s: %v", where, e.Name, err)
				}
				if e.Summary == "" {
					t.Errorf("%s: example %s has no summary", where, e.Name)
				}
			}
		}
		for _, op := range slices.Concat(v.document.Operations, v.document.Webhooks) {
			parameters := slices.Clone(op.Parameters)
			for _, r := range op.Responses {
				parameters = append(parameters, r.Headers...)
			}
			for _, p := range parameters {
				if p.Example == "" {
					continue
				}
				if err := v.schemas.text(p.Schema, p.Example); err != nil {
					t.Errorf("%s: example of %s: %v", op.ID, p.Name, err)
				}
			}
		}
		for _, s := range v.document.Schemas {
			eachSchema(s, func(s *spec.Schema) {
				for _, text := range s.Examples {
					if slices.Contains(s.Types, "integer") || slices.Contains(s.Types, "number") {
						if err := v.schemas.body(s.Pointer, []byte(text)); err != nil {
							t.Errorf("%s: example %s: %v", s.Pointer, text, err)
						}
						continue
					}
					if err := v.schemas.text(s, text); err != nil {
						t.Errorf("%s: example %s: %v", s.Pointer, text, err)
					}
				}
			})
		}
	})
}

// eachSchema visits a schema and everything in it.
func eachSchema(s *spec.Schema, visit func(*spec.Schema)) {
	if s == nil {
		return
	}
	visit(s)
	for _, p := range s.Properties {
		eachSchema(p.Schema, visit)
	}
	eachSchema(s.Items, visit)
	for _, variant := range s.Variants {
		eachSchema(variant, visit)
	}
}

// TestResponsesAreStrict checks that additional properties are refused.
func TestResponsesAreStrict(t *testing.T) {
	eachDocument(t, func(t *testing.T, v *Validator) {
		for where, c := range contents(v.document) {
			if strings.HasPrefix(where, "getOpenAPI") {
				continue
			}
			for _, e := range c.Examples {
				var object map[string]any
				if err := json.Unmarshal(e.JSON, &object); err != nil {
					t.Fatalf("%s: %v", where, err)
				}
				refuse := func(what string) {
					body, err := json.Marshal(object)
					if err != nil {
						t.Fatal(err)
					}
					if v.schemas.body(c.Schema.Pointer, body) == nil {
						t.Errorf("%s: example %s with an unknown property %s is accepted", where, e.Name, what)
					}
				}
				object["unknown"] = true
				refuse("in the body")
				delete(object, "unknown")
				if items, ok := object["data"].([]any); ok {
					items[0].(map[string]any)["unknown"] = true
					refuse("in an entry of data")
				}
			}
		}
	})
}

func TestOrderDetailConditions(t *testing.T) {
	v := New(t)
	examples := make(map[string][]byte)
	var pointer string
	for _, op := range v.document.Operations {
		if op.ID == "getOrder" {
			c := op.Response(200).Content[0]
			pointer = c.Schema.Pointer
			for _, e := range c.Examples {
				examples[e.Name] = e.JSON
			}
		}
	}
	remove := func(key string) func(map[string]any) { return func(o map[string]any) { delete(o, key) } }
	set := func(key string, value any) func(map[string]any) {
		return func(o map[string]any) { o[key] = value }
	}
	for _, test := range []struct {
		name, example string
		change        func(map[string]any)
		accepted      bool
	}{
		{
			"AuthenticWithoutReasons", "authentic", func(o map[string]any) {
				delete(o, "outcome_reasons")
				delete(o, "outcome_reasons_locale")
			}, false,
		},
		{
			"AuthenticWithEmptyReasons", "authentic", func(o map[string]any) {
				o["outcome_reasons"], o["outcome_reasons_locale"] = []any{}, []any{}
			}, true,
		},
		{"AuthenticWithoutCertificate", "authentic", set("certificate_url", nil), true},
		{"ErrorWithoutOutcome", "queued", set("status", "error"), true},
		{"CompletedWithoutCertificateProperty", "authentic", remove("certificate_url"), false},
		{"CompletedWithoutOutcome", "authentic", set("outcome", nil), false},
		{"AuthenticWithIndexes", "authentic", set("outcome_indexes", []any{"serial-number"}), false},
		{"ReasonsWithoutTranslation", "authentic", remove("outcome_reasons_locale"), false},
		{"CanceledWithReasons", "authentic", set("outcome", "canceled"), false},
		{
			"FakeWithoutReasons", "fake", func(o map[string]any) {
				delete(o, "outcome_reasons")
				delete(o, "outcome_reasons_locale")
			}, false,
		},
		{"FakeWithRepeatedIndex", "fake", set("outcome_indexes", []any{"sole", "sole"}), false},
		{"QueuedWithOutcome", "queued", set("outcome", "fake"), false},
		{"QueuedWithCertificate", "queued", set("certificate_url", nil), false},
		{"QueuedWithRequest", "queued", set("photos_to_resubmit", []any{}), false},
		{"RequestWithoutPhotos", "update-photos", remove("photos_to_resubmit"), false},
		{"RequestWithEmptyList", "update-photos", set("photos_to_resubmit", []any{}), false},
		{"RequestWithDueDate", "update-photos", set("due_date", "2025-11-16T02:00:00.000Z"), false},
		{"SecondsOnly", "queued", set("updated_at", "2025-11-16T02:00:00Z"), false},
		{"UnknownStatus", "queued", set("status", "waiting"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var order map[string]any
			if err := json.Unmarshal(examples[test.example], &order); err != nil {
				t.Fatal(err)
			}
			test.change(order)
			body, err := json.Marshal(order)
			if err != nil {
				t.Fatal(err)
			}
			err = v.schemas.body(pointer, body)
			if (err == nil) != test.accepted {
				t.Errorf("accepted: %t, %v", err == nil, err)
			}
		})
	}
}

func TestEverythingIsDescribed(t *testing.T) {
	eachDocument(t, func(t *testing.T, v *Validator) {
		ids := make(map[string]bool)
		for _, op := range slices.Concat(v.document.Operations, v.document.Webhooks) {
			if op.ID == "" || op.Summary == "" || op.Description == "" || ids[op.ID] {
				t.Errorf("%s %s needs its own operationId, a summary and a description", op.Method, op.Path)
			}
			ids[op.ID] = true
			if !slices.ContainsFunc(v.document.Tags, func(tag spec.Tag) bool { return tag.Name == op.Tag }) {
				t.Errorf("%s: the tag %q is not listed", op.ID, op.Tag)
			}
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s: the parameter %s has no description", op.ID, p.Name)
				}
			}
		}
		for _, s := range v.document.Schemas {
			eachSchema(s, func(s *spec.Schema) {
				for _, p := range s.Properties {
					if p.Schema.Description == "" && !strings.Contains(p.Schema.Pointer, "/oneOf/") {
						t.Errorf("%s has no description", p.Schema.Pointer)
					}
				}
			})
		}
	})
}

// TestErrorCodesAgree checks that every failure states the same codes in the schema, the description and the
// examples.
func TestErrorCodesAgree(t *testing.T) {
	eachDocument(t, func(t *testing.T, v *Validator) {
		for _, op := range v.document.Operations {
			for _, r := range op.Responses {
				if r.Status < "400" {
					continue
				}
				codes := r.Codes()
				if len(codes) == 0 {
					t.Errorf("%s %s lists no codes", op.ID, r.Status)
				}
				var named []string
				for _, e := range r.Content[0].Examples {
					named = append(named, e.Name)
					if !bytes.Contains(e.JSON, fmt.Appendf(nil, "%q:%q", "code", e.Name)) {
						t.Errorf("%s %s: the example %s has another code", op.ID, r.Status, e.Name)
					}
				}
				if !slices.Equal(codes, named) {
					t.Errorf("%s %s: codes %v, examples %v", op.ID, r.Status, codes, named)
				}
				for _, code := range codes {
					if !strings.Contains(r.Description, "`"+code+"`") {
						t.Errorf("%s %s: the description does not name %s", op.ID, r.Status, code)
					}
				}
			}
		}
	})
}
