package portal

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/pages/ui"
)

type auditView struct {
	Form     *ui.Form
	Codes    []ui.Option
	Actors   []ui.Option
	Events   []*audit.Event
	Labels   map[audit.Code]string
	Total    int64
	Older    string
	Newest   string
	Export   string
	Filtered bool
	Curl     string
}

// auditFilter reads the filter of an address. What is no value of it does not filter.
func auditFilter(q url.Values) audit.Filter {
	var f audit.Filter
	if c := audit.Code(q.Get("code")); slices.Contains(audit.Codes, c) {
		f.Code = c
	}
	f.ActorID, _ = parseID(q.Get("actor"))
	f.From, f.To = ui.DayRange(q.Get)
	return f
}

func (p *Portal) showAudit(w http.ResponseWriter, r *http.Request, who *visitor) error {
	q := r.URL.Query()
	f := auditFilter(q)
	seq, _ := strconv.ParseInt(q.Get("below"), 10, 64)
	events, total, err := p.Service.AuditEvents(r.Context(), actorOf(who), f, max(0, seq-1), pageSize+1)
	if err != nil {
		return err
	}
	v := auditView{
		Form:   ui.NewForm("code", q.Get("code"), "actor", q.Get("actor"), "from", q.Get("from"), "to", q.Get("to")),
		Events: events, Total: total,
		Filtered: f != audit.Filter{}, Labels: p.codeLabels(r), Curl: p.curl("/audit/events?page=1&limit=50"),
	}
	rest := url.Values{}
	for _, name := range []string{"code", "actor", "from", "to"} {
		if value := q.Get(name); value != "" {
			rest.Set(name, value)
		}
	}
	v.Export = "/portal/audit.csv?" + rest.Encode()
	if seq > 0 {
		v.Newest = "/portal/audit?" + rest.Encode()
	}
	if len(events) > pageSize {
		v.Events = events[:pageSize]
		rest.Set("below", strconv.FormatInt(v.Events[pageSize-1].Seq, 10))
		v.Older = "/portal/audit?" + rest.Encode()
	}
	v.Codes = []ui.Option{{Label: p.Site.T(r, "portal.any")}}
	for _, c := range audit.Codes {
		v.Codes = append(v.Codes, ui.Option{Value: string(c), Label: v.Labels[c]})
	}
	if v.Actors, err = p.auditActors(r, who); err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "audit", Data: v})
}

func (p *Portal) auditActors(r *http.Request, who *visitor) ([]ui.Option, error) {
	actors := []ui.Option{{Label: p.Site.T(r, "portal.any")}}
	users, _, err := p.Service.Team(r.Context(), actorOf(who))
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		actors = append(actors, ui.Option{Value: u.ID, Label: u.Email})
	}
	keys, err := p.Service.Keys(r.Context(), actorOf(who), who.User.AccountID)
	for _, k := range keys {
		actors = append(actors, ui.Option{Value: k.ID, Label: p.Site.T(r, "portal.by.key", "name", k.Name)})
	}
	return actors, err
}

func (p *Portal) codeLabels(r *http.Request) map[audit.Code]string {
	labels := make(map[audit.Code]string)
	for _, c := range audit.Codes {
		labels[c] = p.Site.T(r, "portal.audit.code."+string(c))
	}
	return labels
}

func (p *Portal) exportAudit(w http.ResponseWriter, r *http.Request, who *visitor) error {
	header := []string{
		"seq", "id", "occurred_at", "event_code", "actor_type", "actor_id", "actor_name", "source", "target_type",
		"target_id", "ip_address", "user_agent",
		"metadata", "hash",
	}
	return ui.WriteCSV(w, "audit.csv", header, func(write func(...string) error) error {
		return p.Service.EachAuditEvent(r.Context(), actorOf(who), auditFilter(r.URL.Query()), func(e *audit.Event) error {
			metadata, err := json.Marshal(e.Metadata)
			if err != nil {
				return err
			}
			return write(strconv.FormatInt(e.Seq, 10), e.ID, ui.CSVTime(e.At), string(e.Code), string(e.Actor.Type),
				e.Actor.ID, ui.CSVText(e.Actor.Name), string(e.Actor.Source), string(e.Target.Type), e.Target.ID, e.Actor.IP,
				ui.CSVText(e.Actor.UserAgent), string(metadata), e.Hash)
		})
	})
}

type auditEventView struct {
	*audit.Event
	Label string
	JSON  string
}

func (p *Portal) showAuditEvent(w http.ResponseWriter, r *http.Request, who *visitor) error {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil || seq < 1 {
		return ui.PageNotFound()
	}
	e, err := p.Service.AuditEvent(r.Context(), actorOf(who), seq)
	if err != nil {
		return err
	}
	metadata, err := json.MarshalIndent(e.Metadata, "", "  ")
	if err != nil {
		return err
	}
	return p.pages.Render(
		w, r,
		ui.Page{
			Template: "audit_event", Data: auditEventView{Event: e, Label: p.codeLabels(r)[e.Code], JSON: string(metadata)},
		},
	)
}
