package hard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/redistest"
)

// model is what an installation should be after some requests of several actors: as simple as it can be told.
type model struct {
	*site
	portal string        // the cookie of the account's owner
	limits *redis.Client // where the portal counts what the owner does; nil: in the server
	sides  map[string]*side
	orders []*modelOrder
	script []string // the actions as a shell script
	asked  int      // requests

	failing *bool // something was wrong
}

// side is an environment of the account.
type side struct {
	name    string // as in addresses of the portal
	key     string // its name in the script
	secret  string
	photo   string
	credits int
	orders  int    // that the list counts
	cursor  string // of the last event before the sequence
}

type modelOrder struct {
	*side
	variable string // its name in the script
	id       string
	status   string
	outcome  string
	assignee string // the name of who has claimed it
	round    bool   // its clock stood still for a while
	refunded bool
	events   map[string]int
	key      string // Idempotency-Key; empty: it was made in the portal
	body     []byte
}

// step is a request with the answer that it should get.
type step struct {
	who    string // $LIVE, $TEST, $PORTAL or somebody of the desk
	method string
	path   string // orders by their variables
	body   []byte // JSON
	form   url.Values
	parts  bool   // the form is a multipart one
	key    string // Idempotency-Key
	status int
	code   string // of a refusal
}

const modelBudget = 4 * time.Minute // of the long form

const preamble = `# SERVER: its address. LIVE, TEST: API keys of an account.
# LIVE_PHOTO, TEST_PHOTO: URLs from POST /photos with each.
# REVIEWER1, REVIEWER2, ADMIN: desk tokens. PORTAL: "assay_portal=…", the cookie of the account's owner.
# TEST_KEY: the id of the key TEST. RUN: something new. The number behind a request is the status that is expected.
`

// TestModel makes random requests of clients, the account's owner in the portal, reviewers and an administrator, and
// holds every answer against the model. A failure is shrunk, and printed as a script of curl.
func TestModel(t *testing.T) {
	_, seed := newRandom(t)
	set(t, "rapid.checks", strconv.Itoa(pick(15, 2000)))
	set(t, "rapid.steps", "20")
	set(t, "rapid.seed", strconv.FormatUint(seed, 10))
	set(t, "rapid.nofailfile", "true")
	engines(t, func(t *testing.T, engine string, settings program.Settings) {
		if isHard() {
			t.Parallel()
		}
		var limits *redis.Client
		if isHard() { // the owner does more than a person may in a minute
			server := redistest.Start(t)
			settings["redis"], limits = server.URL(), server.Client(t)
		}
		s, _ := startLoaded(t, settings)
		n := s.nodes[0]
		sides := map[string]*side{
			"live": {name: "live", key: "$LIVE", secret: s.live, photo: s.upload(t.Context(), n, s.live)},
			"test": {name: "test", key: "$TEST", secret: s.test, photo: s.upload(t.Context(), n, s.test)},
		}
		portal := s.signIn(t)
		began, requests, sequences := time.Now(), 0, 0
		failing := false // then it is shrunk, however long that takes
		rapid.Check(t, func(rt *rapid.T) {
			if !failing && isHard() && time.Since(began) > modelBudget {
				return
			}
			m := &model{site: s, sides: sides, portal: portal, limits: limits, failing: &failing}
			m.begin(rt)
			defer m.cancelAll(rt)
			rt.Repeat(m.moves())
			m.checkEvents(rt)
			requests, sequences = requests+m.asked, sequences+1
		})
		figure(t, "Model, "+engine,
			fmt.Sprintf("%d random sequences of actions of clients, the owner in the portal, reviewers and an administrator",
				sequences),
			fmt.Sprintf("%d requests in %s, every answer, balance, list and event as the model says", requests,
				time.Since(began).Round(time.Second)))
	})
}

// set sets a flag of rapid for this test.
func set(t *testing.T, name, value string) {
	t.Helper()
	old := flag.Lookup(name).Value.String()
	must.NoError(t, flag.Set(name, value))
	t.Cleanup(func() { must.NoError(t, flag.Set(name, old)) })
}

