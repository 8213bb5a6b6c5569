package desk

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/service"
)

// itemView is an order in a list.
type itemView struct {
	ID             string                   `json:"id"`
	OrderNumber    string                   `json:"order_number"`
	ExternalID     *string                  `json:"external_id"`
	Environment    access.Environment       `json:"environment"`
	Status         order.Status             `json:"status"`
	Outcome        *order.Outcome           `json:"outcome"`
	Delayed        bool                     `json:"delayed"`
	Classification order.ClassificationView `json:"classification"`
	AnswerTime     int                      `json:"answer_time"`
	DueDate        *wire.Timestamp          `json:"due_date"`
	UpdatedAt      *wire.Timestamp          `json:"updated_at"`
	Assignee       *assigneeView            `json:"assignee"`
}

type assigneeView struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// orderView is an order as its customer sees it, with what the desk knows besides.
type orderView struct {
	order.Detail
	OrderNumber string             `json:"order_number"`
	ExternalID  *string            `json:"external_id"`
	Environment access.Environment `json:"environment"`
	AnswerTime  int                `json:"answer_time"`
	Photos      []photoView        `json:"photos"`
	Notes       []noteView         `json:"notes"`
	Timeline    []entryView        `json:"timeline"`
	Assignee    *assigneeView      `json:"assignee"`
}

type photoView struct {
	URL       string `json:"url"`
	IndexCode string `json:"index_code"`
	Round     int    `json:"round"`
}

type noteView struct {
	Round     int            `json:"round"`
	Note      string         `json:"note"`
	CreatedAt wire.Timestamp `json:"created_at"`
}

type entryView struct {
	At      wire.Timestamp `json:"at"`
	Event   string         `json:"event"`
	Actor   *string        `json:"actor"` // null: the service itself
	Details map[string]any `json:"details"`
}

func (a *API) viewItem(o *order.Summary, l text.Locale) itemView {
	d := a.Service.ViewOrder(&o.Order, l)
	v := itemView{
		ID: o.ID, OrderNumber: o.Number, ExternalID: o.ExternalID, Environment: o.Environment, Status: o.Status,
		Outcome: d.Outcome, Delayed: d.Delayed, Classification: d.Classification, AnswerTime: o.AnswerTime,
		DueDate: d.DueDate, UpdatedAt: d.UpdatedAt,
	}
	if o.AssigneeID != "" {
		v.Assignee = &assigneeView{o.AssigneeID, o.AssigneeName}
	}
	return v
}

// answer writes an order as the answer to an operation on it.
func (a *API) answer(w http.ResponseWriter, o *service.OrderRecord, l text.Locale) error {
	v := orderView{
		Detail: a.Service.ViewOrder(o.Order, l), OrderNumber: o.Number, ExternalID: o.ExternalID,
		Environment: o.Environment, AnswerTime: o.AnswerTime, Photos: make([]photoView, 0, len(o.Photos)),
		Notes: make([]noteView, len(o.Notes)), Timeline: make([]entryView, len(o.Timeline)),
	}
	for _, p := range o.Photos {
		if p.Name != "" { // what could not be provided is in the timeline
			v.Photos = append(v.Photos, photoView{a.Service.PhotoURL(p.Name), p.IndexCode, p.Round})
		}
	}
	for i, n := range o.Notes {
		v.Notes[i] = noteView{n.Round, n.Note, wire.Timestamp(n.CreatedAt)}
	}
	for i := range o.Timeline {
		e := &o.Timeline[i]
		v.Timeline[i] = entryView{At: wire.Timestamp(e.At), Event: e.Event, Details: e.Details}
		if e.Actor.Kind != access.BySystem {
			v.Timeline[i].Actor = &e.Actor.Name
		}
	}
	if o.Assignee != nil {
		v.Assignee = &assigneeView{o.Assignee.ID, o.Assignee.Name}
	}
	return httpx.WriteJSON(w, http.StatusOK, &v)
}

// phraseView is a coded text in every language.
type phraseView struct {
	Code string    `json:"code"`
	Text text.Text `json:"text"`
}

type reasonView struct {
	Code    string    `json:"code"`
	Outcome string    `json:"outcome"`
	Text    text.Text `json:"text"`
}

// listReasons answers with the words that verdicts and photo requests are made of.
func (a *API) listReasons(w http.ResponseWriter, _ *http.Request, _ *call) error {
	snap := a.Service.Catalog()
	reasons := snap.Reasons("")
	v := struct {
		Reasons      []reasonView `json:"reasons"`
		Conditions   []phraseView `json:"conditions"`
		Requirements []phraseView `json:"requirements"`
	}{make([]reasonView, len(reasons)), viewPhrases(snap.Conditions()), viewPhrases(snap.Requirements())}
	for i, r := range reasons {
		v.Reasons[i] = reasonView{r.Code, r.Outcome, r.Text}
	}
	return httpx.WriteJSON(w, http.StatusOK, &v)
}

func viewPhrases(phrases []catalog.Phrase) []phraseView {
	views := make([]phraseView, len(phrases))
	for i, p := range phrases {
		views[i] = phraseView{p.Code, p.Text}
	}
	return views
}
