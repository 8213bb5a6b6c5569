package admin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

const (
	logLimit = 50
	operator = "operator" // stands for the command line in the filter by person
)

var logFilters = []string{"code", "staff", "account", "target", "from", "to"}

type logView struct {
	Form     *ui.Form
	Codes    []ui.Option
	People   []ui.Option
	Actions  []logRow
	Export   string
	Older    string // address of the next page
	Newest   string // of the first; empty on it
	Filtered bool
}

type logRow struct {
	*audit.Action
	What    string // in words
	Account string // name
	Kind    string // of the target, in words
	Href    string // where the target is; empty: nowhere
	Facts   []logFact
}

type logFact struct{ Label, Value string }

// logFilter reads which entries are meant. A field that names nothing fails.
func (a *Admin) logFilter(r *http.Request, who *visitor, form *ui.Form) audit.ActionFilter {
	var f audit.ActionFilter
	if c := audit.ActionCode(form.Get("code")); slices.Contains(audit.ActionCodes, c) {
		f.Code = c
	}
	if person := form.Get("staff"); person == operator {
		f.Operator = true
	} else if id, ok := service.ParseID(person); ok {
		f.StaffID = id
	}
	f.AccountID = a.accountFilter(r, who, form)
	if text := form.Get("target"); text != "" {
		if f.TargetID = a.logTarget(r, text); f.TargetID == "" {
			form.Fail("target", "admin.log.no_target")
		}
	}
	f.From, f.To = ui.DayRange(form.Get)
	return f
}

// logTarget returns the id of what a person means: an id, the number of an order, or the email of a staff user.
func (a *Admin) logTarget(r *http.Request, text string) string {
	if id, ok := service.ParseID(text); ok {
		return id
	}
	if c, err := a.Service.Certificate(r.Context(), text); err == nil {
		return c.ID
	}
	if id, err := a.Service.FindOrderID(r.Context(), text); err == nil {
		return id
	}
	if s, err := a.Service.FindStaff(r.Context(), text); err == nil {
		return s.ID
	}
	return ""
}

// cursorOf reads where in the log a page begins: the moment and the id of the entry above it.
func cursorOf(text string) audit.ActionCursor {
	moment, id, _ := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(moment, 10, 64)
	id, ok := service.ParseID(id)
	if err != nil || !ok {
		return audit.ActionCursor{}
	}
	return audit.ActionCursor{At: time.UnixMicro(micros), ID: id}
}

func (a *Admin) showLog(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form := query(r)
	v := logView{Form: form}
	filter, after := a.logFilter(r, who, form), cursorOf(form.Get("below"))
	v.Filtered = filter != (audit.ActionFilter{}) || !form.OK()
	rest := url.Values{}
	for _, name := range logFilters {
		if value := form.Get(name); value != "" {
			rest.Set(name, value)
		}
	}
	v.Export = home + "/log.csv?" + rest.Encode()
	if after.ID != "" {
		v.Newest = home + "/log?" + rest.Encode()
	}
	if form.OK() {
		actions, err := a.Service.StaffActions(r.Context(), actorOf(who), filter, after, logLimit+1)
		if err != nil {
			return err
		}
		if len(actions) > logLimit {
			actions = actions[:logLimit]
			last := actions[logLimit-1]
			rest.Set("below", fmt.Sprintf("%d.%s", last.At.UnixMicro(), last.ID))
			v.Older = home + "/log?" + rest.Encode()
		}
		if v.Actions, err = a.logRows(r, who, actions); err != nil {
			return err
		}
	}
	all := ui.Option{Label: a.Site.T(r, "admin.any")}
	v.Codes = ui.Words(a.Site, r, "admin.action.", audit.ActionCodes, all)
	staff, err := a.Service.StaffUsers(r.Context())
	if err != nil {
		return err
	}
	v.People = append(ui.Options(staff, func(s *access.Staff) ui.Option {
		return ui.Option{Value: s.ID, Label: s.Name}
	}, all), ui.Option{Value: operator, Label: a.Site.T(r, "admin.log.operator")})
	return a.pages.Render(w, r, ui.Page{Template: "log", Data: v})
}

