package input

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/testkit/expect"
)

// query returns a reader of a raw query, as a client may send it.
func query(t *testing.T, raw string) *Query {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	r.URL.RawQuery = raw
	return ReadQuery(r)
}

func TestQueryString(t *testing.T) {
	tests := map[string]readTest[string]{
		"Plain":             {"a=x", nil, "x", ""},
		"Decoded":           {"a=%E6%97%A5+x%26", nil, "日 x&", ""},
		"EncodedName":       {"%61=x", nil, "x", ""},
		"Absent":            {"b=x&ab=y", nil, "", ""},
		"Required":          {"", []Rule{Required}, "", "a required"},
		"RequiredEmpty":     {"a=", []Rule{Required, NotEmpty}, "", "a empty"},
		"NoEqualsSign":      {"a", []Rule{NotEmpty}, "", "a empty"},
		"MaxChars":          {"a=%E6%97%A5%E6%97%A5", []Rule{MaxChars(1)}, "", "a max_length"},
		"OneOf":             {"a=z", []Rule{OneOf("x", "y")}, "", "a enum"},
		"Twice":             {"a=x&a=x", []Rule{Required}, "", "a duplicate"},
		"BrokenEncoding":    {"a=%zz", []Rule{Required}, "", "a format"},
		"CutEncoding":       {"a=%4", nil, "", "a format"},
		"NUL":               {"a=x%00", nil, "", "a invalid_character"},
		"NotUTF8":           {"a=%ff", nil, "", "a invalid_character"},
		"RawNotUTF8":        {"a=\xff", nil, "", "a invalid_character"},
		"BrokenName":        {"%zz=1&a=x", nil, "x", "query format"},
		"BrokenUnknown":     {"b=%zz&b=%ff&a=x", nil, "x", ""},
		"EqualsSignInValue": {"a=b=c", nil, "b=c", ""},
		"Semicolon":         {"a=b;c", nil, "b;c", ""},
		"EmptyParameters":   {"&&a=x&&", nil, "x", ""},
	}
	eachRead(t, tests, func(t *testing.T, raw string, rules []Rule) (string, error) {
		t.Helper()
		q := query(t, raw)
		return q.String("a", rules...), q.Done()
	})
}

func TestQueryInt(t *testing.T) {
	tests := map[string]readTest[int]{
		"Absent":     {"", nil, 10, ""},
		"Lowest":     {"limit=1", nil, 1, ""},
		"Highest":    {"limit=50", nil, 50, ""},
		"Zero":       {"limit=0", nil, 10, "limit min"},
		"Negative":   {"limit=-1", nil, 10, "limit min"},
		"Over":       {"limit=51", nil, 10, "limit max"},
		"Huge":       {"limit=99999999999999999999999", nil, 10, "limit max"},
		"HugeNeg":    {"limit=-99999999999999999999999", nil, 10, "limit min"},
		"Empty":      {"limit=", nil, 10, "limit type"},
		"Word":       {"limit=ten", nil, 10, "limit type"},
		"Fraction":   {"limit=1.0", nil, 10, "limit type"},
		"Exponent":   {"limit=1e1", nil, 10, "limit type"},
		"Hex":        {"limit=0x1", nil, 10, "limit type"},
		"Underscore": {"limit=1_0", nil, 10, "limit type"},
		"Space":      {"limit=+5", nil, 10, "limit type"},
		"Plus":       {"limit=%2B5", nil, 10, "limit type"},
		"Minus":      {"limit=-", nil, 10, "limit type"},
		"OtherDigit": {"limit=%D9%A1", nil, 10, "limit type"},
		"Twice":      {"limit=1&limit=2", nil, 10, "limit duplicate"},
	}
	eachRead(t, tests, func(t *testing.T, raw string, _ []Rule) (int, error) {
		t.Helper()
		q := query(t, raw)
		return q.Int("limit", 10, 1, 50), q.Done()
	})
}

func TestQueryPage(t *testing.T) {
	q := query(t, "page=9223372036854775807&limit=100")
	if page, limit := q.Page(50, 100); page != MaxPage || limit != 100 || q.Done() != nil {
		t.Errorf("page %d, limit %d, %v", page, limit, q.Done())
	}
	q = query(t, "page=9223372036854775808&limit=101")
	if page, limit := q.Page(50, 100); page != 1 || limit != 50 {
		t.Errorf("page %d, limit %d", page, limit)
	}
	wantProblems(t, q.Done(), "page max", "limit max")
}

func TestQueryLocale(t *testing.T) {
	for raw, want := range map[string]struct {
		locale text.Locale
		ok     bool
	}{
		"": {text.English, true}, "locale=en": {text.English, true}, "locale=ja": {text.Japanese, true},
		"locale=fr": {text.English, false},
		"locale=":   {text.English, false}, "locale=JA": {text.English, false}, "locale=ja&locale=ja": {text.English, false},
		"locale=%00": {text.English, false},
	} {
		q := query(t, raw)
		if got := q.Locale(); got != want.locale || (q.Done() == nil) != want.ok {
			t.Errorf("%q gives %q, %v", raw, got, q.Done())
		}
	}
}

