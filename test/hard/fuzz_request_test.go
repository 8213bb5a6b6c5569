package hard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/assayhq/assay/api/spec"
)

// fuzzer makes requests from the examples of the OpenAPI documents, most of them wrong.
type fuzzer struct {
	*hunt
	random *rand.Rand
}

// operation is one of a document, below the prefix of its API.
type operation struct {
	*spec.Operation
	prefix string
}

// nasty makes a value that fits nowhere, or hardly. Each is a new one: it may be changed.
func (f *fuzzer) nasty() any {
	switch n := f.random.IntN(30); n {
	case 0:
		return nil
	case 1:
		return true
	case 2:
		return []any{}
	case 3:
		return map[string]any{}
	case 4:
		return []any{nil, nil}
	case 5:
		return map[string]any{"": ""}
	case 6:
		return json.Number("99999999999999999999")
	case 7:
		return []any{-1, 0, 1, 1.5, 1e300, -1e-300}[f.random.IntN(6)]
	default:
		return f.nastyText()
	}
}

func (f *fuzzer) nastyText() string {
	texts := []string{
		"", " ", "\x00", "\u202e\ufeff", strings.Repeat("あ", 3000), "../../etc/passwd", "'; --", "\ud7ff\U0010ffff", "null",
		"https://127.0.0.1/", "https://[::1]:x/", "mailto:a@b", "%", "-1", "0", "1e9", "9223372036854775808", "%00", "{{.}}",
		"2025-02-30T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "0001-01-01T00:00:00Z", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
		strings.Repeat("x", 70_000),
	}
	n := len(texts)
	if f.random.IntN(20) > 0 {
		n-- // the last one is long
	}
	return texts[f.random.IntN(n)]
}

// inAddress is a nasty text for an address: one that is too long is refused by net/http before the program sees it.
func (f *fuzzer) inAddress() string {
	runes := []rune(f.nastyText())
	return string(runes[:min(len(runes), 300)])
}

// request makes the next request.
func (f *fuzzer) request() (*http.Request, []byte, error) {
	op := f.operations[f.random.IntN(len(f.operations))]
	for op.Public && f.random.IntN(50) > 0 { // the documents themselves: long, and always the same
		op = f.operations[f.random.IntN(len(f.operations))]
	}
	path := op.prefix + strings.ReplaceAll(op.Path, "{id}", f.id())
	query := url.Values{}
	for _, p := range op.Parameters {
		if p.In == "query" && (p.Required || f.random.IntN(3) == 0) {
			query.Set(p.Name, f.parameter(p))
		}
	}
	method := op.Method
	if f.random.IntN(50) == 0 {
		method = []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}[f.random.IntN(6)]
	}
	if f.random.IntN(50) == 0 {
		path += []string{"/", "/x", "//", "%2f", "%00", "/..", ";a=b"}[f.random.IntN(7)]
	}
	body, contentType := f.body(op)
	req, err := http.NewRequest(method, f.base+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if len(body) == 0 {
		req.Body = http.NoBody
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("Authorization", "Bearer "+f.token(op))
	if f.random.IntN(10) == 0 {
		req.Header.Set("Idempotency-Key", fmt.Sprint(f.random.IntN(100)))
	}
	return req, body, nil
}

// token is a credential of the API, now and then a part of one, or one of the other API.
func (f *fuzzer) token(op operation) string {
	integration, desk := []string{f.live, f.test}, append(slices.Clone(f.reviewers), f.admin)
	all := integration
	if (op.prefix == deskPrefix) != (f.random.IntN(100) == 0) {
		all = desk
	}
	token := all[f.random.IntN(len(all))]
	if f.random.IntN(100) == 0 {
		token = token[:f.random.IntN(len(token))]
	}
	return token
}

func (f *fuzzer) id() string {
	switch f.random.IntN(6) {
	case 0:
		return url.PathEscape(f.inAddress() + "x")
	case 1:
		return "00000000-0000-7000-8000-000000000000"
	}
	return url.PathEscape(f.known())
}

// known is the id of something that is there, or was.
func (f *fuzzer) known() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ids[f.random.IntN(len(f.ids))]
}

