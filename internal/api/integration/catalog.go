package integration

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/input"
)

const (
	catalogLimit    = 50
	maxCatalogLimit = 100
)

// namedView begins the view of everything in the catalog that has a code.
type namedView[C string | int] struct {
	Code       C      `json:"code"`
	Name       string `json:"name"`
	NameLocale string `json:"name_locale"`
}

func viewNamed[C string | int](code C, name text.Text, l text.Locale) namedView[C] {
	return namedView[C]{Code: code, Name: name.EN, NameLocale: name.In(l)}
}

type categoryView struct {
	namedView[string]
	IconURL *string `json:"icon_url"`
}

func viewCategory(c *catalog.Category, l text.Locale) categoryView {
	return categoryView{viewNamed(c.Code, c.Name, l), c.IconURL}
}

type brandView struct {
	namedView[string]
	Categories []categoryView `json:"categories"`
}

func viewBrand(b *catalog.Brand, l text.Locale) brandView {
	return brandView{viewNamed(b.Code, b.Name, l), viewsIn(l, b.Categories, viewCategory)}
}

type modelView struct {
	namedView[string]
	ImageURL *string `json:"image_url"`
}

func viewModel(m *catalog.Model, l text.Locale) modelView {
	return modelView{viewNamed(m.Code, m.Name, l), m.ImageURL}
}

type photoIndexView struct {
	namedView[string]
	Required    bool     `json:"required"`
	PhotoLimit  int      `json:"photo_limit"`
	IconURL     *string  `json:"icon_url"`
	ExampleURLs []string `json:"example_urls"`
}

func viewPhotoIndex(x *catalog.PhotoIndex, l text.Locale) photoIndexView {
	return photoIndexView{
		namedView: viewNamed(x.Code, x.Name, l), Required: x.Required, PhotoLimit: x.PhotoLimit, IconURL: x.IconURL,
		ExampleURLs: append([]string{}, x.ExampleURLs...),
	}
}

type answerTimeView struct {
	namedView[int]
	Price           int64           `json:"price"`
	Default         bool            `json:"default"`
	Available       bool            `json:"available"`
	NextAvailableAt *wire.Timestamp `json:"next_available_at"`
}

func viewOffer(o catalog.Offer, l text.Locale) answerTimeView {
	return answerTimeView{
		namedView: viewNamed(o.Code, o.Name, l), Price: o.Price, Default: o.Default, Available: o.Available,
		NextAvailableAt: wire.OptionalTimestamp(o.NextAvailableAt),
	}
}

// listView is a whole list; httpx.Page is one page of a longer one.
type listView[T any] struct {
	Data []T `json:"data"`
}

func views[T, V any](items []T, view func(T) V) []V {
	out := make([]V, len(items))
	for i, item := range items {
		out[i] = view(item)
	}
	return out
}

// viewsIn is views in a language.
func viewsIn[T, V any](l text.Locale, items []T, view func(T, text.Locale) V) []V {
	return views(items, func(item T) V { return view(item, l) })
}

// pageOf cuts a page out of a list that is in memory.
func pageOf[T, V any](l text.Locale, items []T, page, limit int, view func(T, text.Locale) V) httpx.Page[V] {
	from := min(min(page-1, len(items))*limit, len(items))
	to := min(from+limit, len(items))
	return httpx.Page[V]{Data: viewsIn(l, items[from:to], view), Page: page, Limit: limit, Total: int64(len(items))}
}

func (a *API) listCategories(w http.ResponseWriter, r *http.Request, _ *call) error {
	q := input.ReadQuery(r)
	brand, l := q.Code("brand_code"), q.Locale()
	if err := q.Done(); err != nil {
		return err
	}
	snap := a.Service.Catalog()
	return a.pages.answer(w, r, snap, pageKey{list: "categories", locale: l, brand: brand}, func() (any, error) {
		found, err := snap.Categories(brand)
		return listView[categoryView]{viewsIn(l, found, viewCategory)}, err
	})
}

func (a *API) listBrands(w http.ResponseWriter, r *http.Request, _ *call) error {
	q := input.ReadQuery(r)
	category, search, l := q.Code("category_code"), q.String("search"), q.Locale()
	page, limit := q.Page(catalogLimit, maxCatalogLimit)
	if err := q.Done(); err != nil {
		return err
	}
	snap := a.Service.Catalog()
	key := pageKey{list: "brands", locale: l, category: category, search: search, page: page, limit: limit}
	return a.pages.answer(w, r, snap, key, func() (any, error) {
		found, err := snap.Brands(category, search)
		return pageOf(l, found, page, limit, viewBrand), err
	})
}

