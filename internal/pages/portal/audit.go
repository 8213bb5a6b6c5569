package portal

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

// accountLog is one of the two logs of an account as the portal shows it: they share their pages.
type accountLog struct {
	audit.Log
	Path string // of its page
	Name string // of its texts and its file
}

var (
	auditLog    = accountLog{audit.AuditLog, "/portal/audit", "audit"}
	activityLog = accountLog{audit.PortalLog, "/portal/activity", "activity"}
)

type auditView struct {
	accountLog
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

// filter reads the filter of an address. What is no value of it does not filter.
func (l accountLog) filter(q url.Values) audit.Filter {
	f := audit.Filter{Log: l.Log}
	if c := audit.Code(q.Get("code")); slices.Contains(audit.CodesOf(l.Log), c) {
		f.Code = c
	}
	f.ActorID, _ = service.ParseID(q.Get("actor"))
	f.From, f.To = ui.DayRange(q.Get)
	return f
}

// of makes a page for one of the logs.
func (l accountLog) of(h func(http.ResponseWriter, *http.Request, *visitor, accountLog) error) visitorHandler {
	return func(w http.ResponseWriter, r *http.Request, who *visitor) error { return h(w, r, who, l) }
}

// showLog shows a log of the account.
func (p *Portal) showLog(w http.ResponseWriter, r *http.Request, who *visitor, l accountLog) error {
	q := r.URL.Query()
	f := l.filter(q)
	seq, _ := strconv.ParseInt(q.Get("below"), 10, 64)
	events, total, err := p.Service.AuditEvents(r.Context(), actorOf(who), f, max(0, seq-1), pageSize+1)
	if err != nil {
		return err
	}
	v := auditView{
		accountLog: l,
		Form:       ui.NewForm("code", q.Get("code"), "actor", q.Get("actor"), "from", q.Get("from"), "to", q.Get("to")),
		Events:     events, Total: total,
		Filtered: f != audit.Filter{Log: l.Log}, Labels: p.codeLabels(r),
	}
	if l.Log == audit.AuditLog {
		v.Curl = p.curl("/audit/events?page=1&limit=50")
	}
	rest := url.Values{}
	for _, name := range []string{"code", "actor", "from", "to"} {
		if value := q.Get(name); value != "" {
			rest.Set(name, value)
		}
	}
	v.Export = l.Path + ".csv?" + rest.Encode()
	if seq > 0 {
		v.Newest = l.Path + "?" + rest.Encode()
	}
	if len(events) > pageSize {
		v.Events = events[:pageSize]
		rest.Set("below", strconv.FormatInt(v.Events[pageSize-1].Seq, 10))
		v.Older = l.Path + "?" + rest.Encode()
	}
	v.Codes = ui.Words(p.Site, r, "portal.audit.code.", audit.CodesOf(l.Log), p.anything(r))
	if v.Actors, err = p.auditActors(r, who); err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "audit", Data: v})
}

func (p *Portal) auditActors(r *http.Request, who *visitor) ([]ui.Option, error) {
	users, _, err := p.Service.Team(r.Context(), actorOf(who))
	if err != nil {
		return nil, err
	}
	keys, err := p.Service.Keys(r.Context(), actorOf(who), who.User.AccountID)
	return slices.Concat([]ui.Option{p.anything(r)}, ui.Options(users, func(u *access.User) ui.Option {
		return ui.Option{Value: u.ID, Label: u.Email}
	}), ui.Options(keys, func(k *access.Key) ui.Option {
		return ui.Option{Value: k.ID, Label: p.Site.T(r, "portal.by.key", "name", k.Name)}
	})), err
}

func (p *Portal) codeLabels(r *http.Request) map[audit.Code]string {
	labels := make(map[audit.Code]string)
	for _, c := range audit.PortalCodes {
		labels[c] = p.Site.T(r, "portal.audit.code."+string(c))
	}
	return labels
}

// exportLog sends a log of the account as a file.
func (p *Portal) exportLog(w http.ResponseWriter, r *http.Request, who *visitor, l accountLog) error {
	header := []string{
		"seq", "id", "occurred_at", "event_code", "actor_type", "actor_id", "actor_name", "source", "target_type",
		"target_id", "ip_address", "user_agent",
		"metadata", "hash",
	}
	actor, filter := actorOf(who), l.filter(r.URL.Query())
	return p.sendCSV(w, r, actor, l.Name+".csv", header, func(write func(...string) error) error {
		return p.Service.EachAuditEvent(r.Context(), actor, filter, func(e *audit.Event) error {
			metadata, err := ui.CSVJSON(e.Metadata)
			if err != nil {
				return err
			}
			return write(strconv.FormatInt(e.Seq, 10), e.ID, ui.CSVTime(e.At), string(e.Code), string(e.Actor.Type),
				e.Actor.ID, ui.CSVText(e.Actor.Name), string(e.Actor.Source), string(e.Target.Type), e.Target.ID, e.Actor.IP,
				ui.CSVText(e.Actor.UserAgent), metadata, e.Hash)
		})
	})
}

type auditEventView struct {
	accountLog
	*audit.Event
	Label string
	JSON  string
}

// showLogEvent shows an entry of a log of the account.
func (p *Portal) showLogEvent(w http.ResponseWriter, r *http.Request, who *visitor, l accountLog) error {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil || seq < 1 {
		return ui.PageNotFound()
	}
	e, err := p.Service.AuditEvent(r.Context(), actorOf(who), l.Log, seq)
	if err != nil {
		return err
	}
	metadata, err := json.MarshalIndent(e.Metadata, "", "  ")
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "audit_event", Data: auditEventView{
		accountLog: l, Event: e, Label: p.codeLabels(r)[e.Code], JSON: string(metadata),
	}})
}
