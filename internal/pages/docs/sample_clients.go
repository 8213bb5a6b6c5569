package docs

import (
	"regexp"
	"strings"
)

// Samples in the languages that have a client.

// goCalls are what a Go program says; unlike the other languages it needs the names of types.
var goCalls = map[string]string{
	"listCategories": `result, err := c.ListCategories(ctx, client.CategoriesQuery{})`,
	"listBrands":     `result, err := c.ListBrands(ctx, client.BrandsQuery{})`,
	"listModels":     `result, err := c.ListModels(ctx, client.ModelsQuery{BrandCode: "chanel", CategoryCode: "bags"})`,
	"listAnswerTimes": `result, err := c.ListAnswerTimes(ctx, client.AnswerTimesQuery{
	BrandCode: "chanel", CategoryCode: "bags",
})`,
	"listPhotoIndexes": `result, err := c.ListPhotoIndexes(ctx, client.PhotoIndexesQuery{CategoryCode: "bags"})`,
	"uploadPhotos": `front, err := os.Open("front.jpg")
serial, err := os.Open("serial.jpg")
result, err := c.UploadPhotos(ctx,
	client.File{Name: "front.jpg", Content: front},
	client.File{Name: "serial.jpg", Content: serial},
)`,
	"getBalance": `result, err := c.GetBalance(ctx)`,
	"createOrder": `key := client.NewIdempotencyKey() // ` + keepKey + `
result, err := c.CreateOrder(ctx, client.CreateOrder{
	BrandCode:    "prada",
	CategoryCode: "bags",
	ModelCode:    "prada-galleria",
	AnswerTime:   1440,
	ExternalID:   "SKU-20417",
	MockOutcome:  client.MockAuthentic,
	Photos: []client.OrderPhoto{
		{URL: "https://media.assay.example/media/k3x7v2qmzr5tdw6nbhs4ycjfaoplg2ei.jpg", IndexCode: "overall-picture"},
		{URL: "https://media.assay.example/media/t6bq4nzw2rkdm7xsvcf3ohjpgyea5uil.heic", IndexCode: "serial-number"},
	},
}, client.WithIdempotencyKey(key))`,
	"listOrders": `result, err := c.ListOrders(ctx, client.OrdersQuery{})`,
	"getOrder":   `result, err := c.GetOrder(ctx, "SKU-20417")`,
	"submitUpdatePhotos": `result, err := c.SubmitUpdatePhotos(ctx, "SKU-20417", client.UpdatePhotos{
	Photos: []client.UpdatePhoto{
		{IndexCode: "overall-picture", URL: "https://media.assay.example/media/k3x7v2qmzr5tdw6nbhs4ycjfaoplg2ei.jpg"},
		{IndexCode: "overall-picture", URL: "https://media.assay.example/media/t6bq4nzw2rkdm7xsvcf3ohjpgyea5uil.heic"},
		{IndexCode: "logo", IsUnableToProvide: true},
	},
	Note: "The logo has come off.",
})`,
	"cancelOrder":   `result, err := c.CancelOrder(ctx, "SKU-20417")`,
	"simulateOrder": `result, err := c.SimulateOrder(ctx, "SKU-20417", client.SimulatedFake)`,
	"quote":         `result, err := c.GetQuote(ctx, client.QuoteRequest{CategoryCode: "bags", BrandCode: "chanel"})`,
	"getMe":         `result, err := c.GetMe(ctx)`,
	"listEvents":    `result, err := c.ListEvents(ctx, client.EventsQuery{})`,
	"createCaptureLink": `result, err := c.CreateCaptureLink(ctx, client.NewCaptureLink{
	CategoryCode: "bags",
	BrandCode:    "chanel",
	ExternalID:   "SKU-20417",
	ExpiresIn:    86400,
	Locale:       client.LocaleJapanese,
	ReturnURL:    "https://shop.example/sell/SKU-20417",
})`,
	"getCaptureLink":    `result, err := c.GetCaptureLink(ctx, "0199c3b1-52d4-7a90-8c1e-3f7b9d2a6e40")`,
	"revokeCaptureLink": `err = c.RevokeCaptureLink(ctx, "0199c3b1-52d4-7a90-8c1e-3f7b9d2a6e40")`,
	"listAuditEvents":   `result, err := c.ListAuditEvents(ctx, client.AuditQuery{})`,
	"createWebhook": `result, err := c.CreateWebhook(ctx, client.CreateWebhook{
	URL:    "https://shop.example/assay/events",
	Events: []client.WebhookEvent{client.EventOrderOutcome, client.EventUpdatePhotos},
	Name:   "Production",
})`,
	"listWebhooks":  `result, err := c.ListWebhooks(ctx)`,
	"deleteWebhook": `err = c.DeleteWebhook(ctx, "0199c3a8-3c0f-7d84-b1a6-9e2c4f6b8d10")`,
	"updateWebhook": `result, err := c.PauseWebhook(ctx, "0199c3a8-3c0f-7d84-b1a6-9e2c4f6b8d10")`,
	"rotateSecret":  `result, err := c.RotateWebhookSecret(ctx, "0199c3a8-3c0f-7d84-b1a6-9e2c4f6b8d10")`,
}

func goSample(c call) (setup, text string) {
	if c.hasMethod() {
		return `c, err := client.New("` + c.api.Server + `", os.Getenv("` + c.api.Variable + `"))`, goCalls[c.op.ID]
	}
	body := "nil"
	if c.body != nil {
		body = "strings.NewReader(`" + c.json + "`)"
	}
	lines := []string{
		`address := "` + c.api.Server + c.url() + `"`,
		`request, err := http.NewRequestWithContext(ctx, "` + c.op.Method + `", address, ` + body + ")",
	}
	if !c.op.Public {
		lines = append(lines, `request.Header.Set("Authorization", "Bearer "+os.Getenv("`+c.api.Variable+`"))`)
	}
	for _, h := range c.headers {
		lines = append(lines, `request.Header.Set("`+h[0]+`", "`+h[1]+`")`)
	}
	lines = append(lines, `response, err := http.DefaultClient.Do(request)`)
	return "", strings.Join(lines, "\n")
}

