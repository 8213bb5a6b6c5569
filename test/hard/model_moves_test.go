package hard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

const (
	outcomeEvent = "order-outcome"
	photosEvent  = "update-photos"

	mostOrders = 8 // of a sequence, so that actions meet
)

// Statuses of orders.
const (
	queued       = "queued"
	processing   = "processing"
	updatePhotos = "update-photos"
	completed    = "completed"
	failed       = "error"
)

var (
	deskActors = []string{"$REVIEWER1", "$REVIEWER2", "$ADMIN"}

	// simulated are the states that a Test order can be moved to.
	simulated = []string{queued, processing, updatePhotos, "authentic", "fake", "unable-to-verify", canceled, failed}
)

// moves are the actions of a sequence.
func (m *model) moves() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"Create": m.create, "CreateInPortal": m.createInPortal, "Replay": m.replay, "Cancel": m.cancel,
		"CancelInPortal": m.cancelInPortal, "Next": m.next, "Claim": m.claim, "Release": m.release,
		"RequestPhotos": m.requestPhotos, "Submit": m.submit, "SubmitInPortal": m.submitInPortal, "Complete": m.complete,
		"Fail": m.fail, "AdminCancel": m.adminCancel, "Simulate": m.simulate, "SimulateInPortal": m.simulateInPortal,
		"SetBalance": m.setBalance, "": m.check,
	}
}

func (m *model) pick(rt *rapid.T) *modelOrder {
	if len(m.orders) == 0 {
		rt.Skip("no orders")
	}
	return m.orders[rapid.IntRange(0, len(m.orders)-1).Draw(rt, "order")]
}

// admit notes an order that was created.
func (m *model) admit(o *modelOrder) {
	o.variable = fmt.Sprintf("$O%d", len(m.orders)+1)
	m.orders = append(m.orders, o)
	o.credits -= orderPrice
	o.orders++
}

// enter moves an order to a status, or to completed with an outcome.
func (o *modelOrder) enter(state string) {
	o.status, o.outcome = state, ""
	switch state {
	case queued, processing:
	case updatePhotos:
		o.events[photosEvent]++
		o.round = true
	case failed:
		o.refund()
	case canceled:
		o.refund()
		fallthrough
	default:
		o.status, o.outcome = completed, state
		o.events[outcomeEvent]++
	}
}

// refund gives the price back, once.
func (o *modelOrder) refund() {
	if !o.refunded {
		o.refunded = true
		o.credits += orderPrice
	}
}

func (m *model) create(rt *rapid.T) {
	if len(m.orders) == mostOrders {
		rt.Skip("enough orders")
	}
	o := &modelOrder{side: m.sides[rapid.SampledFrom([]string{"live", "test"}).Draw(rt, "environment")]}
	o.events, o.key = make(map[string]int), fmt.Sprintf("model-%d-%d", m.photos.Add(1), len(m.orders)+1)
	draft := map[string]any{
		"category_code": "bags", "brand_code": "prada", "answer_time": 60,
		"photos": []any{map[string]any{"url": o.photo, "index_code": "overall-picture"}},
	}
	state := queued
	if o.name == "test" {
		state = rapid.SampledFrom(mockOutcomes).Draw(rt, "outcome")
		draft["mock_outcome"] = state
	}
	o.body = jsonBody(draft)
	s := &step{
		who: o.side.key, method: http.MethodPost, path: apiPrefix + "/orders", body: o.body, key: o.key,
		status: http.StatusCreated,
	}
	if o.credits < orderPrice {
		s.status, s.code = http.StatusPaymentRequired, "not-enough-credits"
		m.ask(rt, s)
		return
	}
	o.id = m.idOf(rt, m.ask(rt, s))
	m.admit(o)
	m.assign(o, "| jq -r .id")
	o.enter(state)
}

// assign makes the last request of the script set the variable of an order.
func (m *model) assign(o *modelOrder, filter string) {
	last := &m.script[len(m.script)-1]
	command, comment, _ := strings.Cut(*last, " # ")
	*last = fmt.Sprintf("%s=$(%s %s) # %s", o.variable[1:], command, filter, comment)
}

