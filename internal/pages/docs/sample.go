package docs

import (
	"net/url"
	"strings"

	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/pages/ui"
)

// Sample calls one operation in one language. Setup and Call together are a whole program; samples of one document and
// language have the same Setup, but for what it imports, or none.
type Sample struct {
	Operation, Language, Setup, Call string
}

// Text is the whole program.
func (s Sample) Text() string { return strings.Trim(s.Setup+"\n\n"+s.Call, "\n") + "\n" }

// apiDoc is a document with what its samples need to know.
type apiDoc struct {
	*spec.Document
	Variable string // environment variable that holds the credentials
	Clients  bool   // the clients have a method for every operation
}

// call is a request with the examples of a document.
type call struct {
	op      *spec.Operation
	api     apiDoc
	path    string      // with the examples of its parameters
	id      string      // example of the path's parameter; empty: it has none
	query   [][2]string // the parameters that a first call needs
	headers [][2]string
	keyed   bool   // it takes an Idempotency-Key
	body    *value // nil: none
	json    string // of the body
	files   []string
}

func newCall(a apiDoc, op *spec.Operation) (c call, err error) {
	c = call{op: op, api: a, path: op.Path}
	for _, p := range op.Parameters {
		if p.Example == "" {
			continue
		}
		switch {
		case p.In == "path":
			c.id = p.Example
			c.path = strings.ReplaceAll(c.path, "{"+p.Name+"}", url.PathEscape(p.Example))
		case p.In == "query" && p.Required:
			c.query = append(c.query, [2]string{p.Name, p.Example})
		case p.Name == "Idempotency-Key":
			c.keyed = true
		}
	}
	if op.Body == nil {
		return c, nil
	}
	content := op.Body.Content[0]
	if content.MediaType != "application/json" {
		c.files = []string{"front.jpg", "serial.jpg"}
	} else if len(content.Examples) > 0 && op.Body.Required {
		c.headers = append(c.headers, [2]string{"Content-Type", "application/json"})
		example := content.Examples[0].JSON
		v, err := readValue(example)
		if err != nil {
			return c, err
		}
		c.body, c.json = &v, ui.IndentedJSON(example)
	}
	return c, nil
}

// url is the address without the base URL.
func (c call) url() string {
	if len(c.query) == 0 {
		return c.path
	}
	var pairs []string
	for _, q := range c.query {
		pairs = append(pairs, q[0]+"="+url.QueryEscape(q[1]))
	}
	return c.path + "?" + strings.Join(pairs, "&")
}

// hasMethod reports whether the clients have a method for the operation.
func (c call) hasMethod() bool { return c.api.Clients && !c.op.Public }

// keepKey is what samples say of the idempotency key. They make one, because whoever copies a sample copies its key.
const keepKey = "stored with the record first: a repeat sends the same one"

// samplesOf returns the samples of an operation in the order of languages.
func samplesOf(a apiDoc, op *spec.Operation) ([]Sample, error) {
	c, err := newCall(a, op)
	if err != nil {
		return nil, err
	}
	var out []Sample
	for _, l := range languages {
		setup, text := writers[l.Name](c)
		out = append(out, Sample{op.ID, l.Name, setup, text})
	}
	return out, nil
}

// writers write a call in a language: what comes before it, and the call.
var writers = map[string]func(c call) (setup, text string){
	"sh": curlSample, "go": goSample, "ts": tsSample, "python": pythonSample, "php": phpSample, "ruby": rubySample,
}

func curlSample(c call) (setup, text string) {
	lines := []string{"curl"}
	if c.op.Method == "DELETE" || c.op.Method == "PATCH" || c.op.Method == "POST" && c.body == nil && c.files == nil {
		lines[0] += " -X " + c.op.Method
	}
	lines[0] += " " + shellQuote(c.api.Server+c.url())
	if !c.op.Public {
		lines = append(lines, `-H "Authorization: Bearer $`+c.api.Variable+`"`)
	}
	if c.keyed {
		text = "key=$(openssl rand -hex 16) # " + keepKey + "\n"
		lines = append(lines, `-H "Idempotency-Key: $key"`)
	}
	for _, h := range c.headers {
		lines = append(lines, "-H "+shellQuote(h[0]+": "+h[1]))
	}
	for _, f := range c.files {
		lines = append(lines, "-F photos=@"+f)
	}
	if c.body != nil {
		lines = append(lines, "-d "+shellQuote(c.json))
	}
	return "", text + strings.Join(lines, " \\\n  ")
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