func TestQueryTime(t *testing.T) {
	read := func(raw string) string {
		q := query(t, raw)
		switch at, err := q.Time("from"), q.Done(); {
		case err != nil && at.IsZero():
			return "refused"
		case err != nil || at.Location() != time.UTC:
			return fmt.Sprint("wrong: ", at, err)
		default:
			return at.Format("2006-01-02T15:04:05.000Z")
		}
	}
	expect.Results(t, read, map[string]string{
		"":                                    "0001-01-01T00:00:00.000Z",
		"from=2026-01-02T03:04:05Z":           "2026-01-02T03:04:05.000Z",
		"from=2026-01-02T03:04:05.6789Z":      "2026-01-02T03:04:05.678Z",
		"from=2026-01-02T03:04:05%2B09:00":    "2026-01-01T18:04:05.000Z",
		"from=2026-01-02T03:04:05+09:00":      "refused",
		"from=2026-01-02":                     "refused",
		"from=2026-01-02T03:04:05":            "refused",
		"from=2026-02-30T00:00:00Z":           "refused",
		"from=2026-01-02T3:04:05Z":            "refused",
		"from=2026-01-02T03:04:05,5Z":         "refused",
		"from=2026-01-02t03:04:05z":           "2026-01-02T03:04:05.000Z",
		"from=2016-12-31T23:59:60Z":           "2017-01-01T00:00:00.000Z",
		"from=2016-12-31T23:59:60.25Z":        "2017-01-01T00:00:00.250Z",
		"from=2017-01-01T08:59:60%2B09:00":    "2017-01-01T00:00:00.000Z",
		"from=2016-12-31T23:59:60-01:00":      "refused",
		"from=2026-01-02T12:30:60Z":           "refused",
		"from=2026-01-02T03:04:05-23:59":      "2026-01-03T03:03:05.000Z",
		"from=2026-01-02T03:04:05%2B24:00":    "refused",
		"from=2026-01-02T03:04:61Z":           "refused",
		"from=2026-01-02T24:00:00Z":           "refused",
		"from=2026-01-02T03:04:05%2B99:00":    "refused",
		"from=1767322800":                     "refused",
		"from=":                               "refused",
		"from=yesterday":                      "refused",
		"from=2026-01-02%2003:04:05Z":         "refused",
		"from=2026-01-02T03:04:05Z&from=null": "refused",
	})
}

func TestQueryUUID(t *testing.T) {
	const id = "01890a5d-ac96-774b-bcce-b302099a8057"
	for raw, want := range map[string]string{
		"": "", "id=" + id: id, "id=" + strings.ToUpper(id): id,
	} {
		q := query(t, raw)
		if got := q.UUID("id"); got != want || q.Done() != nil {
			t.Errorf("%q gives %q, %v", raw, got, q.Done())
		}
	}
	for _, raw := range []string{
		"id=", "id=1", "id=urn:uuid:" + id, "id={" + id + "}",
		"id=" + strings.ReplaceAll(id, "-", ""), "id=" + id[:35] + "g",
	} {
		q := query(t, raw)
		if got := q.UUID("id"); got != "" {
			t.Errorf("%q gives %q", raw, got)
		}
		wantProblems(t, q.Done(), "id format")
	}
}

func TestQueryAllProblemsAtOnce(t *testing.T) {
	q := query(t, "page=0&limit=x&locale=fr&model_code=&status=gone&unknown=1&from=now")
	q.Required("brand_code")
	q.Code("model_code")
	Enum(q, "status", "queued", "processing")
	q.Page(10, 50)
	q.Locale()
	q.Time("from")
	if q.Has("model_code") && !q.Has("brand_code") {
		q.Problem("brand_code", "with_model", "is required with model_code")
	}
	wantProblems(t, q.Done(), "brand_code required", "model_code empty", "status enum", "page min", "limit type",
		"locale enum", "from format", "brand_code with_model")
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		"", "a=1&b=2", "a=%zz", "%zz=a", "a&a", "page=99999999999999999999", "from=2026-01-02T03:04:05Z", "id=\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q := query(t, raw)
		if s := q.String("a", MaxChars(5)); !text.IsStorable(s) || len([]rune(s)) > 5 {
			t.Fatalf("%q gives %q", raw, s)
		}
		if page, limit := q.Page(10, 50); page < 1 || page > MaxPage || limit < 1 || limit > 50 {
			t.Fatalf("%q gives page %d, limit %d", raw, page, limit)
		}
		q.Locale()
		q.Time("from")
		q.UUID("id")
		_ = q.Done()
	})
}
