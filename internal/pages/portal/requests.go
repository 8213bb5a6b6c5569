package portal

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/pages/ui"
)

type requestsView struct {
	place
	Form     *ui.Form
	Classes  []ui.Option
	Routes   []ui.Option
	Keys     []ui.Option
	Rows     []requestView
	Older    string
	Newest   string
	Filtered bool
	Off      bool // nothing is recorded
	Partial  bool // fewer than a page: the search went far enough for one page
}

// requestView is a request with the name of its key.
type requestView struct {
	*requestlog.Entry
	Key     *access.Key // nil: it is not known
	Refused *requestlog.Refusal
}

// Tone is the colour of the answer's status.
func (v requestView) Tone() ui.Tone {
	switch v.Status / 100 {
	case 2, 3:
		return ui.Good
	case 4:
		return ui.Warn
	}
	return ui.Bad
}

// requestFilters are the parameters of the list.
var requestFilters = []string{"class", "code", "route", "key", "order", "from", "to"}

func (p *Portal) showRequests(w http.ResponseWriter, r *http.Request, who *visitor) error {
	q, actor := r.URL.Query(), who.actor()
	if find := strings.TrimSpace(q.Get("find")); find != "" {
		return p.findRequest(w, r, who, find)
	}
	v := &requestsView{place: p.place(r, who, "/requests"), Form: ui.NewForm(), Off: p.NoRequestLog}
	rest := url.Values{}
	for _, name := range requestFilters {
		if value := strings.TrimSpace(q.Get(name)); value != "" {
			v.Form.Values.Set(name, value)
			rest.Set(name, value)
		}
	}
	v.Filtered = len(rest) > 0
	f := requestlog.Filter{
		Tenant: actor.Tenant, Code: rest.Get("code"), Route: rest.Get("route"), KeyID: rest.Get("key"),
		Order: rest.Get("order"),
	}
	if class := rest.Get("class"); len(class) == 1 && class[0] > '0' && class[0] < '6' {
		f.Class = int(class[0] - '0')
	}
	f.Since, f.Until = dayRange(rest)
	f.Before, _ = uuid.Parse(q.Get("before"))
	keys, err := p.keysByID(r, who)
	if err != nil {
		return err
	}
	found, more, err := p.Service.Requests(r.Context(), actor, f, pageSize)
	if err != nil {
		return err
	}
	for _, e := range found {
		v.Rows = append(v.Rows, requestView{Entry: e, Key: keys[e.KeyID]})
	}
	if f.Before != uuid.Nil {
		v.Newest = r.URL.Path + "?" + rest.Encode()
	}
	if more != uuid.Nil {
		rest.Set("before", more.String())
		v.Older, v.Partial = r.URL.Path+"?"+rest.Encode(), len(found) < pageSize
	}
	p.requestOptions(r, v, keys)
	return p.pages.Render(w, r, ui.Page{Template: "requests", Data: v})
}

func dayRange(values url.Values) (from, to time.Time) {
	since, until := ui.DayRange(values.Get)
	if since != nil {
		from = *since
	}
	if until != nil {
		to = *until
	}
	return from, to
}

// requestOptions fills what the filters offer.
func (p *Portal) requestOptions(r *http.Request, v *requestsView, keys map[string]*access.Key) {
	v.Classes = ui.Words(p.Site, r, "portal.requests.class_", []string{"2", "4", "5"}, p.anything(r))
	v.Routes = ui.Options(p.Operations, func(route string) ui.Option {
		return ui.Option{Value: route, Label: strings.Replace(route, " /v1/integrations", " ", 1)}
	}, p.anything(r))
	v.Keys = []ui.Option{p.anything(r)}
	for _, k := range keys {
		if k.Environment == v.Env {
			v.Keys = append(v.Keys, keyOption(k))
		}
	}
	slices.SortFunc(v.Keys[1:], func(a, b ui.Option) int { return strings.Compare(a.Label, b.Label) })
}

func (p *Portal) keysByID(r *http.Request, who *visitor) (map[string]*access.Key, error) {
	keys, err := p.Service.Keys(r.Context(), actorOf(who), who.User.AccountID)
	byID := make(map[string]*access.Key, len(keys))
	for _, k := range keys {
		byID[k.ID] = k
	}
	return byID, err
}

// findRequest leads to the request with an id, or to the requests of the orders with it.
func (p *Portal) findRequest(w http.ResponseWriter, r *http.Request, who *visitor, find string) error {
	e, err := p.Service.Request(r.Context(), actorOf(who), find)
	if err == nil {
		return p.Site.Redirect(w, r, requestPath(e))
	}
	if !errors.Is(err, requestlog.NotFound) {
		return err
	}
	to := url.Values{"order": {find}}
	return p.Site.Redirect(w, r, who.base()+"/requests?"+to.Encode())
}

func requestPath(e *requestlog.Entry) string {
	return home + "/" + string(e.Environment) + "/requests/" + e.ID.String()
}

// goToRequest leads to a request in its environment: for links that know its id only.
func (p *Portal) goToRequest(w http.ResponseWriter, r *http.Request, who *visitor) error {
	e, err := p.Service.Request(r.Context(), actorOf(who), r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.Site.Redirect(w, r, requestPath(e))
}

type requestPage struct {
	place
	requestView
	Problems []fault.Problem
	Details  string // the others, as JSON
}

func (p *Portal) showRequest(w http.ResponseWriter, r *http.Request, who *visitor) error {
	e, err := p.Service.Request(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	keys, err := p.keysByID(r, who)
	if err != nil {
		return err
	}
	v := requestPage{
		place: p.place(r, who, "/requests"), requestView: requestView{Entry: e, Key: keys[e.KeyID]},
	}
	v.explain()
	return p.pages.Render(w, r, ui.Page{Template: "request", Data: v})
}

// explain reads what the caller was told.
func (v *requestPage) explain() {
	told := new(requestlog.Refusal)
	if v.Refusal == "" || json.Unmarshal([]byte(v.Refusal), told) != nil {
		return
	}
	v.Refused = told
	if list, err := json.Marshal(told.Details["errors"]); err == nil && json.Unmarshal(list, &v.Problems) == nil {
		delete(told.Details, "errors")
	}
	if len(told.Details) == 0 {
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(told.Details) == nil {
		v.Details = strings.TrimSpace(b.String())
	}
}