// signIn signs the owner in to the portal and returns the cookie.
func (s *site) signIn(t *testing.T) string {
	t.Helper()
	a := s.nodes[0].send(t.Context(), &request{
		method: http.MethodPost, path: "/portal/sign-in", contentType: "application/x-www-form-urlencoded",
		body: []byte(url.Values{"email": {owner}, "password": {s.password}}.Encode()),
	})
	for _, line := range a.header.Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil && c.Name == "assay_portal" {
			return c.Name + "=" + c.Value
		}
	}
	t.Fatalf("nobody is signed in: %s", a)
	return ""
}

var variable = regexp.MustCompile(`\$O[0-9]+`)

// ask makes a request and checks status and code of the answer.
func (m *model) ask(rt *rapid.T, s *step) *answer {
	rt.Helper()
	m.asked++
	if s.method != http.MethodGet { // what is read to compare is not what leads to a failure
		m.script = append(m.script, m.line(s))
	}
	r := &request{method: s.method, body: s.body, idempotencyKey: s.key}
	r.path = variable.ReplaceAllStringFunc(s.path, func(name string) string {
		n, _ := strconv.Atoi(name[len("$O"):])
		return m.orders[n-1].id
	})
	switch s.who {
	case "$PORTAL":
		r.cookie = m.portal
		r.body, r.contentType = encode(s.form, s.parts)
	case "$LIVE", "$TEST":
		r.token = m.sides[strings.ToLower(s.who[1:])].secret
	default:
		r.token = map[string]string{"$REVIEWER1": m.reviewers[0], "$REVIEWER2": m.reviewers[1], "$ADMIN": m.admin}[s.who]
	}
	a := m.nodes[0].send(context.Background(), r)
	var refusal struct{ Code string }
	if s.who != "$PORTAL" && a.status >= http.StatusBadRequest {
		_ = json.Unmarshal(a.body, &refusal) // what is no refusal has no code
	}
	if a.status != s.status || refusal.Code != s.code {
		m.wrong(rt, "got %d %s, want %d %s", a.status, refusal.Code, s.status, s.code)
	}
	return a
}

// nameOf returns the variable of an order.
func (m *model) nameOf(id string) string {
	for _, o := range m.orders {
		if o.id == id {
			return o.variable
		}
	}
	return "an order that the model does not know"
}

