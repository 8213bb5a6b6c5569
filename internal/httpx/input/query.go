package input

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/text"
)

// MaxPage is the highest page number of a list: lists multiply with care.
const MaxPage = math.MaxInt64

// Query reads the query parameters of a request and collects every problem; Done returns them all at once.
// Parameters that nobody asks for are ignored.
type Query struct {
	problems
	parameters []parameter
	few        [4]parameter // room for parameters, where they are not many
}

type parameter struct{ name, raw string } // the value is not decoded

// ReadQuery returns a reader of the request's query.
func ReadQuery(r *http.Request) *Query {
	q := new(Query)
	q.parameters = q.few[:0]
	malformed := false
	for rest := r.URL.RawQuery; rest != ""; {
		var first string
		first, rest, _ = strings.Cut(rest, "&")
		name, raw, _ := strings.Cut(first, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			malformed = true
			continue
		}
		q.parameters = append(q.parameters, parameter{name, raw})
	}
	if malformed {
		q.add("query", CodeFormat, "must be valid percent-encoding")
	}
	return q
}

// String returns a parameter that keeps the rules for strings, else "". A parameter without a value is the empty
// string, not an absent one.
func (q *Query) String(name string, rules ...Rule) string {
	mustFit(rules, stringRules, name)
	s, ok := q.read(name)
	if !ok {
		if has(rules, ruleRequired) && !q.Has(name) {
			q.Problem(name, CodeRequired, "is required")
		}
		return ""
	}
	if code, message := checkString(s, rules); code != "" {
		q.Problem(name, code, message)
		return ""
	}
	return s
}

// Required returns a parameter that must be there and not empty.
func (q *Query) Required(name string) string { return q.String(name, Required, NotEmpty) }

// Code returns an optional parameter that must not be empty when it is there, such as a catalog code.
func (q *Query) Code(name string) string { return q.String(name, NotEmpty) }

// Enum returns an optional parameter that must be one of the values when it is there, else "".
func Enum[T ~string](q *Query, name string, values ...T) T {
	s, ok := q.read(name)
	if !ok {
		return ""
	}
	v, ok := enum.Parse(s, values)
	if !ok {
		q.Problem(name, CodeEnum, alternatives(enum.Names(values)))
	}
	return v
}

// Int returns a parameter that must be a decimal integer from low to high, or the fallback when it is absent or wrong.
func (q *Query) Int(name string, fallback, low, high int) int {
	s, ok := q.read(name)
	if !ok {
		return fallback
	}
	if !isDecimal(s) {
		q.Problem(name, CodeType, "must be an integer")
		return fallback
	}
	n, err := strconv.ParseInt(s, 10, 64) // nothing but the range can be wrong, and then n is the nearest integer
	if err != nil && n > 0 && int64(high) == n {
		q.Problem(name, CodeMax, "must be at most "+strconv.Itoa(high))
		return fallback
	}
	if code, message := checkInt(n, []Rule{Min(int64(low)), Max(int64(high))}); code != "" {
		q.Problem(name, code, message)
		return fallback
	}
	return int(n)
}

// Page returns the parameters page and limit of a list.
func (q *Query) Page(defaultLimit, maxLimit int) (page, limit int) {
	return q.Int("page", 1, 1, MaxPage), q.Int("limit", defaultLimit, 1, maxLimit)
}

// Locale returns the parameter locale; English when it is absent.
func (q *Query) Locale() text.Locale {
	return cmp.Or(Enum(q, "locale", text.Locales...), text.English)
}

// Time returns an RFC 3339 timestamp in UTC, or the zero time when it is absent or wrong.
func (q *Query) Time(name string) time.Time {
	s, ok := q.read(name)
	if !ok {
		return time.Time{}
	}
	t, err := parseTime(s)
	if err != nil {
		q.Problem(name, CodeFormat,
			"must be an RFC 3339 timestamp such as 2026-01-31T09:30:00Z (the + of an offset is sent as %2B)")
		return time.Time{}
	}
	return t.UTC()
}

// timestamp is the grammar of RFC 3339. time.Parse takes less of it (no small letters, no leap second) and more (an
// hour of one digit, a comma before the fraction, an offset of more than a day).
var timestamp = regexp.MustCompile(
	`^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3])(:[0-5]\d:)([0-5]\d|60)(\.\d+)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$`)

// parseTime reads an RFC 3339 timestamp. A leap second, which there is at the end of a UTC day only, is the beginning
// of the next one.
func parseTime(s string) (time.Time, error) {
	m := timestamp.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, errNoTimestamp
	}
	second, leap := m[4], time.Duration(0)
	if second == "60" {
		second, leap = "59", time.Second
	}
	t, err := time.Parse(time.RFC3339Nano, m[1]+"T"+m[2]+m[3]+second+m[5]+strings.ToUpper(m[6]))
	if h, m, _ := t.UTC().Clock(); leap > 0 && (h != 23 || m != 59) {
		return t, errNoTimestamp
	}
	return t.Add(leap), err
}

var errNoTimestamp = errors.New("no RFC 3339 timestamp")

// UUID returns a UUID in lower case, or "" when it is absent or wrong.
func (q *Query) UUID(name string) string {
	s, ok := q.read(name)
	if !ok {
		return ""
	}
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 { // Parse also takes other notations
		q.Problem(name, CodeFormat, "must be a UUID")
		return ""
	}
	return id.String()
}

// Has reports whether the parameter is there.
func (q *Query) Has(name string) bool {
	_, n := q.find(name)
	return n > 0
}

// Problem reports a problem of a parameter.
func (q *Query) Problem(name, code, message string) { q.add(name, code, message) }

// Done returns nil, or one validation fault with every problem in the order of reading.
func (q *Query) Done() error { return q.err() }

// read returns the decoded value of a parameter, and false when it is absent or cannot be used; the latter is reported.
func (q *Query) read(name string) (string, bool) {
	raw, n := q.find(name)
	switch n {
	case 0:
		return "", false
	case 1:
	default:
		q.Problem(name, CodeDuplicate, "must not be given more than once")
		return "", false
	}
	s, err := url.QueryUnescape(raw)
	if err != nil {
		q.Problem(name, CodeFormat, "must be valid percent-encoding")
		return "", false
	}
	if !text.IsStorable(s) {
		q.Problem(name, CodeInvalidCharacter, unstorable)
		return "", false
	}
	return s, true
}

// find returns the undecoded value of the first parameter of the name, and how many there are.
func (q *Query) find(name string) (raw string, n int) {
	for i := range q.parameters {
		if p := &q.parameters[i]; p.name == name {
			if n == 0 {
				raw = p.raw
			}
			n++
		}
	}
	return raw, n
}

// isDecimal reports whether s is an optional minus sign and digits.
func isDecimal(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}
