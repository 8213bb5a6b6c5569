package integration_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

// hostile are texts that have broken other services.
var hostile = []string{
	"", " ", "\t", "\n", "null", "true", "0", "-1", "NaN", "undefined", "'", `"`, "`", `\`, "/", "//", "..",
	"../../etc/passwd", "%", "%00", "%zz", "%%", "*", "?", "#", "&", "=", "+", ";",
	"' OR '1'='1", "'; DROP TABLE orders; --", "$1", ":name", "{{7*7}}", "${jndi:ldap://x}", "<script>alert(1)</script>",
	"\u202e", "\u200b", "\ufeff", "\ufffd", "\uffff", "é", "e\u0301", "日本語", "😀", "👩\u200d👩\u200d👧", "\U0010ffff",
	"\u0001", "\u001f", "\x7f", "\u0085", "\u2028", strings.Repeat("a", 64), strings.Repeat("a", 300),
	strings.Repeat("界", 2100), strings.Repeat("../", 50), "00000000-0000-0000-0000-000000000000", "9223372036854775807",
	"9223372036854775808", "1e308", "2026-03-02T01:00:00Z", "9999-12-31T23:59:60Z",
	"https://", "https://a.public.example", "https://[::1", "https://a.public.example:0/", "https://xn--/",
	"javascript:alert(1)", "file:///etc/passwd", integrationtest.MediaURL + "/x.jpg",
}

// TestHostile_Strings puts each hostile text wherever a client can put one: no answer is a failure of the service, and
// every answer is one that the document describes.
func TestHostile_Strings(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		fine := func(t *testing.T, r *integrationtest.Response) {
			t.Helper()
			if r.Status >= 500 {
				t.Errorf("%s answered %d: %s", r.Request, r.Status, r.Body)
			}
		}
		t.Run("Paths", func(t *testing.T) {
			for _, text := range hostile {
				if text == "" {
					continue
				}
				id := everyByteEscaped(text)
				fine(t, c.Get(t, "/"+id))
				fine(t, c.Get(t, "/orders/"+id))
				fine(t, c.Get(t, "/orders/"+id+"/"+id))
				fine(t, c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": unable()}))
				fine(t, c.Delete(t, "/webhooks/"+id))
			}
		})
		t.Run("Queries", func(t *testing.T) {
			for _, text := range hostile {
				value := everyByteEscaped(text)
				for _, path := range []string{
					"/catalog/categories?brand_code=", "/catalog/brands?category_code=", "/catalog/brands?search=",
					"/catalog/brands?page=", "/catalog/brands?limit=", "/catalog/brands?locale=",
					"/catalog/models?category_code=bags&brand_code=", "/catalog/models?brand_code=chanel&category_code=",
					"/catalog/models?brand_code=chanel&category_code=bags&search=",
					"/catalog/answer_times?category_code=bags&brand_code=",
					"/catalog/photo_indexes?category_code=bags&brand_code=chanel&model_code=", "/orders?page=", "/orders?limit=",
					"/orders/x?locale=", "/audit/events?from=", "/audit/events?to=", "/audit/events?event_code=",
					"/audit/events?actor_type=", "/audit/events?actor_id=", "/audit/events?source=", "/audit/events?target_type=",
					"/audit/events?target_id=",
				} {
					fine(t, c.Get(t, path+value))
				}
				fine(t, c.Get(t, "/orders?"+value+"="+value))
			}
		})
		t.Run("BrokenQueries", func(t *testing.T) {
			for _, query := range []string{
				"%", "%zz", "%zz=1", "page=%zz", "page=%", "&&&", "=", "=1", "page", "page=1;limit=2", "page[]=1", "page%00=1",
				"locale=en&locale=en", "?page=1", "a=%ff", "page=%ff",
			} {
				for _, path := range []string{"/orders?", "/catalog/brands?", "/audit/events?", "/orders/x?"} {
					fine(t, c.Get(t, path+query))
				}
			}
		})
		t.Run("Headers", func(t *testing.T) {
			for _, text := range hostile {
				value := strings.Map(func(r rune) rune {
					if r < ' ' || r == 0x7f {
						return -1
					}
					return r
				}, text)
				fine(t, c.Post(t, "/orders", c.Bag(t), "Idempotency-Key", value, "User-Agent", value))
				for _, name := range []string{
					"Authorization", "Idempotency-Key", "If-None-Match", "Accept", "Accept-Language", "Accept-Encoding", "User-Agent",
					"Cookie", "Origin", "Referer", "X-Forwarded-For", "Forwarded", "X-Request-Id", "X-HTTP-Method-Override", "Range",
					"If-Match", "Traceparent",
				} {
					fine(t, c.Get(t, "/catalog/brands", name, value))
				}
			}
		})
		t.Run("Bodies", func(t *testing.T) {
			for _, text := range hostile {
				for _, property := range []string{
					"brand_code", "category_code", "model_code", "external_id", "mock_outcome", "photos", "answer_time",
				} {
					fine(t, c.Post(t, "/orders", with(c.Bag(t), property, text)))
				}
				fine(t, c.Post(t, "/orders", with(c.Bag(t), "photos", []any{obj{"url": text, "index_code": text}})))
				fine(t, c.Post(t, "/orders", obj{text: text}))
				webhooks := c.Account.Test(t)
				fine(t, webhooks.Post(t, "/webhooks", endpoint(text)))
				fine(t, webhooks.Post(t, "/webhooks", endpoint("https://"+text)))
				fine(t, webhooks.Post(t, "/webhooks", endpoint("https://a.public.example/"+text)))
				fine(t, webhooks.Post(t, "/webhooks",
					endpoint("https://a.public.example/n", obj{"name": text, "events": []any{text}})))
				for _, property := range []string{"type", "token_url", "client_id", "client_secret", "scope"} {
					fine(t, webhooks.Post(t, "/webhooks",
						endpoint("https://a.public.example/"+property, obj{"auth": oauth(obj{property: text})})))
				}
			}
		})
		t.Run("Notes", func(t *testing.T) {
			id := c.CreateID(t, obj{"mock_outcome": "update-photos"})
			for _, text := range hostile {
				if c.Get(t, "/orders/"+id).Text(t, "status") != "update-photos" {
					id = c.CreateID(t, obj{"mock_outcome": "update-photos"})
				}
				fine(t, c.Post(t, "/orders/"+id+"/update_photos", obj{
					"note": text, "photos": []any{obj{"index_code": text, "url": text}},
				}))
				fine(t, c.Post(t, "/orders/"+id+"/update_photos", obj{"note": text, "photos": []any{
					obj{"index_code": "overall", "is_unable_to_provide": true},
					obj{"index_code": "interior", "is_unable_to_provide": true},
				}}))
			}
		})
		t.Run("Uploads", func(t *testing.T) {
			for _, text := range hostile {
				name := strings.NewReplacer("\n", "", "\r", "").Replace(text)
				fine(t, c.Upload(t, part{Filename: name, Content: []byte(text)}, part{
					Filename: "x", Content: pictures.GrayPNG(1, 1),
				}))
				fine(t, c.Post(t, "/photos", text, "Content-Type", "multipart/form-data; boundary="+strings.Map(func(r rune) rune {
					if r < ' ' || r >= 0x7f {
						return 'x'
					}
					return r
				}, name)))
			}
		})
		t.Run("LogHasNoFailure", func(t *testing.T) {
			if strings.Contains(w.Log(), "level=ERROR") {
				t.Error(w.Log())
			}
		})
	})
}

// TestHostile_Wire sends what no HTTP client would. The server may refuse it before the API sees it; it must not
// fail and must answer the next request.
func TestHostile_Wire(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		auth := "\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer " + c.Secret + "\r\n"
		get := "GET /v1/integrations/balance HTTP/1.1" + auth
		post := "POST /v1/integrations/orders HTTP/1.1" + auth
		for _, wire := range []struct{ name, text string }{
			{"BrokenEscape", "GET /v1/integrations/orders/%zz HTTP/1.1" + auth + "\r\n"},
			{"BareEscape", "GET /v1/integrations/orders/% HTTP/1.1" + auth + "\r\n"},
			{"RawBytes", "GET /v1/integrations/orders/\xff\xfe HTTP/1.1" + auth + "\r\n"},
			{"RawNUL", "GET /v1/integrations/orders/a\x00b HTTP/1.1" + auth + "\r\n"},
			{"RawUTF8", "GET /v1/integrations/orders/靴 HTTP/1.1" + auth + "\r\n"},
			{"AbsoluteTarget", "GET http://elsewhere/v1/integrations/balance HTTP/1.1" + auth + "\r\n"},
			{"AsteriskTarget", "OPTIONS * HTTP/1.1" + auth + "\r\n"},
			{"ConnectTarget", "CONNECT /v1/integrations/orders HTTP/1.1" + auth + "\r\n"},
			{"UnknownMethod", "GE\x01T /v1/integrations/balance HTTP/1.1" + auth + "\r\n"},
			{"TwoLengths", post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"},
			{"LengthAndChunks", post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"},
			{"NegativeLength", post + "Content-Length: -1\r\n\r\n"},
			{"BrokenChunk", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"},
			{"HugeLength", post + "Content-Length: 9223372036854775807\r\nExpect: 100-continue\r\n\r\n"},
			{"UnknownExpectation", post + "Content-Length: 2\r\nExpect: wonders\r\n\r\n{}"},
			{"ControlInHeader", get + "Idempotency-Key: a\x00b\r\n\r\n"},
			{"FoldedHeader", get + "X-A: b\r\n c\r\n\r\n"},
			{"OldVersion", "GET /v1/integrations/balance HTTP/1.0" + auth + "\r\n"},
			{"UnknownVersion", "GET /v1/integrations/balance HTTP/9.9" + auth + "\r\n"},
			{"NoHost", "GET /v1/integrations/balance HTTP/1.1\r\nConnection: close\r\n\r\n"},
			{"HugeHeader", get + "X-A: " + strings.Repeat("a", 2<<20) + "\r\n\r\n"},
		} {
			t.Run(wire.name, func(t *testing.T) {
				if status, body := overWire(t, w, wire.text, false); status >= 500 && status != http.StatusNotImplemented &&
					status != http.StatusHTTPVersionNotSupported {
					t.Errorf("the answer is %d: %s", status, body)
				}
			})
		}
		t.Run("CutOffBody", func(t *testing.T) { // the client is gone: nobody is answered, nothing is made
			overWire(t, w, "POST /v1/integrations/orders HTTP/1.1"+auth+"Content-Length: 1000\r\n\r\n{\"brand_code\":", true)
			c.Get(t, "/orders").Want(t, 200).Is(t, "total", 0)
		})
		t.Run("AnswersAfterwards", func(t *testing.T) { c.Get(t, "/balance").Want(t, 200) })
		t.Run("LogHasNoFailure", func(t *testing.T) {
			if strings.Contains(w.Log(), "level=ERROR") {
				t.Error(w.Log())
			}
		})
	})
}

// overWire sends bytes and returns the status of the answer, 0 when there is none. A connection that is cut off gets no
// more.
func overWire(t *testing.T, w *world, text string, cutOff bool) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", w.Server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return 0, ""
	}
	if tcp, ok := conn.(*net.TCPConn); ok && cutOff {
		_ = tcp.CloseWrite()
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, ""
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(answer)
}

// TestHostile_Shapes sends random requests that are near right ones: wrong kinds, extra and missing properties, odd
// numbers, methods, paths and headers. No answer is a failure of the service, and every answer is one that the document
// describes.
func TestHostile_Shapes(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		t.Run("Random", func(t *testing.T) {
			c := w.Test(t)
			known := []string{
				"chanel", "bags", "shoes", "boy-bag", "overall", "serial", "interior", "pair", "authentic", "update-photos",
				"order-outcome", "oauth2", "https://a.public.example/",
			}
			known = append(known, c.Photos(t, 3)...)
			waiting := c.CreateID(t, obj{"mock_outcome": "update-photos"})
			paths := rapid.SampledFrom([]string{
				"/catalog/categories", "/catalog/brands", "/catalog/models", "/catalog/answer_times", "/catalog/photo_indexes",
				"/photos", "/balance", "/orders", "/orders/" + waiting, "/orders/" + waiting + "/update_photos", "/orders/x",
				"/orders/x/update_photos", "/audit/events", "/webhooks", "/webhooks/" + waiting, "/", "/x",
			})
			methods := rapid.SampledFrom([]string{"GET", "GET", "POST", "POST", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"})
			names := rapid.SampledFrom([]string{
				"brand_code", "category_code", "model_code", "photos", "url", "index_code", "external_id", "answer_time",
				"mock_outcome", "note", "is_unable_to_provide", "events", "name", "auth", "type", "token_url", "client_id",
				"client_secret", "scope", "page", "limit", "locale", "search", "from", "to", "event_code", "actor_id", "x", "",
			})
			texts := rapid.OneOf(rapid.SampledFrom(known), rapid.SampledFrom(hostile), rapid.String())
			values := shapes(names, texts)
			rapid.Check(t, func(rt *rapid.T) {
				for range 25 {
					r := request{Method: methods.Draw(rt, "method"), Path: paths.Draw(rt, "path"), Header: http.Header{}}
					for i := range rapid.IntRange(0, 3).Draw(rt, "parameters") {
						separator := "?"
						if i > 0 {
							separator = "&"
						}
						r.Path += separator + everyByteEscaped(names.Draw(rt, "parameter")) + "=" +
							everyByteEscaped(texts.Draw(rt, "value"))
					}
					if r.Method != "GET" {
						r.Body = values.Draw(rt, "body")
						if rapid.IntRange(0, 9).Draw(rt, "raw") == 0 {
							r.Body = rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes")
						}
					}
					if rapid.Bool().Draw(rt, "typed") {
						r.Header.Set("Content-Type",
							rapid.SampledFrom([]string{"application/json", "text/plain", "multipart/form-data; boundary=x", ""}).
								Draw(rt, "content type"))
					}
					if rapid.IntRange(0, 4).Draw(rt, "idempotent") == 0 {
						r.Header.Set("Idempotency-Key", rapid.StringMatching(`[ -~]{0,300}`).Draw(rt, "key"))
					}
					if res := c.Send(t, r); res.Status >= 500 {
						rt.Fatalf("%s %s answered %d: %s", r.Method, r.Path, res.Status, res.Body)
					}
				}
			})
		})
	})
}

// shapes draws JSON values that look like the bodies of the API.
func shapes(names, texts *rapid.Generator[string]) *rapid.Generator[any] {
	numbers := rapid.SampledFrom([]string{
		"0", "1", "-1", "30", "60", "1440", "1440.0", "1.5", "1e3", "1e-3", "1e400", "-0", "9223372036854775808",
		"123456789012345678901234567890",
	})
	scalar := rapid.OneOf(
		rapid.Map(texts, func(s string) any { return s }), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(numbers, func(n string) any { return json.Number(n) }), rapid.Just(any(nil)),
	)
	value := scalar
	for range 3 {
		inner := value
		object := rapid.Map(rapid.MapOfN(names, inner, 0, 6), func(m map[string]any) any { return obj(m) })
		array := rapid.Map(rapid.SliceOfN(inner, 0, 4), func(s []any) any { return s })
		value = rapid.OneOf(object, object, array, scalar)
	}
	order := rapid.Custom(func(rt *rapid.T) any {
		o := obj{"brand_code": "chanel", "category_code": "bags", "mock_outcome": "fake"}
		photos := make([]any, rapid.IntRange(0, 4).Draw(rt, "photos"))
		for i := range photos {
			photos[i] = obj{"url": texts.Draw(rt, "url"), "index_code": texts.Draw(rt, "index")}
		}
		o["photos"] = photos
		for i := range rapid.IntRange(0, 2).Draw(rt, "changes") {
			o[names.Draw(rt, "changed "+strconv.Itoa(i))] = value.Draw(rt, "value "+strconv.Itoa(i))
		}
		return o
	})
	return rapid.OneOf(value, order)
}
