package integration

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/input"
	"github.com/assayhq/assay/internal/service"
)

const (
	orderLimit        = 10
	maxOrderLimit     = 50
	maxPhotoURL       = 2048
	maxIdempotencyKey = 255
)

func (a *API) getBalance(w http.ResponseWriter, r *http.Request, c *call) error {
	credits, err := a.Service.Balance(r.Context(), c.key.Tenant)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, struct {
		AvailableCredits int64 `json:"availableCredits"`
	}{credits})
}

func (a *API) createOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	body, err := a.readBody(r)
	if err != nil {
		return err
	}
	idem, err := a.beginIdempotent(r, c, body)
	if err != nil {
		return err
	}
	defer idem.End()
	var created service.Created
	draft, err := readDraft(body)
	if err == nil {
		created, err = a.Service.CreateOrder(r.Context(), c.actor(r), draft, idem)
	}
	if err != nil {
		if created, err = a.Service.FirstAnswer(r.Context(), idem, err); err != nil {
			return err
		}
	}
	if created.Replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	c.orderID = created.OrderID
	httpx.WriteRaw(w, http.StatusCreated, created.Answer)
	return nil
}

func (a *API) beginIdempotent(r *http.Request, c *call, body []byte) (*service.Idempotent, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return nil, nil
	}
	key := keys[0]
	if key == "" || len(keys) > 1 || !utf8.ValidString(key) || utf8.RuneCountInString(key) > maxIdempotencyKey {
		return nil, fault.InvalidField("Idempotency-Key", "format", "must be one header of 1 to 255 characters")
	}
	return a.Service.BeginIdempotent(c.key.Tenant, key, body)
}

// readDraft checks the shape of a creation. mock_outcome is judged by the rules: a wrong value counts as missing.
func readDraft(body []byte) (*order.Draft, error) {
	o, err := input.ParseObject(body)
	if err != nil {
		return nil, err
	}
	d := &order.Draft{
		BrandCode:    o.String("brand_code", input.Required, input.NotEmpty),
		CategoryCode: o.String("category_code", input.Required, input.NotEmpty),
		ModelCode:    o.String("model_code", input.NotEmpty),
		ExternalID:   o.OptString("external_id", input.NotEmpty, input.MaxChars(order.MaxExternalID)),
		AnswerTime:   int(o.Int("answer_time", input.Min(1))),
	}
	photos := o.Objects("photos", input.Required, input.MinItems(1), input.MaxItems(order.MaxPhotos))
	d.Photos = make([]order.DraftPhoto, len(photos))
	for i, p := range photos {
		d.Photos[i] = order.DraftPhoto{
			URL:       p.String("url", input.Required, input.MaxChars(maxPhotoURL)),
			IndexCode: p.String("index_code", input.Required, input.NotEmpty),
		}
	}
	mock := o.Raw("mock_outcome")
	d.MockGiven = mock.Exists()
	if s, ok := mock.Text(); ok {
		d.Mock, _ = order.ParseMockOutcome(s)
	}
	return d, o.Done()
}

func (a *API) listOrders(w http.ResponseWriter, r *http.Request, c *call) error {
	q := input.ReadQuery(r)
	page, limit := q.Page(orderLimit, maxOrderLimit)
	search := readSearch(q)
	if err := q.Done(); err != nil {
		return err
	}
	var total int64
	var err error
	body := httpx.NewBody()
	body.Bytes = append(body.Bytes, `{"data":[`...)
	list := func(o *order.Order) { body.Bytes = append(o.AppendItem(body.Bytes), ',') }
	if search == (order.Search{}) {
		total, err = a.Service.NewestOrders(r.Context(), c.actor(r), page, limit, list)
	} else {
		var found []order.Summary
		found, total, err = a.Service.SearchOrders(r.Context(), c.actor(r), search, page, limit)
		for i := range found {
			list(&found[i].Order)
		}
	}
	if err != nil {
		return err
	}
	body.Bytes = appendPageEnd(bytes.TrimSuffix(body.Bytes, []byte(",")), page, limit, total)
	body.Send(w, http.StatusOK)
	return nil
}

// appendPageEnd appends what follows the data of an httpx.Page.
func appendPageEnd(b []byte, page, limit int, total int64) []byte {
	b = strconv.AppendInt(append(b, `],"page":`...), int64(page), 10)
	b = strconv.AppendInt(append(b, `,"limit":`...), int64(limit), 10)
	return append(strconv.AppendInt(append(b, `,"total":`...), total, 10), '}')
}

