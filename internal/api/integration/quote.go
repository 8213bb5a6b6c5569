package integration

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/httpx"
)

type quoteView struct {
	AnswerTimes  []answerTimeView `json:"answer_times"`
	PhotoIndexes []photoIndexView `json:"photo_indexes"`
	AnswerTime   *int             `json:"answer_time"`
	Price        *int64           `json:"price"`
	Affordable   bool             `json:"affordable"`
	DueDate      *order.Timestamp `json:"due_date"`
}

func (a *API) quote(w http.ResponseWriter, r *http.Request, c *call) error {
	params := httpx.ReadQuery(r)
	l := params.Locale()
	if err := params.Done(); err != nil {
		return err
	}
	o, err := httpx.ReadObject(r)
	if err != nil {
		return err
	}
	brand := o.String("brand_code", httpx.Required, httpx.NotEmpty)
	category := o.String("category_code", httpx.Required, httpx.NotEmpty)
	model, answerTime := o.String("model_code", httpx.NotEmpty), o.Int("answer_time", httpx.Min(1))
	if err := o.Done(); err != nil {
		return err
	}
	q, err := a.Service.Quote(r.Context(), c.actor(r), category, brand, model, int(answerTime))
	if err != nil {
		return err
	}
	view := quoteView{
		AnswerTimes: viewsIn(l, q.Offers, viewOffer), PhotoIndexes: viewsIn(l, q.Indexes, viewPhotoIndex),
		Affordable: q.Affordable, DueDate: order.At(q.DueAt),
	}
	if q.AnswerTime != nil {
		view.AnswerTime, view.Price = &q.AnswerTime.Code, &q.AnswerTime.Price
	}
	return httpx.WriteJSON(w, http.StatusOK, view)
}