func (a *Admin) logRows(r *http.Request, who *visitor, actions []*audit.Action) ([]logRow, error) {
	names := make(map[string]string) // of accounts
	rows := make([]logRow, len(actions))
	for i, action := range actions {
		if err := a.nameAccount(r, who, names, action.AccountID); err != nil {
			return nil, err
		}
		rows[i] = logRow{
			Action: action, What: a.Site.T(r, "admin.action."+string(action.Code)), Account: names[action.AccountID],
			Kind: a.Site.T(r, "admin.target."+string(action.Target.Type)), Href: hrefOf(action),
			Facts: a.logFacts(r, action.Details),
		}
	}
	return rows, nil
}

// hrefOf is where what was acted on is shown.
func hrefOf(x *audit.Action) string {
	switch id := x.Target.ID; {
	case x.Target.Type == audit.ActionTargetCatalog, x.Target.Type == audit.ActionTargetAnswerTime:
		return home + "/catalog"
	case id == "":
		return ""
	case x.Code == audit.StaffInvited, x.Code == audit.StaffUninvited: // invitations have no page
		return ""
	case x.Target.Type == audit.ActionTargetApproval:
		return approvals
	case x.Target.Type == audit.ActionTargetUser:
		return home + "/accounts/" + x.AccountID
	case x.Target.Type == audit.ActionTargetKey:
		return home + "/accounts/" + x.AccountID + "/keys/" + id
	case x.Target.Type == audit.ActionTargetOrder:
		return "/desk/orders/" + id
	default:
		return home + "/" + map[audit.ActionTargetType]string{
			audit.ActionTargetStaff: "staff", audit.ActionTargetAccount: "accounts", audit.ActionTargetDelivery: "deliveries",
			audit.ActionTargetCertificate: "certificates",
		}[x.Target.Type] + "/" + id
	}
}

// logFacts writes the details of an entry for people.
func (a *Admin) logFacts(r *http.Request, details map[string]any) []logFact {
	var facts []logFact
	for _, name := range slices.Sorted(maps.Keys(details)) {
		value := a.valueText(r, name, written(details[name]))
		if value == "" {
			continue
		}
		label := name
		if key := "admin.detail." + name; a.Site.Messages.Has(key) {
			label = a.Site.T(r, key)
		}
		facts = append(facts, logFact{label, value})
	}
	return facts
}

// valueTexts are the beginnings of the keys of texts for details whose values are words of the program.
var valueTexts = map[string]string{
	"environment": "admin.env.", "kind": "admin.approval.", "reason": "admin.reason.",
}

// valueText is a value of the details in the language of the page, where there is a text for it.
func (a *Admin) valueText(r *http.Request, name, value string) string {
	if prefix, ok := valueTexts[name]; ok && a.Site.Messages.Has(prefix+value) {
		return a.Site.T(r, prefix+value)
	}
	return value
}

// written is a value of the details as text; of a person it is the name.
func written(v any) string {
	var parts []string
	switch v := v.(type) {
	case nil:
	case string:
		return v
	case map[string]any:
		if name, ok := v["name"].(string); ok {
			return name
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key+": "+written(v[key]))
		}
	case []any:
		for _, part := range v {
			parts = append(parts, written(part))
		}
	default:
		number, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(number)
	}
	return strings.Join(parts, ", ")
}

func (a *Admin) exportLog(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form := query(r)
	filter := a.logFilter(r, who, form)
	if !form.OK() { // the page says what is wrong
		return a.Site.Redirect(w, r, home+"/log?"+form.Values.Encode())
	}
	header := []string{
		"id", "at", "action", "staff_id", "staff_name", "account_id", "target_type", "target_id", "target_name",
		"ip_address", "user_agent", "details",
	}
	return ui.WriteCSV(w, "administration.csv", header, func(write func(...string) error) error {
		return a.Service.EachStaffAction(r.Context(), actorOf(who), filter, func(x *audit.Action) error {
			details, err := ui.CSVJSON(x.Details)
			if err != nil {
				return err
			}
			return write(x.ID, ui.CSVTime(x.At), string(x.Code), x.StaffID, ui.CSVText(x.StaffName), x.AccountID,
				string(x.Target.Type), x.Target.ID,
				ui.CSVText(x.Target.Name), x.IP, ui.CSVText(x.UserAgent), details)
		})
	})
}