func (m *model) idOf(rt *rapid.T, a *answer) string {
	var order struct{ ID string }
	if err := json.Unmarshal(a.body, &order); err != nil || order.ID == "" {
		m.wrong(rt, "%v: %s", err, a.body)
	}
	return order.ID
}

func (m *model) createInPortal(rt *rapid.T) {
	if len(m.orders) == mostOrders {
		rt.Skip("enough orders")
	}
	o := &modelOrder{side: m.sides["test"], events: make(map[string]int)}
	state := rapid.SampledFrom(mockOutcomes).Draw(rt, "outcome")
	s := &step{
		who: "$PORTAL", method: http.MethodPost, path: "/portal/test/sandbox", status: http.StatusSeeOther,
		form: url.Values{
			"category": {"bags"}, "brand": {"prada"}, "key": {m.testID}, "outcome": {state}, "answer_time": {"60"},
			"indexes": {"overall-picture"},
		},
	}
	if o.credits < orderPrice {
		s.status = http.StatusUnprocessableEntity
		m.ask(rt, s)
		return
	}
	to, err := url.Parse(m.ask(rt, s).header.Get("Location"))
	if err != nil {
		m.wrong(rt, "%v", err)
	}
	o.id = path.Base(to.Path)
	m.admit(o)
	m.assign(o, `-o /dev/null -w '%{redirect_url}' | sed 's/[?].*//; s/.*\///'`)
	o.enter(state)
}

// replay repeats a creation, or sends another with its key.
func (m *model) replay(rt *rapid.T) {
	o := m.pick(rt)
	if o.key == "" {
		rt.Skip("made in the portal")
	}
	s := &step{
		who: o.side.key, method: http.MethodPost, path: apiPrefix + "/orders", body: o.body, key: o.key,
		status: http.StatusCreated,
	}
	if rapid.Bool().Draw(rt, "other body") {
		s.body = append([]byte(" "), o.body...)
		s.status, s.code = http.StatusBadRequest, "bad-request"
		m.ask(rt, s)
		return
	}
	if got := m.idOf(rt, m.ask(rt, s)); got != o.id {
		m.wrong(rt, "a replay of %s gives %s", o.variable, m.nameOf(got))
	}
}

func (m *model) cancel(rt *rapid.T) {
	o := m.pick(rt)
	s := &step{
		who: o.side.key, method: http.MethodPost, path: apiPrefix + "/orders/" + o.variable + "/cancel",
		status: http.StatusOK,
	}
	if o.status != queued {
		s.status, s.code = http.StatusConflict, "order-not-cancelable"
		m.ask(rt, s)
		return
	}
	m.ask(rt, s)
	o.enter(canceled)
}

// inPortal is a form about an order.
func inPortal(o *modelOrder, action string, form url.Values) *step {
	return &step{
		who: "$PORTAL", method: http.MethodPost, path: "/portal/" + o.name + "/orders/" + o.variable + "/" + action,
		form: form, status: http.StatusSeeOther,
	}
}

func (m *model) cancelInPortal(rt *rapid.T) {
	o := m.pick(rt)
	s := inPortal(o, "cancel", nil)
	if o.status != queued {
		s.status = http.StatusConflict
		m.ask(rt, s)
		return
	}
	m.ask(rt, s)
	o.enter(canceled)
}

func (m *model) next(rt *rapid.T) {
	s := &step{
		who: rapid.SampledFrom(deskActors).Draw(rt, "actor"), method: http.MethodPost, path: deskPrefix + "/orders/next",
		status: http.StatusOK,
	}
	var first *modelOrder // they have the same answer time: the first one that was created is due first
	paused := false       // unless its clock stood still
	waiting := make(map[string]*modelOrder)
	for _, o := range m.orders {
		if o.name == "test" || o.status != queued {
			continue
		}
		if first == nil {
			first = o
		}
		paused = paused || o.round
		waiting[o.id] = o
	}
	if first == nil {
		s.status = http.StatusNoContent
		m.ask(rt, s)
		return
	}
	got := m.idOf(rt, m.ask(rt, s))
	o := waiting[got]
	if o == nil || (o != first && !paused) {
		m.wrong(rt, "next is %s, want %s", m.nameOf(got), first.variable)
	}
	o.enter(processing)
	o.assignee = s.who
}

