package integration

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/httpx"
)

const (
	maxRefusal  = 4 << 10 // of what is kept of a refusal, in bytes of JSON
	maxProblems = 20
	maxRef      = 200
)

// record hands an answered request to the request log. A request without a valid key belongs to no account.
func (a *API) record(rec *httpx.Recorder, r *http.Request, c *call) {
	answered := httpx.AnsweredFrom(r.Context())
	if c.key == nil || answered.ID == uuid.Nil {
		return
	}
	e := requestlog.Entry{
		ID: answered.ID, Tenant: c.key.Tenant, KeyID: c.key.ID, Method: r.Method, Route: answered.Route, Ref: c.id,
		OrderID: c.orderID, Status: rec.Status(), Duration: time.Since(answered.Began),
	}
	switch {
	case e.Route == "":
		e.Ref = httpx.LoggedPath(r)
	case e.OrderID != "": // it tells more than what stood for it
		e.Ref = ""
	}
	if len(e.Ref) > 0 {
		e.Ref = clip(strings.ToValidUTF8(e.Ref, "\uFFFD"), maxRef)
	}
	if f := answered.Fault; f != nil {
		e.Code, e.Refusal = f.Code, refusal(f)
	}
	if e.Status == 0 { // a panic, which is answered farther out
		e.Status, e.Code = http.StatusInternalServerError, fault.CodeInternal
	}
	a.Requests.Add(e)
}

// refusal returns what the caller was told, as far as it is kept.
func refusal(f *fault.Error) string {
	told := requestlog.Refusal{Message: f.Message, Details: f.Details}
	if problems := fault.ProblemsOf(f); len(problems) > maxProblems {
		told.Details = f.With("errors", problems[:maxProblems]).Details
	}
	b, err := json.Marshal(told)
	if err != nil || len(b) > maxRefusal {
		b, err = json.Marshal(requestlog.Refusal{Message: clip(f.Message, maxRefusal/8)})
	}
	if err != nil {
		return ""
	}
	return string(b)
}

// clip returns at most n bytes of a text, without a part of a character at the end.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
