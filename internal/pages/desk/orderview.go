package desk

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

// orderPage is what the page of an order shows.
type orderPage struct {
	*service.OrderRecord
	Context    *service.OrderContext
	Groups     []*indexGroup
	Without    []*catalog.PhotoIndex // indexes of the catalog without a photo
	PhotoCount int
	Events     []timelineView // the newest first
	Verdict    *verdictForm
	Draft      *order.KeptDraft // of the assignee, when the order has ended
	Colleague  *colleagueView   // what somebody else had entered; nil: nothing
	Lost       string           // who took the order from the visitor; empty: nobody
	Moved      string           // why what was entered could not be done; empty: nothing was tried
	Me         string           // id of the visitor
	Queue      string           // address of the queue as it was seen last
	Unreadable bool             // there is nothing but what its columns tell
	Affected   []affectedIndex  // that gave the fake away
	Others     []rowView        // of the same account
	Answer     string           // how long the answer may take
	Late       bool
	Test       bool

	// What the visitor may do now.
	Mine        bool
	CanClaim    bool
	CanRelease  bool
	CanRequest  bool
	CanJudge    bool
	CanFail     bool
	CanCancel   bool
	CanReassign bool
}

// indexGroup is the photos of one index, beside what the catalog says of it.
type indexGroup struct {
	Code        string
	Name        text.Text
	Required    bool
	Limit       int // 0: the catalog no longer has the index
	Examples    []exampleView
	Photos      []photoView
	NotProvided bool // in the last round the customer could not give one
	Requested   *order.PhotoRequest
}

// photoView is one photo of an order.
type photoView struct {
	picture
	Number       int // among all of the order, from 1
	IndexCode    string
	Round        int
	Width        int
	Height       int
	Bytes        int64
	OriginalName string
	Erased       bool // there is nothing to see any more
}

// Facts is the address of what is known of the photo.
func (p photoView) Facts() string { return "/desk/photos/" + p.Name + "/facts" }

// affectedIndex is an index that gave a fake away.
type affectedIndex struct{ Code, Name string }

// exampleView is an example picture of the catalog. One that lies elsewhere is linked: the pages of the desk load
// nothing from other hosts.
type exampleView struct {
	picture // without a name: elsewhere
	Number  int
	URL     string
}

// unreadablePage is what is known of an order that cannot be read, for the administrator who is to cancel it. err is
// why there is no orderPage; it stays so for everybody else.
func (d *Desk) unreadablePage(r *http.Request, who *visitor, err error) (*orderPage, error) {
	o, err := d.Service.UnreadableOrder(r.Context(), actorOf(who), err)
	if err != nil {
		return nil, err
	}
	v := &orderPage{OrderRecord: &service.OrderRecord{Order: o}, Unreadable: true, Queue: d.queuePath(r)}
	v.allow(actorOf(who))
	return v, nil
}

func (d *Desk) orderPage(r *http.Request, who *visitor, id string) (*orderPage, error) {
	ctx := r.Context()
	o, err := d.Service.OrderForReview(ctx, actorOf(who), id)
	if err != nil {
		return nil, err
	}
	v := &orderPage{OrderRecord: o, Late: o.IsDelayed(d.Site.Now()), Test: o.Environment == access.Test}
	if v.Context, err = d.Service.OrderContext(ctx, o.Order); err != nil {
		return nil, err
	}
	v.Others, v.Answer = d.rowViews(r, v.Context.Others), d.answerTime(r, o.AnswerTime)
	v.allow(actorOf(who))
	v.group(d.Service)
	v.Events = d.events(r, v)
	for _, code := range o.OutcomeIndexes {
		v.Affected = append(v.Affected, affectedIndex{code, v.indexName(code, ui.LocaleOf(r))})
	}
	draftOf := who.User.ID
	if o.Status.Terminal() {
		draftOf = o.AssigneeID
	}
	v.Me, v.Queue, v.Draft = who.User.ID, d.queuePath(r), new(order.KeptDraft)
	if draftOf != "" {
		if v.Draft, err = d.Service.VerdictDraft(ctx, draftOf, o.ID); err != nil {
			return nil, err
		}
	}
	v.Verdict = d.newVerdictForm(o.Classification.CategoryCode, v.Draft)
	if v.EndedAt == nil {
		theirs, err := d.Service.ColleaguesDraft(ctx, actorOf(who), o.ID)
		if err != nil {
			return nil, err
		}
		if theirs != nil {
			v.Colleague = d.colleagueView(r, v, theirs)
		}
	}
	if !v.Mine {
		v.Lost = d.lossOf(r, &o.History, who)
	}
	return v, nil
}

// allow applies the same rules as the use cases.
func (v *orderPage) allow(actor access.Actor) {
	may := func(m order.Move) bool { return v.CheckMove(m, actor) == nil }
	v.Mine = v.HeldBy(actor)
	v.CanClaim, v.CanRelease = may(order.Claim), may(order.Release)
	v.CanRequest, v.CanJudge, v.CanFail = may(order.RequestPhotos), may(order.Complete), may(order.Fail)
	admin := actor.Require(access.Administer) == nil
	v.CanCancel = admin && may(order.Cancel)
	v.CanReassign = admin && !v.Test && (v.Status == order.Processing || v.Status == order.Queued)
}

