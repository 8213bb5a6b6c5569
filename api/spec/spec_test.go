package spec_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/api/spec"
)

const document = `
openapi: 3.1.0
info: {title: T, version: "1"}
servers: [{url: '{base_url}', variables: {base_url: {default: 'https://x/v1'}}}]
paths:
  /a/{id}:
    post:
      operationId: doA
      x-required-scope: a:write
      parameters: [{$ref: '#/components/parameters/P'}]
      responses:
        '400':
          description: no
          content:
            application/json:
              schema:
                allOf:
                  - $ref: '#/components/schemas/E'
                  - properties: {code: {enum: [x, y]}}
components:
  parameters:
    P: {name: id, in: path, required: true, schema: {$ref: '#/components/schemas/Id', description: here}}
  schemas:
    Id: {type: [string, 'null'], maxLength: 3, description: there}
    E:
      type: object
      required: [code]
      properties: {statusCode: {type: integer}, code: {type: string, description: Code.}}
`

func TestParse(t *testing.T) {
	d, err := spec.Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	op := d.Operations[0]
	if op.ID != "doA" || op.Method != "POST" || op.Path != "/a/{id}" || op.Scope != "a:write" || op.Public {
		t.Errorf("operation is %+v", op)
	}
	if d.Server != "https://x/v1" {
		t.Errorf("server is %q", d.Server)
	}
	t.Run("DescriptionBesideReferenceWins", func(t *testing.T) {
		p := op.Parameters[0]
		if p.Name != "id" || !p.Required || p.Schema.Name != "Id" || p.Schema.Description != "here" ||
			p.Schema.Bounds.MaxLength != "3" || !p.Schema.Nullable() {
			t.Errorf("parameter is %+v with schema %+v", p, p.Schema)
		}
	})
	t.Run("PartsRefineProperties", func(t *testing.T) {
		response := op.Response(400)
		if got := strings.Join(response.Codes(), " "); got != "x y" {
			t.Errorf("codes are %q", got)
		}
		code := response.Content[0].Schema.Property("code")
		if !code.Required || code.Schema.Description != "Code." {
			t.Errorf("code is %+v", code.Schema)
		}
		const pointer = "/paths/~1a~1{id}/post/responses/400/content/application~1json/schema"
		if got := response.Content[0].Schema.Pointer; got != pointer {
			t.Errorf("pointer is %s", got)
		}
	})
	t.Run("UnknownStatus", func(t *testing.T) {
		if op.Response(200) != nil {
			t.Error("an undocumented status has a response")
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"BrokenYAML":      "a: [",
		"NoMapping":       "- a",
		"DanglingRef":     strings.Replace(document, "schemas/Id", "schemas/Nothing", 1),
		"ForeignRef":      strings.Replace(document, "#/components/schemas/Id", "other.yaml", 1),
		"LimitNotANumber": document + "x-rate-limits: {read: many}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := spec.Parse([]byte(text)); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestJSON(t *testing.T) {
	for name, test := range map[string]struct{ yaml, json string }{
		"KeepsOrder":   {"b: 1\na: 2", `{"b":1,"a":2}`},
		"Scalars":      {`[x, "1", 1.5, true, null, 2025-11-15]`, `["x","1",1.5,true,null,"2025-11-15"]`},
		"NoHTMLEscape": {`"<a> & b"`, `"<a> & b"`},
		"Alias":        {"a: &x [1]\nb: *x", `{"a":[1],"b":[1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := spec.JSON([]byte(test.yaml))
			if err != nil || string(got) != test.json {
				t.Errorf("got %s, %v, want %s", got, err, test.json)
			}
		})
	}
	if _, err := spec.JSON([]byte("a: .inf")); err == nil {
		t.Error("a number without a JSON form is accepted")
	}
}