// returnsNothing are the operations whose method has no result.
func (c call) returnsNothing() bool { return c.op.Response(204) != nil }

func tsSample(c call) (setup, text string) {
	if !c.hasMethod() {
		return "", fetchSample(c)
	}
	setup = "import { Client } from \"@assayhq/client\";\n\nconst client = new Client(\"" + c.api.Server +
		"\", process.env." + c.api.Variable + ` ?? "");`
	var arguments []string
	if c.id != "" {
		arguments = append(arguments, `"`+c.id+`"`)
	}
	switch {
	case c.files != nil:
		setup = "import { openAsBlob } from \"node:fs\";\n" + setup
		var files []string
		for _, f := range c.files {
			files = append(files, `  { name: "`+f+`", data: await openAsBlob("`+f+`") },`)
		}
		arguments = append(arguments, "[\n"+strings.Join(files, "\n")+"\n]")
	case c.body != nil:
		arguments = append(arguments, literal("ts", *c.body, 0))
	case len(c.query) > 0:
		v := value{names: []string{}}
		for _, q := range c.query {
			v.names, v.items = append(v.names, q[0]), append(v.items, value{text: `"` + q[1] + `"`})
		}
		arguments = append(arguments, literal("ts", v, 0))
	}
	before := ""
	if c.keyed {
		before = "const key = crypto.randomUUID(); // " + keepKey + "\n"
		arguments = append(arguments, "{ idempotencyKey: key }")
	}
	text = "await client." + c.op.ID + "(" + strings.Join(arguments, ", ") + ");"
	if c.returnsNothing() {
		return setup, before + text
	}
	return setup, before + "const result = " + text + "\nconsole.log(result);"
}

// fetchSample calls an operation without a client.
func fetchSample(c call) string {
	if c.op.Public {
		return `const response = await fetch("` + c.api.Server + c.url() + "\");\n" +
			"console.log(response.status, await response.text());"
	}
	lines := []string{"const response = await fetch(\"" + c.api.Server + c.url() + `", {`}
	if c.op.Method != "GET" {
		lines = append(lines, `  method: "`+c.op.Method+`",`)
	}
	lines = append(lines, "  headers: {", "    Authorization: `Bearer ${process.env."+c.api.Variable+"}`,")
	for _, h := range c.headers {
		lines = append(lines, `    "`+h[0]+`": "`+h[1]+`",`)
	}
	lines = append(lines, "  },")
	if c.body != nil {
		lines = append(lines, "  body: JSON.stringify("+literal("ts", *c.body, 1)+"),")
	}
	return strings.Join(append(lines, "});", "console.log(response.status, await response.text());"), "\n")
}

var upper = regexp.MustCompile(`[A-Z]`)

// snake is a name as Python writes it.
func snake(name string) string {
	return upper.ReplaceAllStringFunc(name, func(s string) string { return "_" + strings.ToLower(s) })
}

func pythonSample(c call) (setup, text string) {
	if !c.hasMethod() {
		return "import json\nimport os\nimport urllib.request", urllibSample(c)
	}
	imports, before := "import os\n", ""
	if c.keyed {
		imports += "import uuid\n"
		before = "key = str(uuid.uuid4())  # " + keepKey + "\n"
	}
	setup = imports + "\nfrom assay import Client\n\nclient = Client(\"" + c.api.Server + "\", os.environ[\"" +
		c.api.Variable + "\"])"
	var arguments []string
	if c.id != "" {
		arguments = append(arguments, `"`+c.id+`"`)
	}
	if c.files != nil {
		arguments = append(arguments, `["`+strings.Join(c.files, `", "`)+`"]`)
	}
	if c.body != nil {
		if c.op.ID == "submitUpdatePhotos" { // photos, and the rest by name
			arguments = append(arguments, literal("python", c.body.items[0], 0))
			for i := 1; i < len(c.body.items); i++ {
				arguments = append(arguments, c.body.names[i]+"="+literal("python", c.body.items[i], 0))
			}
		} else {
			arguments = append(arguments, literal("python", *c.body, 0))
		}
	}
	for _, q := range c.query {
		arguments = append(arguments, q[0]+`="`+q[1]+`"`)
	}
	if c.keyed {
		arguments = append(arguments, "idempotency_key=key")
	}
	text = "client." + snake(c.op.ID) + "(" + strings.Join(arguments, ", ") + ")"
	if c.returnsNothing() {
		return setup, before + text
	}
	return setup, before + "result = " + text + "\nprint(result)"
}

func urllibSample(c call) string {
	lines := []string{"request = urllib.request.Request(", `    "` + c.api.Server + c.url() + `",`}
	if c.op.Method != "GET" {
		lines = append(lines, `    method="`+c.op.Method+`",`)
	}
	if !c.op.Public {
		lines = append(lines, "    headers={", `        "Authorization": "Bearer " + os.environ["`+c.api.Variable+`"],`)
		for _, h := range c.headers {
			lines = append(lines, `        "`+h[0]+`": "`+h[1]+`",`)
		}
		lines = append(lines, "    },")
	}
	if c.body != nil {
		lines = append(lines, "    data=json.dumps("+literal("python", *c.body, 1)+").encode(),")
	}
	lines = append(lines, ")", "with urllib.request.urlopen(request) as response:",
		"    print(response.status, json.load(response))")
	return strings.Join(lines, "\n")
}
