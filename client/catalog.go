package client

import (
	"cmp"
	"context"
	"iter"
	"time"
)

// Locale selects the language of the *Locale fields of an answer. The other fields are always English. Without a
// locale, both are English.
type Locale string

// Supported locales.
const (
	LocaleEnglish  Locale = "en"
	LocaleJapanese Locale = "ja"
)

// ReadOption changes what a read returns. A [Locale] is one.
type ReadOption interface{ addTo(query params) }

func (l Locale) addTo(query params) {
	if l != "" {
		query["locale"] = []string{string(l)}
	}
}

func readParams(opts []ReadOption) params {
	query := params{}
	for _, opt := range opts {
		opt.addTo(query)
	}
	return query
}

const maxCatalogLimit = 100

// Category is a kind of item.
type Category struct {
	Code       string  `json:"code"`
	Name       string  `json:"name"`
	NameLocale string  `json:"name_locale"`
	IconURL    *string `json:"icon_url"`
}

// Brand is a brand with the categories it serves.
type Brand struct {
	Code       string     `json:"code"`
	Name       string     `json:"name"`
	NameLocale string     `json:"name_locale"`
	Categories []Category `json:"categories"`
}

// Model is a model of one brand in one category.
type Model struct {
	Code       string  `json:"code"`
	Name       string  `json:"name"`
	NameLocale string  `json:"name_locale"`
	ImageURL   *string `json:"image_url"`
}

// AnswerTime is a time within which an order is answered, with its price.
type AnswerTime struct {
	Code            int        `json:"code"` // minutes; sent as [CreateOrder.AnswerTime]
	Name            string     `json:"name"`
	NameLocale      string     `json:"name_locale"`
	Price           int64      `json:"price"`             // credits, for this account and context
	Default         bool       `json:"default"`           // the suggested option
	Available       bool       `json:"available"`         // can be used for a new order now
	NextAvailableAt *time.Time `json:"next_available_at"` // nil when available now, or not known
}

// PhotoIndex is a view of the item that photos are taken of.
type PhotoIndex struct {
	Code        string   `json:"code"` // sent as [OrderPhoto.IndexCode]
	Name        string   `json:"name"`
	NameLocale  string   `json:"name_locale"`
	Required    bool     `json:"required"`    // an order needs at least one photo of it
	PhotoLimit  int      `json:"photo_limit"` // most photos of it in a new order
	IconURL     *string  `json:"icon_url"`
	ExampleURLs []string `json:"example_urls"`
}

// CategoriesQuery selects categories. Zero fields are not sent.
type CategoriesQuery struct {
	BrandCode string // only categories of this brand
	Locale    Locale
}

// BrandsQuery selects brands. Zero fields are not sent.
type BrandsQuery struct {
	CategoryCode string // only brands that serve this category
	Search       string // part of a name, in any case
	Locale       Locale
	Page         int // from 1
	Limit        int // 1 to 100
}

// ModelsQuery selects models. Zero fields are not sent; BrandCode and CategoryCode are required.
type ModelsQuery struct {
	BrandCode    string
	CategoryCode string
	Search       string // part of a name, in any case
	Locale       Locale
	Page         int // from 1
	Limit        int // 1 to 100
}

// AnswerTimesQuery selects answer times. BrandCode and CategoryCode are required.
type AnswerTimesQuery struct {
	BrandCode    string
	CategoryCode string
	Locale       Locale
}

// PhotoIndexesQuery selects photo indexes. CategoryCode is required, and ModelCode needs BrandCode. The more is known
// of the item, the more precise the indexes and examples are.
type PhotoIndexesQuery struct {
	CategoryCode string
	BrandCode    string
	ModelCode    string
	Locale       Locale
}

// ListCategories returns the categories of the catalog.
func (c *Client) ListCategories(ctx context.Context, q CategoriesQuery) ([]Category, error) {
	query := textParams("brand_code", q.BrandCode, "locale", string(q.Locale))
	return getList[Category](ctx, c, "/catalog/categories", query)
}

// ListBrands returns one page of the brands. [Client.AllBrands] goes through all pages.
func (c *Client) ListBrands(ctx context.Context, q BrandsQuery) (*Page[Brand], error) {
	query := textParams("category_code", q.CategoryCode, "search", q.Search,
		"locale", string(q.Locale)).page(q.Page, q.Limit)
	return read[Page[Brand]](ctx, c, "/catalog/brands", query)
}

// AllBrands goes through the brands from page q.Page on, page by page; without q.Limit it uses the largest pages. An
// error is yielded once, with a zero Brand, and ends the iteration.
func (c *Client) AllBrands(ctx context.Context, q BrandsQuery) iter.Seq2[Brand, error] {
	q.Limit = cmp.Or(q.Limit, maxCatalogLimit)
	return all(q.Page, anyOrder, func(page int) (*Page[Brand], error) {
		q.Page = page
		return c.ListBrands(ctx, q)
	})
}

// ListModels returns one page of the models of a brand in a category. [Client.AllModels] goes through all pages.
func (c *Client) ListModels(ctx context.Context, q ModelsQuery) (*Page[Model], error) {
	query := textParams("brand_code", q.BrandCode, "category_code", q.CategoryCode, "search", q.Search,
		"locale", string(q.Locale)).page(q.Page, q.Limit)
	return read[Page[Model]](ctx, c, "/catalog/models", query)
}

// AllModels goes through the models from page q.Page on, page by page; without q.Limit it uses the largest pages. An
// error is yielded once, with a zero Model, and ends the iteration.
func (c *Client) AllModels(ctx context.Context, q ModelsQuery) iter.Seq2[Model, error] {
	q.Limit = cmp.Or(q.Limit, maxCatalogLimit)
	return all(q.Page, anyOrder, func(page int) (*Page[Model], error) {
		q.Page = page
		return c.ListModels(ctx, q)
	})
}

// ListAnswerTimes returns the answer times for a brand in a category. Only those that are available can be used; read
// them again shortly before creating an order.
func (c *Client) ListAnswerTimes(ctx context.Context, q AnswerTimesQuery) ([]AnswerTime, error) {
	query := textParams("brand_code", q.BrandCode, "category_code", q.CategoryCode, "locale", string(q.Locale))
	return getList[AnswerTime](ctx, c, "/catalog/answer_times", query)
}

// ListPhotoIndexes returns the photo indexes for an item. Read them again when brand, category or model change.
func (c *Client) ListPhotoIndexes(ctx context.Context, q PhotoIndexesQuery) ([]PhotoIndex, error) {
	query := textParams("category_code", q.CategoryCode, "brand_code", q.BrandCode, "model_code", q.ModelCode,
		"locale", string(q.Locale))
	return getList[PhotoIndex](ctx, c, "/catalog/photo_indexes", query)
}

func getList[T any](ctx context.Context, c *Client, path string, query params) ([]T, error) {
	answer, err := read[list[T]](ctx, c, path, query)
	if err != nil {
		return nil, err
	}
	return answer.Data, nil
}
