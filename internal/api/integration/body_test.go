package integration_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// jsonOperations are the operations with a JSON body, each with a body that is accepted.
func jsonOperations(t *testing.T, w *world) map[string]func(t *testing.T) (c *client, path string, body obj) {
	c := w.Live(t)
	return map[string]func(*testing.T) (*client, string, obj){
		"createOrder": func(t *testing.T) (*client, string, obj) { t.Helper(); return c, "/orders", c.Bag(t) },
		"updatePhotos": func(t *testing.T) (*client, string, obj) {
			t.Helper()
			id := c.CreateID(t)
			w.RequestPhotos(t, id)
			return c, "/orders/" + id + "/update_photos", obj{"photos": []any{
				obj{"index_code": "overall", "url": c.Photos(t, 1)[0]}, obj{"index_code": "serial", "is_unable_to_provide": true},
			}}
		},
		"createWebhook": func(t *testing.T) (*client, string, obj) {
			t.Helper()
			return c.Account.Live(t), "/webhooks", obj{"url": "https://a.public.example/", "events": []any{"order-outcome"}}
		},
	}
}

// padded returns the JSON object with white space up to a number of bytes.
func padded(t *testing.T, body obj, size int) string {
	t.Helper()
	text := encoded(t, body)
	return text[:len(text)-1] + strings.Repeat(" ", size-len(text)) + "}"
}

