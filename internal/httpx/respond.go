package httpx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// maxPooled is the largest buffer kept for the next response.
const maxPooled = 64 << 10

// Header values that are the same on every response, shared to save their allocation. net/http only reads them.
var (
	jsonType = []string{"application/json; charset=utf-8"}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
)

type jsonBuffer struct {
	bytes.Buffer
	enc *json.Encoder
}

var jsonBuffers = sync.Pool{New: func() any {
	b := new(jsonBuffer)
	b.enc = json.NewEncoder(&b.Buffer)
	b.enc.SetEscapeHTML(false)
	return b
}}

// Page is one page of a list.
type Page[T any] struct {
	Data  []T   `json:"data"`
	Page  int   `json:"page"`
	Limit int   `json:"limit"`
	Total int64 `json:"total"`
}

// WriteJSON answers with v as JSON. It returns an error, and has written nothing, when v cannot be encoded.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	b := jsonBuffers.Get().(*jsonBuffer)
	b.Reset()
	defer func() {
		if b.Cap() <= maxPooled {
			jsonBuffers.Put(b)
		}
	}()
	if err := b.enc.Encode(v); err != nil {
		return fmt.Errorf("encode response: %w", err)
	}
	WriteRaw(w, status, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return nil
}

// WriteRaw answers with a body that is JSON already. The response is not to be stored by caches unless the handler has
// set Cache-Control. A write that fails is not reported: the client is gone.
func WriteRaw(w http.ResponseWriter, status int, body []byte) {
	Prepare(body).Write(w, status)
}

// Body is room for the JSON of an answer that is put together by appending.
type Body struct{ Bytes []byte }

var bodies = sync.Pool{New: func() any { return &Body{make([]byte, 0, 4<<10)} }}

// NewBody returns an empty body, which Send takes back.
func NewBody() *Body {
	b, _ := bodies.Get().(*Body) // the pool has no other type
	return b
}

// Send is WriteRaw for the body, which must not be used afterwards.
func (b *Body) Send(w http.ResponseWriter, status int) {
	WriteRaw(w, status, b.Bytes)
	if cap(b.Bytes) <= maxPooled {
		b.Bytes = b.Bytes[:0]
		bodies.Put(b)
	}
}

// Prepared is a body of JSON that is sent more than once.
type Prepared struct {
	Body   []byte
	length []string // as the values of a header
}

// Prepare makes a body ready to be sent.
func Prepare(body []byte) Prepared { return Prepared{body, []string{strconv.Itoa(len(body))}} }

// Write is WriteRaw for the body.
func (p Prepared) Write(w http.ResponseWriter, status int) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["X-Content-Type-Options"] = noSniff
	h["Content-Length"] = p.length
	if len(h["Cache-Control"]) == 0 {
		h["Cache-Control"] = noStore
	}
	w.WriteHeader(status)
	_, _ = w.Write(p.Body)
}
