package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/testkit/expect"
)

// operationOf returns an operation of the integration API.
func operationOf(t *testing.T, id string) *spec.Operation {
	t.Helper()
	i := slices.IndexFunc(api.Integration().Operations, func(op *spec.Operation) bool { return op.ID == id })
	if i < 0 {
		t.Fatalf("there is no operation %s", id)
	}
	return api.Integration().Operations[i]
}

func TestFields(t *testing.T) {
	find := func(t *testing.T, fields []field, name string) field {
		t.Helper()
		i := slices.IndexFunc(fields, func(f field) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("there is no field %s", name)
		}
		return fields[i]
	}
	order := fieldsOf(operationOf(t, "createOrder").Body.Content[0].Schema)
	webhook := fieldsOf(operationOf(t, "createWebhook").Body.Content[0].Schema)
	for _, test := range []struct {
		fields            []field
		name, kind, rules string
		required          bool
		depth             int
	}{
		{order, "photos", "array of objects", "1 to 75 entries", true, 0},
		{order, "photos[].url", "uri", "1 to 2048 characters", true, 1},
		{order, "external_id", "string or null", "1 to 100 characters", false, 0},
		{order, "answer_time", "integer or null", "at least 1", false, 0},
		{webhook, "events", "array of strings", "1 to 2 entries; no repeats", true, 0},
		{webhook, "auth", "object or null", "", false, 0},
		{webhook, "auth.client_secret", "string", "1 to 2048 characters; never returned", true, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := find(t, test.fields, test.name)
			if f.Type != test.kind || strings.Join(f.Rules, "; ") != test.rules || f.Required != test.required ||
				f.Depth != test.depth || f.Description == "" {
				t.Errorf("got %+v", f)
			}
		})
	}
	t.Run("ValuesWithoutNull", func(t *testing.T) {
		if got := strings.Join(find(t, order, "mock_outcome").Values,
			" "); got != "authentic fake unable-to-verify update-photos" {
			t.Errorf("values are %s", got)
		}
	})
	t.Run("Variants", func(t *testing.T) {
		var titles []string
		for _, f := range fieldsOf(operationOf(t, "uploadPhotos").Response(201).Content[0].Schema) {
			if f.Title != "" {
				titles = append(titles, f.Title)
			}
		}
		if !slices.Equal(titles, []string{"Uploaded", "Failed"}) {
			t.Errorf("variants are %v", titles)
		}
	})
}

func TestBetween(t *testing.T) {
	for _, test := range []struct{ low, high, unit, want string }{
		{"", "", "", ""},
		{"", "5", " entries", "at most 5 entries"},
		{"1", "", " characters", "not empty"},
		{"1", "", "", "at least 1"},
		{"2", "2", " entries", "exactly 2 entries"},
		{"1", "50", "", "1 to 50"},
	} {
		if got := between(test.low, test.high, test.unit); got != test.want {
			t.Errorf("between(%q, %q) is %q, want %q", test.low, test.high, got, test.want)
		}
	}
}

func TestSample(t *testing.T) {
	a := integrationAPI(publicURL)
	const host = "'https://assay.example/v1/integrations/"
	const authorization = " \\\n  -H \"Authorization: Bearer $ASSAY_KEY\""
	for id, want := range map[string]string{
		"getOpenAPI":    "curl " + host + "openapi.json'",
		"getOrder":      "curl " + host + "orders/SKU-20417'" + authorization,
		"listModels":    "curl " + host + "catalog/models?brand_code=chanel&category_code=bags'" + authorization,
		"deleteWebhook": "curl -X DELETE " + host + "webhooks/0199c3a8-3c0f-7d84-b1a6-9e2c4f6b8d10'" + authorization,
		"uploadPhotos": "curl " + host + "photos'" + authorization +
			" \\\n  -F photos=@front.jpg \\\n  -F photos=@serial.jpg",
	} {
		samples, err := samplesOf(a, operationOf(t, id))
		if err != nil || samples[0].Text() != want+"\n" {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", id, err, samples[0].Text(), want)
		}
	}
	if got := shellQuote("it's"); got != `'it'\''s'` {
		t.Errorf("quoted as %s", got)
	}
}

// TestSample_IdempotencyKey checks that samples make a key of their own: one that is written down would be copied, and
// stand for one order.
func TestSample_IdempotencyKey(t *testing.T) {
	op := operationOf(t, "createOrder")
	example := ""
	for _, p := range op.Parameters {
		if p.Name == "Idempotency-Key" {
			example = p.Example
		}
	}
	samples, err := samplesOf(integrationAPI(publicURL), op)
	if err != nil || example == "" {
		t.Fatalf("key %q, %v", example, err)
	}
	for _, s := range samples {
		if strings.Contains(s.Text(), example) || !strings.Contains(s.Text(), keepKey) {
			t.Errorf("%s does not make a key:\n%s", s.Language, s.Text())
		}
	}
}

func TestLiteral(t *testing.T) {
	v, err := readValue([]byte(`{"a":true,"b-c":[1,null],"d":"$x #{y}"}`))
	if err != nil {
		t.Fatal(err)
	}
	expect.Results(t, func(language string) string { return literal(language, v, 0) }, map[string]string{
		"ts":     `{ a: true, "b-c": [1, null], d: "$x #{y}" }`,
		"python": `{"a": True, "b-c": [1, None], "d": "$x #{y}"}`,
		"php":    `["a" => true, "b-c" => [1, null], "d" => "\$x \#{y}"]`,
		"ruby":   `{ "a" => true, "b-c" => [1, nil], "d" => "\$x \#{y}" }`,
	})
}

func TestHighlight(t *testing.T) {
	got := highlight([]byte(`{"a<b":"x\"y","n":[-1.5,null]}`))
	want := `{
  <span class="key">&#34;a&lt;b&#34;</span>: <span class="str">&#34;x\&#34;y&#34;</span>,
  <span class="key">&#34;n&#34;</span>: [
    <span class="lit">-1.5</span>,
    <span class="word">null</span>
  ]
}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMarkdownDropsHTML(t *testing.T) {
	got, err := markdown("a <script>x</script> **b**")
	if err != nil || strings.Contains(string(got), "<script") || !strings.Contains(string(got), "<strong>b</strong>") {
		t.Errorf("%v, got %s", err, got)
	}
}