// TestBody checks what a JSON body may be, for every operation that takes one.
func TestBody(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		operations := jsonOperations(t, w)
		each := func(t *testing.T, f func(t *testing.T, c *client, path string, body obj)) {
			t.Helper()
			for _, start := range operations {
				c, path, body := start(t)
				f(t, c, path, body)
			}
		}
		accepted := func(t *testing.T, r *integrationtest.Response) {
			t.Helper()
			if r.Status != 201 && r.Status != 202 {
				t.Errorf("%s answered %d: %s", r.Request, r.Status, r.Body)
			}
		}
		t.Run("ContentTypes", func(t *testing.T) {
			for _, contentType := range []string{
				"", "application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON",
			} {
				each(t, func(t *testing.T, c *client, path string, body obj) {
					t.Helper()
					if contentType == "" {
						accepted(t, c.Post(t, path, body))
						return
					}
					accepted(t, c.Post(t, path, body, "Content-Type", contentType))
				})
			}
		})
		t.Run("WrongContentType", func(t *testing.T) {
			for _, contentType := range []string{
				"text/plain", "application/xml", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded",
				"application/json; charset=latin1", "application/problem+json", "json", "application/json; charset", "*/*",
			} {
				each(t, func(t *testing.T, c *client, path string, body obj) {
					t.Helper()
					c.Post(t, path, body, "Content-Type", contentType).Refused(t, 400, "bad-request")
				})
			}
		})
		t.Run("Compressed", func(t *testing.T) {
			each(t, func(t *testing.T, c *client, path string, body obj) {
				t.Helper()
				e := c.Post(t, path, body, "Content-Encoding", "gzip").Refused(t, 400, "bad-request")
				if !strings.Contains(e.Message, "Content-Encoding") {
					t.Errorf("the message is %q", e.Message)
				}
			})
		})
		t.Run("ContentTypeWithoutBodyIsHarmless", func(t *testing.T) {
			c := w.Test(t)
			c.Get(t, "/balance", "Content-Type", "application/json").Want(t, 200)
			c.Get(t, "/orders", "Content-Type", "text/plain").Want(t, 200)
			id := c.Post(t, "/webhooks", obj{"url": "https://a.public.example/", "events": []any{"order-outcome"}}).Text(t, "id")
			c.Delete(t, "/webhooks/"+id, "Content-Type", "application/json").Want(t, 204)
		})
		t.Run("BrokenJSON", func(t *testing.T) {
			for _, text := range []string{
				"", " ", "{", "}", "{]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{'a':1}`, `{a:1}`, "{} {}", "{}x", `{"a":01}`, `{"a":+1}`,
				`{"a":.5}`, `{"a":NaN}`, `{"a":"` + "\n" + `"}`,
				`{"a":"\x"}`, `{"a":"\u12"}`, "\ufeff{}", "undefined", "nul", "// {}",
			} {
				each(t, func(t *testing.T, c *client, path string, _ obj) {
					t.Helper()
					c.Post(t, path, text).Refused(t, 400, "bad-request")
				})
			}
		})
		t.Run("NotAnObject", func(t *testing.T) {
			for _, text := range []string{"[]", "null", "1", `"x"`, "true", `[{"photos":[]}]`} {
				each(t, func(t *testing.T, c *client, path string, _ obj) {
					t.Helper()
					c.Post(t, path, text).Invalid(t, "body type")
				})
			}
		})
		t.Run("SizeLimit", func(t *testing.T) {
			each(t, func(t *testing.T, c *client, path string, body obj) {
				t.Helper()
				c.Post(t, path, padded(t, body, 1<<20+1)).Refused(t, 400, "bad-request")
				c.Post(t, path, padded(t, body, 3<<20)).Refused(t, 400, "bad-request")
				accepted(t, c.Post(t, path, padded(t, body, 1<<20)))
			})
		})
		t.Run("SizeLimitOfAStream", func(t *testing.T) { // without a Content-Length
			each(t, func(t *testing.T, c *client, path string, body obj) {
				t.Helper()
				c.Post(t, path, struct{ *strings.Reader }{strings.NewReader(padded(t, body, 1<<20+1))}).
					Refused(t, 400, "bad-request")
				accepted(t, c.Post(t, path, struct{ *strings.Reader }{strings.NewReader(padded(t, body, 1<<20))}))
			})
		})
		t.Run("NestingLimit", func(t *testing.T) {
			nested := func(levels int) string {
				return `{"x":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}"
			}
			each(t, func(t *testing.T, c *client, path string, _ obj) {
				t.Helper()
				c.Post(t, path, nested(32)).Refused(t, 400, "validation-error")
				c.Post(t, path, nested(33)).Refused(t, 400, "bad-request")
				c.Post(t, path, strings.Repeat("[", 500_000)).Refused(t, 400, "bad-request")
			})
		})
		t.Run("InvalidUTF8", func(t *testing.T) {
			for _, text := range []string{
				"{\"name\":\"\xff\"}", "{\"\xc3\x28\":1}", "\xfe\xff\x00{\x00}", "{\"name\":\"\xed\xa0\x80\"}",
			} {
				each(t, func(t *testing.T, c *client, path string, _ obj) {
					t.Helper()
					c.Post(t, path, text).Refused(t, 400, "bad-request")
				})
			}
		})
		t.Run("NULAndLoneSurrogates", func(t *testing.T) {
			for _, value := range []string{`"a\u0000b"`, `"\ud800"`, `"\udc00\ud800"`} {
				each(t, func(t *testing.T, c *client, path string, body obj) {
					t.Helper()
					field := map[string]string{"/orders": "external_id", "/webhooks": "name"}[path]
					if field == "" {
						field = "note"
					}
					text := encoded(t, body)
					c.Post(t, path, text[:len(text)-1]+`,"`+field+`":`+value+`}`).Invalid(t, field+" invalid_character")
				})
			}
		})
		t.Run("UnknownProperties", func(t *testing.T) {
			each(t, func(t *testing.T, c *client, path string, body obj) {
				t.Helper()
				c.Post(t, path, with(with(body, "colour", nil), "Colour", "red")).Invalid(t, "Colour unknown")
				c.Post(t, path, with(body, "colour", []any{obj{"a": 1}})).Invalid(t, "colour unknown")
			})
		})
		t.Run("UnknownNestedProperties", func(t *testing.T) {
			c := w.Live(t)
			body := c.Bag(t)
			photo, _ := body["photos"].([]any)[1].(obj)
			photo["caption"] = "x"
			c.Post(t, "/orders", body).Invalid(t, "photos[1].caption unknown")
		})
		t.Run("DuplicateProperties", func(t *testing.T) {
			each(t, func(t *testing.T, c *client, path string, body obj) {
				t.Helper()
				text := encoded(t, body)
				name := "events"
				if path != "/webhooks" {
					name = "photos"
				}
				c.Post(t, path, `{"`+name+`":[],`+text[1:]).Refused(t, 400, "validation-error")
			})
		})
		t.Run("AllProblemsAtOnce", func(t *testing.T) {
			c := w.Test(t)
			e := c.Post(t, "/orders", obj{
				"brand_code": 1, "category_code": "", "model_code": []any{}, "external_id": strings.Repeat("x", 101),
				"answer_time": 0, "size": "L",
				"photos": []any{obj{"url": true}, "x", obj{"url": strings.Repeat("x", 2049), "index_code": ""}},
			}).Refused(t, 400, "validation-error")
			got := e.Problems(t)
			slices.Sort(got)
			want := []string{
				"answer_time min", "brand_code type", "category_code empty", "external_id max_length", "model_code type",
				"photos[0].index_code required", "photos[0].url type", "photos[1] type", "photos[2].index_code empty",
				"photos[2].url max_length", "size unknown",
			}
			if !slices.Equal(got, want) {
				t.Errorf("the problems are\n%q, not\n%q", got, want)
			}
		})
		t.Run("AllProblemsOfManyPhotos", func(t *testing.T) {
			c := w.Test(t)
			photos := make([]any, 75)
			for i := range photos {
				photos[i] = obj{}
			}
			e := c.Post(t, "/orders", with(c.Bag(t), "photos", photos)).Refused(t, 400, "validation-error")
			if got := len(e.Problems(t)); got != 150 {
				t.Errorf("%d problems are told, not 150", got)
			}
		})
		t.Run("NullIsAbsent", func(t *testing.T) {
			each(t, func(t *testing.T, c *client, path string, body obj) {
				t.Helper()
				optional := map[string][]string{
					"/orders": {"external_id", "answer_time", "model_code", "mock_outcome"}, "/webhooks": {"name", "auth"},
				}[path]
				if optional == nil {
					optional = []string{"note"}
				}
				text := encoded(t, body)
				for _, name := range optional {
					text = `{"` + name + `":null,` + text[1:]
				}
				accepted(t, c.Post(t, path, text))
			})
		})
		t.Run("NullIsNoRequiredValue", func(t *testing.T) {
			c := w.Live(t)
			c.Post(t, "/orders", `{"brand_code":null,"category_code":null,"photos":null}`).
				Invalid(t, "brand_code required", "category_code required", "photos required")
		})
		t.Run("CharsAreCodePoints", func(t *testing.T) { // outside the basic plane: 4 bytes, 2 UTF-16 units, 1 code point
			c := w.Live(t)
			id := strings.Repeat("😀", 100)
			c.Create(t, obj{"external_id": id}).Is(t, "external_id", id)
			c.Post(t, "/orders", with(c.Bag(t), "external_id", id+"x")).Invalid(t, "external_id max_length")
			escaped := strings.Repeat(`\ud83d\ude00`, 100)
			text := encoded(t, c.Bag(t))
			c.Post(t, "/orders", text[:len(text)-1]+`,"external_id":"`+escaped+`"}`).Want(t, 201).Is(t, "external_id", id)
		})
		t.Run("IntegersByValue", func(t *testing.T) {
			c := w.Live(t)
			text := encoded(t, c.Bag(t))
			for _, value := range []string{"1440", "1440.0", "1.44e3"} {
				c.Post(t, "/orders", text[:len(text)-1]+`,"answer_time":`+value+`}`).Want(t, 201)
			}
			for _, value := range []string{"1440.5", `"1440"`, "true", "[]", "1e-400"} {
				c.Post(t, "/orders", text[:len(text)-1]+`,"answer_time":`+value+`}`).Invalid(t, "answer_time type")
			}
			for _, value := range []string{"0", "-1", "-0.0", "-1e400"} {
				c.Post(t, "/orders", text[:len(text)-1]+`,"answer_time":`+value+`}`).Invalid(t, "answer_time min")
			}
			c.Post(t, "/orders", text[:len(text)-1]+`,"answer_time":1e400}`).Invalid(t, "answer_time max")
		})
	})
}