// readSearch reads the filters of the list of orders, and its sequence.
func readSearch(q *input.Query) order.Search {
	created, updated := q.Time("created_since"), q.Time("updated_since")
	return order.Search{
		Status:       input.Enum(q, "status", order.Statuses...),
		Outcome:      input.Enum(q, "outcome", order.Outcomes...),
		ExternalID:   q.String("external_id", input.NotEmpty, input.MaxChars(order.MaxExternalID)),
		CreatedSince: given(q, "created_since", created), UpdatedSince: given(q, "updated_since", updated),
		ByUpdate: input.Enum(q, "sort", "updated") != "",
	}
}

func (a *API) getOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	q := input.ReadQuery(r)
	l := q.Locale()
	if err := q.Done(); err != nil {
		return err
	}
	if !validID(c.id) {
		return order.NotFound
	}
	detail, err := a.Service.OrderDetail(r.Context(), c.actor(r), c.id, l)
	if err != nil {
		return err
	}
	c.orderID = detail.ID
	body := httpx.NewBody()
	body.Bytes = detail.Append(body.Bytes)
	body.Send(w, http.StatusOK)
	return nil
}

func (a *API) submitUpdatePhotos(w http.ResponseWriter, r *http.Request, c *call) error {
	body, err := a.readBody(r)
	if err != nil {
		return err
	}
	sub, err := readSubmission(body)
	if err != nil {
		return err
	}
	if !validID(c.id) {
		return order.NotFound
	}
	id, err := a.Service.SubmitPhotos(r.Context(), c.actor(r), c.id, sub)
	if err != nil {
		return err
	}
	c.orderID = id
	return httpx.WriteJSON(w, http.StatusAccepted, struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}{id, "accepted"})
}

func (a *API) cancelOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	if err := a.readNothing(r); err != nil {
		return err
	}
	if !validID(c.id) {
		return order.NotFound
	}
	canceled, err := a.Service.CancelOrder(r.Context(), c.actor(r), c.id, "")
	if err != nil {
		return err
	}
	return writeMoved(w, c, canceled)
}

// simulateOrder puts a Test order into a state, as the sandbox of the portal does.
func (a *API) simulateOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	o, err := a.readObject(r)
	if err != nil {
		return err
	}
	state := o.String("state", input.Required, input.OneOf(enum.Names(order.SandboxStates)...))
	if err := o.Done(); err != nil {
		return err
	}
	if !validID(c.id) {
		return order.NotFound
	}
	moved, err := a.Service.SimulateState(r.Context(), c.actor(r), c.id, order.SandboxState(state), nil)
	if err != nil {
		return err
	}
	return writeMoved(w, c, moved)
}

// writeMoved answers with the status that an order has come into.
func writeMoved(w http.ResponseWriter, c *call, o *order.Order) error {
	c.orderID = o.ID
	return httpx.WriteJSON(w, http.StatusOK, struct {
		ID     string       `json:"id"`
		Status order.Status `json:"status"`
	}{o.ID, o.Status})
}

// readNothing reads the body of an operation that takes none: no body, or an empty object.
func (a *API) readNothing(r *http.Request) error {
	body, err := a.readBody(r)
	if err != nil || len(body) == 0 {
		return err
	}
	o, err := input.ParseObject(body)
	if err != nil {
		return err
	}
	return o.Done()
}

func readSubmission(body []byte) (*order.Submission, error) {
	o, err := input.ParseObject(body)
	if err != nil {
		return nil, err
	}
	entries := o.Objects("photos", input.Required, input.MinItems(1), input.MaxItems(order.MaxPhotos))
	sub := &order.Submission{
		Note: o.String("note", input.MaxChars(order.MaxNote)), Entries: make([]order.SubmissionEntry, len(entries)),
	}
	for i, e := range entries {
		sub.Entries[i] = order.SubmissionEntry{
			IndexCode: e.String("index_code", input.Required, input.NotEmpty),
			URL:       e.OptString("url", input.MaxChars(maxPhotoURL)), Unable: e.Bool("is_unable_to_provide"),
		}
	}
	return sub, o.Done()
}

// validID reports whether an id of a path can be an order's at all: the databases do not take every string.
func validID(id string) bool {
	if !utf8.ValidString(id) || utf8.RuneCountInString(id) > order.MaxExternalID {
		return false
	}
	return strings.IndexByte(id, 0) < 0
}
