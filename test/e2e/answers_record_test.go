package e2e_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/assayhq/assay/api/apitest"
)

// separator starts every exchange in a golden file.
const separator = "=== "

// longestShown is how many bytes of a request the recording shows. Answers are never shortened.
const longestShown = 500

// caller is who sends a request, by the name that the recording shows.
type caller struct{ name, token string }

var nobody = caller{name: "nobody"}

// recorder is the installation whose answers are recorded.
type recorder struct {
	t        *testing.T
	site     *site
	client   *http.Client
	receiver *receiver
	chapters map[string]*chapter

	integration, desk *apitest.Validator
	world
}

// chapter is the content of one golden file. Placeholders are numbered within it, so that a change in one chapter
// leaves the others as they are.
type chapter struct {
	*recorder
	text    strings.Builder
	numbers map[string]int    // the last number of each kind of placeholder
	known   map[string]string // placeholders by what they stand for
}

func (r *recorder) chapter(name string) *chapter {
	c := r.chapters[name]
	if c == nil {
		c = &chapter{recorder: r, numbers: make(map[string]int), known: make(map[string]string)}
		r.chapters[name] = c
	}
	return c
}

// get sends a request without a body.
func (c *chapter) get(label string, as caller, path string, headers ...string) *answer {
	c.t.Helper()
	return c.send(label, as, http.MethodGet, path, "", headers...)
}

// post sends a JSON body.
func (c *chapter) post(label string, as caller, path, body string, headers ...string) *answer {
	c.t.Helper()
	return c.send(label, as, http.MethodPost, path, body, headers...)
}

// send sends a request to the public listener and records the exchange. Headers are pairs of name and value.
func (c *chapter) send(label string, as caller, method, path, body string, headers ...string) *answer {
	c.t.Helper()
	return c.exchange(label, as, c.request(as, method, c.site.URL(path), body, headers...), body)
}

func (r *recorder) request(as caller, method, url, body string, headers ...string) *http.Request {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body == "" {
		request.Body = http.NoBody
	}
	request.Header.Set("User-Agent", "answers/1.0")
	if as.token != "" {
		request.Header.Set("Authorization", "Bearer "+as.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return request
}

// exchange sends a request and records it with its answer; shown is what the recording tells of the request's body.
func (c *chapter) exchange(label string, as caller, request *http.Request, shown string) *answer {
	c.t.Helper()
	got := send(c.t, c.client, request)
	c.title(label)
	c.line(request.Method, " ", request.URL.RequestURI(), " as ", as.name)
	for _, name := range slices.Sorted(maps.Keys(request.Header)) {
		if name != "User-Agent" && name != "Authorization" {
			c.line("> ", name, ": ", request.Header.Get(name))
		}
	}
	if shown != "" {
		if len(shown) > longestShown {
			shown = fmt.Sprintf("%s… (%d bytes)", shown[:longestShown], len(shown))
		}
		c.line("> ", strings.ToValidUTF8(shown, "\uFFFD"))
	}
	c.line(strconv.Itoa(got.StatusCode))
	if got.Header.Get("ETag") != "" && currentTime.Match(got.body) {
		got.Header.Set("ETag", "<hash of a time>")
	}
	c.header(got.Header)
	if len(got.TransferEncoding) > 0 {
		c.line("Transfer-Encoding: ", strings.Join(got.TransferEncoding, ", "))
	}
	c.line()
	// The id of the request is in the header and in the body; the recording shows that it is the same.
	body := string(got.body)
	if id := got.Header.Get("X-Request-Id"); id != "" {
		body = strings.ReplaceAll(body, id, "<request-id>")
	}
	if !utf8.ValidString(body) {
		body = fmt.Sprintf("<%d bytes, SHA-256 %x>", len(body), sha256.Sum256(got.body))
	}
	c.line(body)
	return got
}

// command runs a command and records what it printed and how it ended.
func (c *chapter) command(arguments ...string) string {
	c.t.Helper()
	got := c.site.Installation().Run(c.t, append(slices.Clone(arguments), "--json")...)
	c.title("assay ", strings.Join(arguments, " "), " --json")
	c.line("exit code ", strconv.Itoa(got.ExitCode))
	c.line(got.Stdout)
	if got.ExitCode != 0 && got.Stderr == "" {
		c.t.Errorf("assay %v failed without a word", arguments)
	}
	return got.Stdout
}

func (c *chapter) title(parts ...string) {
	if c.text.Len() > 0 {
		c.text.WriteString("\n")
	}
	c.line(append([]string{separator}, parts...)...)
}

func (c *chapter) line(parts ...string) {
	c.text.WriteString(c.normalise(strings.Join(parts, "")))
	c.text.WriteString("\n")
}

// header records headers in the order of their names.
func (c *chapter) header(header http.Header) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			switch name {
			case "Date":
				continue
			case "X-Request-Id":
				value = "<request-id>"
			case "X-Ratelimit-Remaining", "Retry-After", "X-Lg-Timestamp":
				value = digits.ReplaceAllString(value, "<number>")
			case "Last-Modified":
				value = httpDate.ReplaceAllString(value, "<http-date>")
			case "X-Lg-Signature":
				value = signature.ReplaceAllString(value, "v1=<signature>")
			}
			c.line(name, ": ", value)
		}
	}
}