func (f *fuzzer) parameter(p *spec.Parameter) string {
	known := map[string]string{
		"locale": "ja", "page": "1", "limit": "10", "category_code": "bags", "brand_code": "prada", "status": "queued",
	}
	if value := known[p.Name]; value != "" && f.random.IntN(3) > 0 {
		return value
	}
	if p.Example != "" && f.random.IntN(2) == 0 {
		return p.Example
	}
	return f.inAddress()
}

// body makes a body from an example: right values of this installation, then some that are wrong.
func (f *fuzzer) body(op operation) (body []byte, contentType string) {
	if op.Body == nil {
		return nil, ""
	}
	content := op.Body.Content[f.random.IntN(len(op.Body.Content))]
	if strings.HasPrefix(content.MediaType, "multipart/") {
		body, contentType = f.photoBody()
	} else {
		contentType = content.MediaType
		var value any = map[string]any{}
		if n := len(content.Examples); n > 0 {
			_ = json.Unmarshal(content.Examples[f.random.IntN(n)].JSON, &value) // a test of the document reads them all
		}
		value = f.fit("", value)
		for range f.random.IntN(3) {
			value = f.mutate(value)
		}
		body = jsonBody(value)
	}
	if f.random.IntN(20) == 0 && len(body) > 0 {
		switch f.random.IntN(3) {
		case 0:
			body = body[:f.random.IntN(len(body))]
		case 1:
			body[f.random.IntN(len(body))] ^= byte(1 + f.random.IntN(255))
		default:
			body = slices.Concat(body, body)
		}
	}
	if f.random.IntN(30) == 0 {
		contentType = []string{"", "text/plain", "application/json; charset=utf-16", "multipart/form-data"}[f.random.IntN(4)]
	}
	return body, contentType
}

// fit replaces values of an example by those of this installation. Nothing outside of this machine is named: looking
// up its address would be what the test measures.
func (f *fuzzer) fit(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = f.fit(key, v[key])
		}
		_, photo := v["index_code"]
		if _, there := v["url"]; there && photo {
			v["url"] = f.photo
		}
		delete(v, "model_code")
		return v
	case []any:
		for i := range v {
			v[i] = f.fit(name, v[i])
		}
		return v
	}
	known := map[string]any{
		"category_code": "bags", "brand_code": "prada", "index_code": "overall-picture", "answer_time": 60,
		"url":       fmt.Sprintf("%s/%d", f.receiver.URL, f.random.IntN(1000)),
		"token_url": f.receiver.URL + "/token", "reference_photo_url": f.photo,
	}
	if right, there := known[name]; there {
		return right
	}
	if name == "order_id" {
		return f.known()
	}
	return value
}

// mutate changes one place of a value.
func (f *fuzzer) mutate(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 || f.random.IntN(8) == 0 {
			v[fmt.Sprint("unknown", f.random.IntN(3))] = f.nasty()
			return v
		}
		key := ids(v)[f.random.IntN(len(v))]
		switch f.random.IntN(4) {
		case 0:
			delete(v, key)
		case 1:
			v[key] = f.nasty()
		default:
			v[key] = f.mutate(v[key])
		}
		return v
	case []any:
		switch {
		case len(v) == 0 || f.random.IntN(6) == 0:
			return append(v, f.nasty())
		case f.random.IntN(8) == 0:
			return slices.Concat(v, v, v, v, v, v, v, v, v, v)[:min(10*len(v), 80)]
		}
		i := f.random.IntN(len(v))
		v[i] = f.mutate(v[i])
		return v
	}
	if f.random.IntN(40) == 0 {
		for range 40 {
			value = []any{value}
		}
		return value
	}
	return f.nasty()
}