// desk makes a move at the desk that only the assignee or an administrator may make, and only in processing.
func (m *model) desk(rt *rapid.T, name string, body any) (o *modelOrder, who string, done bool) {
	o = m.pick(rt)
	s := &step{
		who: rapid.SampledFrom(deskActors).Draw(rt, "actor"), method: http.MethodPost,
		path: deskPrefix + "/orders/" + o.variable + "/" + name, status: http.StatusOK,
	}
	switch {
	case o.name == "test" || o.status != processing:
		s.status, s.code = http.StatusConflict, "invalid-transition"
	case o.assignee != s.who && s.who != "$ADMIN":
		s.status, s.code = http.StatusConflict, "order-claimed"
	}
	if body != nil {
		s.body = jsonBody(body)
	}
	m.ask(rt, s)
	return o, s.who, s.code == ""
}

func (m *model) claim(rt *rapid.T) {
	o := m.pick(rt)
	s := &step{
		who: rapid.SampledFrom(deskActors).Draw(rt, "actor"), method: http.MethodPost,
		path: deskPrefix + "/orders/" + o.variable + "/claim", status: http.StatusOK,
	}
	switch {
	case o.name == "test" || (o.status != queued && o.status != processing):
		s.status, s.code = http.StatusConflict, "invalid-transition"
	case o.status == processing && o.assignee != s.who:
		s.status, s.code = http.StatusConflict, "order-claimed"
	default:
		o.status, o.assignee = processing, s.who
	}
	m.ask(rt, s)
}

func (m *model) release(rt *rapid.T) {
	if o, _, done := m.desk(rt, "release", nil); done {
		o.enter(queued)
		o.assignee = ""
	}
}

func (m *model) requestPhotos(rt *rapid.T) {
	body := map[string]any{"photos": []any{map[string]any{"index_code": "logo", "max_photos": 1}}}
	if o, who, done := m.desk(rt, "request_photos", body); done {
		o.enter(updatePhotos)
		o.assignee = who // gets it back
	}
}

func (m *model) complete(rt *rapid.T) {
	outcome := rapid.SampledFrom(mockOutcomes[:3]).Draw(rt, "outcome")
	body := map[string]any{"outcome": outcome}
	if outcome == "fake" {
		body["reason_codes"], body["index_codes"] = []string{"logo-misaligned"}, []string{"overall-picture"}
	}
	if o, _, done := m.desk(rt, "complete", body); done {
		o.enter(outcome)
	}
}

func (m *model) fail(rt *rapid.T) {
	if o, _, done := m.desk(rt, "fail", map[string]any{"note": "model"}); done {
		o.enter(failed)
	}
}

func (m *model) adminCancel(rt *rapid.T) {
	o := m.pick(rt)
	s := &step{
		who: rapid.SampledFrom(deskActors).Draw(rt, "actor"), method: http.MethodPost,
		path: deskPrefix + "/orders/" + o.variable + "/cancel", body: jsonBody(map[string]any{"note": "model"}),
		status: http.StatusOK,
	}
	switch {
	case s.who != "$ADMIN":
		s.status, s.code = http.StatusForbidden, "forbidden"
	case o.name == "test" || o.status == completed || o.status == failed:
		s.status, s.code = http.StatusConflict, "invalid-transition"
	}
	m.ask(rt, s)
	if s.code == "" {
		o.enter(canceled)
	}
}