func (a *API) listModels(w http.ResponseWriter, r *http.Request, _ *call) error {
	q := input.ReadQuery(r)
	brand, category, search, l := q.Required("brand_code"), q.Required("category_code"), q.String("search"), q.Locale()
	page, limit := q.Page(catalogLimit, maxCatalogLimit)
	if err := q.Done(); err != nil {
		return err
	}
	snap := a.Service.Catalog()
	key := pageKey{list: "models", locale: l, brand: brand, category: category, search: search, page: page, limit: limit}
	return a.pages.answer(w, r, snap, key, func() (any, error) {
		found, err := snap.Models(catalog.Context{Category: category, Brand: brand}, search)
		return pageOf(l, found, page, limit, viewModel), err
	})
}

func (a *API) listPhotoIndexes(w http.ResponseWriter, r *http.Request, _ *call) error {
	q := input.ReadQuery(r)
	category, brand, model, l := q.Required("category_code"), q.Code("brand_code"), q.Code("model_code"), q.Locale()
	if q.Has("model_code") && !q.Has("brand_code") {
		q.Problem("brand_code", "required", "is required with model_code")
	}
	if err := q.Done(); err != nil {
		return err
	}
	snap := a.Service.Catalog()
	key := pageKey{list: "photo_indexes", locale: l, brand: brand, category: category, model: model}
	return a.pages.answer(w, r, snap, key, func() (any, error) {
		where := catalog.Context{Category: category, Brand: brand, Model: model}
		if err := snap.Check(where); err != nil {
			return nil, err
		}
		return listView[photoIndexView]{viewsIn(l, snap.PhotoIndexes(where), viewPhotoIndex)}, nil
	})
}

// listAnswerTimes depends on the account, the hour and the open orders, so it is computed for every request.
func (a *API) listAnswerTimes(w http.ResponseWriter, r *http.Request, c *call) error {
	q := input.ReadQuery(r)
	brand, category, l := q.Required("brand_code"), q.Required("category_code"), q.Locale()
	if err := q.Done(); err != nil {
		return err
	}
	snap := a.Service.Catalog()
	where := catalog.Context{Category: category, Brand: brand}
	if err := snap.Check(where); err != nil {
		return err
	}
	offers, err := a.Service.Offers(r.Context(), snap, where, c.key.AccountID)
	if err != nil {
		return err
	}
	p, err := render(listView[answerTimeView]{viewsIn(l, offers, viewOffer)})
	if err != nil {
		return err
	}
	p.write(w, r)
	return nil
}

type quoteView struct {
	AnswerTimes  []answerTimeView `json:"answer_times"`
	PhotoIndexes []photoIndexView `json:"photo_indexes"`
	AnswerTime   *int             `json:"answer_time"`
	Price        *int64           `json:"price"`
	Affordable   bool             `json:"affordable"`
	DueDate      *wire.Timestamp  `json:"due_date"`
}

func (a *API) quote(w http.ResponseWriter, r *http.Request, c *call) error {
	params := input.ReadQuery(r)
	l := params.Locale()
	if err := params.Done(); err != nil {
		return err
	}
	o, err := a.readObject(r)
	if err != nil {
		return err
	}
	brand := o.String("brand_code", input.Required, input.NotEmpty)
	category := o.String("category_code", input.Required, input.NotEmpty)
	model, answerTime := o.String("model_code", input.NotEmpty), o.Int("answer_time", input.Min(1))
	if err := o.Done(); err != nil {
		return err
	}
	q, err := a.Service.Quote(r.Context(), c.actor(r), category, brand, model, int(answerTime))
	if err != nil {
		return err
	}
	view := quoteView{
		AnswerTimes: viewsIn(l, q.Offers, viewOffer), PhotoIndexes: viewsIn(l, q.Indexes, viewPhotoIndex),
		Affordable: q.Affordable, DueDate: wire.OptionalTimestamp(q.DueAt),
	}
	if q.AnswerTime != nil {
		view.AnswerTime, view.Price = &q.AnswerTime.Code, &q.AnswerTime.Price
	}
	return httpx.WriteJSON(w, http.StatusOK, view)
}