// group puts the photos under their indexes, in the order of the catalog; those that it no longer has come last.
func (v *orderPage) group(s *service.Service) {
	byCode := make(map[string]*indexGroup)
	for _, p := range v.Photos {
		g := byCode[p.IndexCode]
		if g == nil {
			g = &indexGroup{Code: p.IndexCode, Name: s.PhotoIndexName(v.Order, p.IndexCode)}
			byCode[p.IndexCode] = g
		}
		g.NotProvided = p.Name == ""
		if p.Name == "" {
			continue
		}
		file := v.Context.Files[p.Name]
		g.Photos = append(g.Photos, photoView{
			picture: picture{p.Name}, IndexCode: p.IndexCode, Round: p.Round, Width: file.Width, Height: file.Height,
			Bytes: file.Bytes, OriginalName: file.OriginalName, Erased: file.Erased,
		})
	}
	for _, x := range s.PhotoIndexes(v.Order) {
		g := byCode[x.Code]
		if g == nil {
			v.Without = append(v.Without, x)
			continue
		}
		g.Name, g.Required, g.Limit = x.Name, x.Required, x.PhotoLimit
		for i, u := range x.ExampleURLs {
			e := exampleView{Number: i + 1, URL: u}
			e.Name, _ = s.PhotoName(u)
			g.Examples = append(g.Examples, e)
		}
		v.Groups = append(v.Groups, g)
		delete(byCode, x.Code)
	}
	for _, p := range v.Photos {
		if g := byCode[p.IndexCode]; g != nil {
			v.Groups = append(v.Groups, g)
			delete(byCode, p.IndexCode)
		}
	}
	for _, g := range v.Groups {
		for i := range g.Photos {
			v.PhotoCount++
			g.Photos[i].Number = v.PhotoCount
		}
		asked := func(q order.PhotoRequest) bool { return q.IndexCode == g.Code }
		if i := slices.IndexFunc(v.Requested, asked); i >= 0 {
			g.Requested = &v.Requested[i]
		}
	}
}

// indexName returns the name of an index for people; its code when the catalog no longer has it.
func (v *orderPage) indexName(code string, l text.Locale) string {
	for _, g := range v.Groups {
		if g.Code == code {
			return g.Name.In(l)
		}
	}
	for _, x := range v.Without {
		if x.Code == code {
			return x.Name.In(l)
		}
	}
	return code
}

// timelineView is one thing that happened to an order, in words.
type timelineView struct {
	At    time.Time
	Title string
	Actor string
	Lines []string
	Note  string
}

// events says what happened in the language of the page.
func (d *Desk) events(r *http.Request, v *orderPage) []timelineView {
	l := ui.LocaleOf(r)
	list := make([]timelineView, len(v.Timeline))
	for i, e := range v.Timeline {
		t := timelineView{At: e.At, Title: e.Event, Actor: e.Actor.Name}
		if key := "desk.event." + e.Event; d.Site.Messages.Has(key) {
			t.Title = d.Site.T(r, key)
		}
		if e.Actor.Kind == access.BySystem {
			t.Actor = d.Site.T(r, "desk.actor.system")
		}
		if outcome, ok := e.Details["outcome"].(string); ok {
			t.Lines = append(t.Lines, order.Outcome(outcome).Label().In(l))
		}
		if to, ok := e.Details["assignee"].(map[string]any); ok {
			t.Lines = append(t.Lines, d.Site.T(r, "desk.timeline.assignee", "name", fmt.Sprint(to["name"])))
		}
		for _, code := range words(e.Details["reason_codes"]) {
			line := code
			if reason := d.Service.Catalog().Reason(code); reason != nil {
				line = reason.Text.In(l)
			}
			t.Lines = append(t.Lines, line)
		}
		if own, ok := e.Details["reason_text"].(map[string]any); ok {
			for _, l := range text.Locales {
				if said, ok := own[string(l)].(string); ok {
					t.Lines = append(t.Lines, said)
				}
			}
		}
		for _, code := range words(e.Details["index_codes"]) {
			t.Lines = append(t.Lines, v.indexName(code, l))
		}
		if reason, ok := e.Details["reason"].(string); ok {
			t.Lines = append(t.Lines, d.reasonText(r, &e, reason))
		}
		t.Note, _ = e.Details["note"].(string)
		list[len(list)-1-i] = t // the newest first
	}
	return list
}

// reasonText says why something happened. What the system gives as its reason has a text; what a person wrote stays.
func (d *Desk) reasonText(r *http.Request, e *order.TimelineEntry, reason string) string {
	key := "desk.because." + strings.ReplaceAll(reason, " ", "-")
	if e.Actor.Kind == access.BySystem && d.Site.Messages.Has(key) {
		return d.Site.T(r, key)
	}
	return reason
}

func words(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, w := range list {
		if s, ok := w.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