// The patterns match the exact form only: a time without milliseconds or an id in capitals shows up as a difference.
var (
	digits    = regexp.MustCompile(`^\d+$`)
	httpDate  = regexp.MustCompile(`^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$`)
	signature = regexp.MustCompile(`^v1=[0-9a-f]{64}$`)

	// Times before 2020 are sent by the test.
	currentTime = regexp.MustCompile(`\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	issueTime   = regexp.MustCompile(`("issued_at": ")20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)
	secrets     = regexp.MustCompile(`"(password|token|signing_secret|signature|hint|version|commit)":( ?)"[^"]+"`)
	resetToken  = regexp.MustCompile(`\?token=[0-9A-Za-z_-]+`)
	captureLink = regexp.MustCompile(`/capture/[0-9A-Za-z_-]{43}`)
	counts      = regexp.MustCompile(`"(duration_ms|retry_after_seconds|remaining)":( ?)\d+`)
	userAgent   = regexp.MustCompile(`Assay-Webhooks/\S+`)
	keyToken    = regexp.MustCompile(`\bassay_(test|live)_[0-9A-Za-z]+`)

	// The keys of certificates are random.
	publicKey = regexp.MustCompile(`("(?:x|kid|key_id)": ")[0-9A-Za-z_-]{43}"`)

	// What could not be checked depends on the database engine.
	checkNotes = regexp.MustCompile(`"notes":\["[^]]*"\],`)

	numbered = []struct {
		kind    string
		pattern *regexp.Regexp
	}{
		{"id", regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)},
		{"order-number", regexp.MustCompile(`\bAS-[0-9A-Z]{8}\b`)},
		{"name", regexp.MustCompile(`\b[a-z2-7]{32}\b`)}, // of photos and certificates
	}
)

// normalise replaces what differs in every run. Equal values of a chapter get equal placeholders.
func (c *chapter) normalise(text string) string {
	text = strings.ReplaceAll(text, c.receiver.server.Listener.Addr().String(), "receiver")
	text = currentTime.ReplaceAllString(text, "<time>")
	text = issueTime.ReplaceAllString(text, `$1<second>"`)
	text = secrets.ReplaceAllString(text, `"$1":$2"<$1>"`)
	text = publicKey.ReplaceAllString(text, `$1<public-key>"`)
	text = checkNotes.ReplaceAllString(text, "")
	text = counts.ReplaceAllString(text, `"$1":$2<number>`)
	text = resetToken.ReplaceAllString(text, "?token=<token>")
	text = captureLink.ReplaceAllString(text, "/capture/<token>")
	text = userAgent.ReplaceAllString(text, "Assay-Webhooks/<version>")
	text = keyToken.ReplaceAllString(text, "assay_${1}_<key>")
	for _, n := range numbered {
		text = n.pattern.ReplaceAllStringFunc(text, func(value string) string {
			if c.known[value] == "" {
				c.numbers[n.kind]++
				c.known[value] = fmt.Sprintf("<%s-%d>", n.kind, c.numbers[n.kind])
			}
			return c.known[value]
		})
	}
	return text
}

// property returns a string property of a JSON object, which must be there.
func (r *recorder) property(object []byte, name string) string {
	r.t.Helper()
	var properties map[string]any
	if err := json.Unmarshal(object, &properties); err != nil {
		r.t.Fatalf("not a JSON object: %v\n%s", err, object)
	}
	value, ok := properties[name].(string)
	if !ok {
		r.t.Fatalf("no property %s in %s", name, object)
	}
	return value
}