// encode returns a form as browsers send it.
func encode(form url.Values, parts bool) (body []byte, contentType string) {
	if !parts {
		return []byte(form.Encode()), "application/x-www-form-urlencoded"
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range ids(form) {
		if err := w.WriteField(name, form.Get(name)); err != nil {
			panic(err) // a buffer
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// line is the request in the script.
func (m *model) line(s *step) string {
	text := fmt.Sprintf("curl -sS -X %s \"$SERVER%s\"", s.method, s.path)
	if s.who == "$PORTAL" {
		text += ` -b "$PORTAL"`
		for _, name := range ids(s.form) {
			option := "--data-urlencode"
			if s.parts {
				option = "-F"
			}
			value := strings.ReplaceAll(s.form.Get(name), m.testID, "$TEST_KEY")
			text += fmt.Sprintf(" %s \"%s=%s\"", option, name, value)
		}
	} else {
		text += ` -H "Authorization: Bearer ` + s.who + `"`
	}
	if s.key != "" {
		text += ` -H "Idempotency-Key: $RUN-` + s.key[strings.LastIndex(s.key, "-")+1:] + `"`
	}
	if s.body != nil {
		body := string(s.body)
		for _, side := range m.sides {
			body = strings.ReplaceAll(body, side.photo, `'"`+side.key+`_PHOTO"'`)
		}
		text += " -d '" + body + "'"
	}
	return strings.TrimSpace(fmt.Sprintf("%s # %d %s", text, s.status, s.code))
}

// wrong ends the sequence with what is not as the model says, and the script. The same actions give the same message,
// without ids and times: rapid shrinks no others.
func (m *model) wrong(rt *rapid.T, format string, arguments ...any) {
	rt.Helper()
	*m.failing = true
	rt.Fatalf("%s, after\n%s%s\n", fmt.Sprintf(format, arguments...), preamble, strings.Join(m.script, "\n"))
}

// begin notes what is there before the first action. A sequence depends on nothing that others have left, or it could
// not be shrunk.
func (m *model) begin(rt *rapid.T) {
	if m.limits != nil {
		if err := m.limits.FlushDB(rt.Context()).Err(); err != nil {
			rt.Fatal(err)
		}
	}
	m.setTestBalance(rt, 1000)
	for _, side := range m.sides {
		side.credits = m.available(rt, side)
		side.orders = m.counted(rt, side)
		for more := true; more; {
			more = len(m.feed(rt, side, true)) > 0
		}
	}
}

func (m *model) get(rt *rapid.T, side *side, path string, to any) {
	a := m.ask(rt, &step{who: side.key, method: http.MethodGet, path: apiPrefix + path, status: http.StatusOK})
	if err := json.Unmarshal(a.body, to); err != nil {
		m.wrong(rt, "%v: %s", err, a.body)
	}
}

func (m *model) available(rt *rapid.T, side *side) int {
	var balance struct{ AvailableCredits int }
	m.get(rt, side, "/balance", &balance)
	return balance.AvailableCredits
}

func (m *model) counted(rt *rapid.T, side *side) int {
	var list struct{ Total int }
	m.get(rt, side, "/orders?limit=1", &list)
	return list.Total
}

type modelEvent struct {
	Event string `json:"webhook_event"`
	Body  struct{ ID string }
}

// feed returns the next events after the cursor of an environment, and moves the cursor where it is to.
func (m *model) feed(rt *rapid.T, side *side, move bool) []modelEvent {
	path := "/events?limit=100"
	if side.cursor != "" {
		path += "&after=" + url.QueryEscape(side.cursor)
	}
	var page struct {
		Data []modelEvent
		Next string `json:"next_cursor"`
	}
	m.get(rt, side, path, &page)
	if move {
		side.cursor = page.Next
	}
	return page.Data
}

// check compares one order, a balance and a list with the model.
func (m *model) check(rt *rapid.T) {
	if len(m.orders) > 0 {
		o := m.pick(rt)
		var got struct{ Status, Outcome string }
		m.get(rt, o.side, "/orders/"+o.variable, &got)
		if got.Status != o.status || got.Outcome != o.outcome {
			m.wrong(rt, "%s is %s %s, want %s %s", o.variable, got.Status, got.Outcome, o.status, o.outcome)
		}
	}
	side := m.sides[rapid.SampledFrom([]string{"live", "test"}).Draw(rt, "side")]
	if got := m.available(rt, side); got != side.credits {
		m.wrong(rt, "the balance of %s is off by %d", side.name, got-side.credits)
	}
	if got := m.counted(rt, side); got != side.orders {
		m.wrong(rt, "the number of orders in %s is off by %d", side.name, got-side.orders)
	}
}

// checkEvents waits until the feed has the events of all moves, and checks that it has no others. A committed event
// appears once no older one can.
func (m *model) checkEvents(rt *rapid.T) {
	for _, name := range ids(m.sides) {
		missing := ""
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			got := make(map[string]int)
			for _, e := range m.feed(rt, m.sides[name], false) {
				got[e.Body.ID+" "+e.Event]++
			}
			missing = ""
			for _, o := range m.orders {
				for _, event := range []string{outcomeEvent, photosEvent} {
					n := got[o.id+" "+event]
					if o.name != name || n == o.events[event] {
						continue
					}
					missing = fmt.Sprintf("%s has %d events %s, want %d", o.variable, n, event, o.events[event])
					if n > o.events[event] {
						m.wrong(rt, "%s", missing)
					}
				}
			}
			if missing == "" {
				break
			}
			if time.Now().After(deadline) {
				m.wrong(rt, "%s", missing)
			}
		}
	}
}

// cancelAll leaves no open order to the next sequence.
func (m *model) cancelAll(rt *rapid.T) {
	for _, o := range m.orders {
		if o.name == "test" { // the desk does not see it
			continue
		}
		a := m.nodes[0].send(context.Background(), &request{
			method: http.MethodPost, path: deskPrefix + "/orders/" + o.id + "/cancel", token: m.admin, body: []byte("{}"),
		})
		if !a.done() && a.status != http.StatusConflict {
			rt.Errorf("cancel %s: %s", o.id, a)
		}
	}
}