// requested returns the indexes that an order waits for.
func (m *model) requested(rt *rapid.T, o *modelOrder) []string {
	var order struct {
		Photos []struct {
			IndexCode string `json:"index_code"`
		} `json:"photos_to_resubmit"`
	}
	m.get(rt, o.side, "/orders/"+o.variable, &order)
	var codes []string
	for _, photo := range order.Photos {
		codes = append(codes, photo.IndexCode)
	}
	if len(codes) == 0 {
		m.wrong(rt, "%s waits for no photos", o.variable)
	}
	return codes
}

// answered moves an order whose photo request was answered.
func (o *modelOrder) answered(note string, provided bool) {
	state, named := strings.CutPrefix(note, "mock_outcome=")
	switch {
	case o.name == "live":
		state = processing // back to who asked
	case named:
	case provided:
		state = "authentic"
	default:
		state = "unable-to-verify"
	}
	o.enter(state)
}

func drawNote(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"", "a note", "mock_outcome=fake", "mock_outcome=update-photos"}).Draw(rt, "note")
}

func (m *model) submit(rt *rapid.T) {
	o := m.pick(rt)
	note, provided := drawNote(rt), rapid.Bool().Draw(rt, "provided")
	codes := []string{"logo"}
	s := &step{
		who: o.side.key, method: http.MethodPost, path: apiPrefix + "/orders/" + o.variable + "/update_photos",
		status: http.StatusAccepted,
	}
	if o.status == updatePhotos {
		codes = m.requested(rt, o)
	} else {
		s.status, s.code = http.StatusConflict, "order-not-awaiting-update-photos"
	}
	var photos []any
	for _, code := range codes {
		entry := map[string]any{"index_code": code}
		if provided {
			entry["url"] = o.photo
		} else {
			entry["is_unable_to_provide"] = true
		}
		photos = append(photos, entry)
	}
	s.body = jsonBody(map[string]any{"photos": photos, "note": note})
	m.ask(rt, s)
	if s.code == "" {
		o.answered(note, provided)
	}
}

func (m *model) submitInPortal(rt *rapid.T) {
	o := m.pick(rt)
	note := drawNote(rt)
	s := inPortal(o, "photos", url.Values{"note": {note}})
	s.parts = true
	if o.status != updatePhotos {
		s.status = http.StatusConflict
		m.ask(rt, s)
		return
	}
	for _, code := range m.requested(rt, o) {
		s.form.Set("unable."+code, "1")
	}
	m.ask(rt, s)
	o.answered(note, false)
}

func (m *model) simulate(rt *rapid.T) {
	o, state := m.pick(rt), rapid.SampledFrom(simulated).Draw(rt, "state")
	s := &step{
		who: o.side.key, method: http.MethodPost, path: apiPrefix + "/orders/" + o.variable + "/simulate",
		body: jsonBody(map[string]any{"state": state}), status: http.StatusOK,
	}
	if o.name == "live" {
		s.status, s.code = http.StatusConflict, "not-a-test-order"
		m.ask(rt, s)
		return
	}
	m.ask(rt, s)
	o.enter(state)
}

func (m *model) simulateInPortal(rt *rapid.T) {
	o, state := m.pick(rt), rapid.SampledFrom(simulated).Draw(rt, "state")
	if o.name == "live" {
		rt.Skip("there is no sandbox in Live")
	}
	m.ask(rt, inPortal(o, "state", url.Values{"state": {state}}))
	o.enter(state)
}

// setBalance sets the Test balance, often so low that orders cannot be paid.
func (m *model) setBalance(rt *rapid.T) {
	m.setTestBalance(rt, rapid.SampledFrom([]int{0, orderPrice - 1, orderPrice, 1000}).Draw(rt, "credits"))
}

func (m *model) setTestBalance(rt *rapid.T, credits int) {
	m.ask(rt, &step{
		who: "$PORTAL", method: http.MethodPost, path: "/portal/test/balance", status: http.StatusSeeOther,
		form: url.Values{"credits": {strconv.Itoa(credits)}},
	})
	m.sides["test"].credits = credits
}
