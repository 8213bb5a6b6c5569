package integration_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// localized are the operations that take a locale.
var localized = []string{
	"/catalog/categories", "/catalog/brands", "/catalog/models?brand_code=chanel&category_code=bags", bagTimes,
	"/catalog/photo_indexes?category_code=bags", "/orders/none",
}

// TestLocale checks which languages can be asked for. The tests of each resource check what they show.
func TestLocale(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		at := func(path, locale string) string {
			if strings.Contains(path, "?") {
				return path + "&locale=" + locale
			}
			return path + "?locale=" + locale
		}
		t.Run("Unsupported", func(t *testing.T) {
			for _, path := range localized {
				for _, locale := range []string{"fr", "EN", "ja-JP", "", "en,ja"} {
					c.Get(t, at(path, locale)).Invalid(t, "locale enum")
				}
			}
		})
		t.Run("Twice", func(t *testing.T) {
			for _, path := range localized {
				c.Get(t, at(at(path, "en"), "ja")).Invalid(t, "locale duplicate")
			}
		})
		t.Run("NoneIsEnglish", func(t *testing.T) {
			c.Get(t, "/catalog/categories").Is(t, "data.0.name_locale", "Bags")
			c.Get(t, "/catalog/categories?locale=en").Is(t, "data.0.name_locale", "Bags")
		})
		t.Run("Japanese", func(t *testing.T) {
			c.Get(t, "/catalog/categories?locale=ja").Is(t, "data.0.name", "Bags").Is(t, "data.0.name_locale", "バッグ")
		})
		t.Run("FallsBackToEnglish", func(t *testing.T) {
			c.Get(t, "/catalog/categories?locale=ja").Is(t, "data.2.name", "Watches").Is(t, "data.2.name_locale", "Watches")
		})
	})
}

// TestPaging holds the bounds of page and limit of every list.
func TestPaging(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		lists := []struct {
			name, path  string
			limit, most string
			beyond      string
		}{
			{name: "Brands", path: "/catalog/brands?", limit: "50", most: "100", beyond: "101"},
			{
				name: "Models", path: "/catalog/models?brand_code=chanel&category_code=bags&", limit: "50", most: "100",
				beyond: "101",
			},
			{name: "Orders", path: "/orders?", limit: "10", most: "50", beyond: "51"},
			{name: "AuditEvents", path: "/audit/events?", limit: "50", most: "100", beyond: "101"},
		}
		for _, list := range lists {
			t.Run(list.name, func(t *testing.T) {
				c.Get(t, list.path).Want(t, 200).Is(t, "page", 1).Is(t, "limit", number(list.limit))
				c.Get(t, list.path+"limit="+list.most).Want(t, 200).Is(t, "limit", number(list.most))
				c.Get(t, list.path+"limit="+list.beyond).Invalid(t, "limit max")
				c.Get(t, list.path+"limit=1&page=1000").Want(t, 200).Is(t, "page", 1000).Is(t, "data", []any{})
				c.Get(t, list.path+"page=1000000000&limit="+list.most).Want(t, 200).Is(t, "data", []any{})
				for _, value := range []string{"0", "-1", "-9999999999999999999999"} {
					c.Get(t, list.path+"limit="+value+"&page="+value).Invalid(t, "page min", "limit min")
				}
				for _, value := range []string{"", "x", "1.5", "1e1", "+1", "%201", "0x1", "1_000", "%E2%91%A0"} {
					c.Get(t, list.path+"limit="+value+"&page="+value).Invalid(t, "page type", "limit type")
				}
				c.Get(t, list.path+"page=9999999999999999999999").Invalid(t, "page max")
				c.Get(t, list.path+"page=1&page=2&limit=1&limit=1").Invalid(t, "page duplicate", "limit duplicate")
			})
		}
		t.Run("UnknownParametersAreIgnored", func(t *testing.T) {
			for _, list := range lists {
				c.Get(t, list.path+"color=red&color=blue&x=%00").Want(t, 200)
			}
		})
	})
}

func number(s string) any {
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}

// TestETag checks that catalog answers can be kept by clients.
func TestETag(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		catalog := localized[:5]
		t.Run("UnchangedIs304", func(t *testing.T) {
			for _, path := range catalog {
				etag := c.Get(t, path).Want(t, 200).Header.Get("ETag")
				if !strings.HasPrefix(etag, `"`) || !strings.HasSuffix(etag, `"`) {
					t.Fatalf("%s: the ETag is %q", path, etag)
				}
				for _, header := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
					r := c.Get(t, path, "If-None-Match", header).Want(t, 304)
					if len(r.Body) != 0 || r.Header.Get("ETag") != etag {
						t.Errorf("%s: 304 has the ETag %q and %d bytes", path, r.Header.Get("ETag"), len(r.Body))
					}
				}
			}
		})
		t.Run("OtherIs200", func(t *testing.T) {
			for _, path := range catalog {
				c.Get(t, path, "If-None-Match", `"x"`).Want(t, 200)
			}
		})
		t.Run("OfAnotherLanguageIs200", func(t *testing.T) {
			etag := c.Get(t, "/catalog/categories?locale=ja").Want(t, 200).Header.Get("ETag")
			c.Get(t, "/catalog/categories?locale=en", "If-None-Match", etag).Want(t, 200)
		})
		t.Run("OfAnotherAvailabilityIs200", func(t *testing.T) {
			live := w.Live(t)
			etag := live.Get(t, bagTimes).Want(t, 200).Header.Get("ETag")
			for range 3 {
				live.Create(t, obj{"answer_time": 60})
			}
			live.Get(t, bagTimes, "If-None-Match", etag).Want(t, 200)
		})
		t.Run("ErrorsHaveNone", func(t *testing.T) {
			if got := c.Get(t, "/catalog/categories?brand_code=x", "If-None-Match", "*").
				Want(t, 404).Header.Get("ETag"); got != "" {
				t.Errorf("a refusal has the ETag %q", got)
			}
		})
	})
}
