package integration_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestCategories reads the categories.
func TestCategories(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		t.Run("All", func(t *testing.T) {
			c.Get(t, "/catalog/categories").Want(t, 200).Is(t, "", obj{"data": []any{
				obj{"code": "bags", "name": "Bags", "name_locale": "Bags", "icon_url": "https://cdn.example/icons/bags.png"},
				obj{"code": "shoes", "name": "Shoes", "name_locale": "Shoes", "icon_url": nil},
				obj{"code": "watches", "name": "Watches", "name_locale": "Watches", "icon_url": nil},
			}})
		})
		t.Run("OfABrand", func(t *testing.T) { // in the order of the brand
			wantCodes(t, c.Get(t, "/catalog/categories?brand_code=chanel"), "shoes", "bags")
			wantCodes(t, c.Get(t, "/catalog/categories?brand_code=nike"), "shoes")
		})
		t.Run("UnknownBrand", func(t *testing.T) {
			wantUnknown(t, c.Get(t, "/catalog/categories?brand_code=x"), "brand")
		})
		t.Run("EmptyBrand", func(t *testing.T) { c.Get(t, "/catalog/categories?brand_code=").Invalid(t, "brand_code empty") })
		t.Run("CodesAreCaseSensitive", func(t *testing.T) {
			c.Get(t, "/catalog/categories?brand_code=Chanel").Refused(t, 404, "not-found")
		})
	})
}

func wantCodes(t *testing.T, r *integrationtest.Response, codes ...string) {
	t.Helper()
	if got := r.Want(t, 200).List(t, "data", "code"); !slices.Equal(got, codes) {
		t.Errorf("%s: codes are %q, not %q", r.Request, got, codes)
	}
}

// TestBrands reads the brands.
func TestBrands(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		t.Run("All", func(t *testing.T) {
			shoes := obj{"code": "shoes", "name": "Shoes", "name_locale": "靴", "icon_url": nil}
			bags := obj{"code": "bags", "name": "Bags", "name_locale": "バッグ", "icon_url": "https://cdn.example/icons/bags.png"}
			c.Get(t, "/catalog/brands?locale=ja").Want(t, 200).Is(t, "", obj{
				"data": []any{
					obj{"code": "chanel", "name": "Chanel", "name_locale": "シャネル", "categories": []any{shoes, bags}},
					obj{"code": "nike", "name": "Nike", "name_locale": "Nike", "categories": []any{shoes}},
					obj{"code": "omega", "name": "Omega", "name_locale": "オメガ", "categories": []any{
						obj{"code": "watches", "name": "Watches", "name_locale": "Watches", "icon_url": nil},
					}},
				},
				"page": 1, "limit": 50, "total": 3,
			})
		})
		t.Run("OfACategory", func(t *testing.T) {
			wantCodes(t, c.Get(t, "/catalog/brands?category_code=shoes").Is(t, "total", 2), "chanel", "nike")
			wantCodes(t, c.Get(t, "/catalog/brands?category_code=watches").Is(t, "total", 1), "omega")
		})
		t.Run("UnknownCategory", func(t *testing.T) {
			wantUnknown(t, c.Get(t, "/catalog/brands?category_code=x"), "category")
		})
		t.Run("EmptyCategory", func(t *testing.T) {
			c.Get(t, "/catalog/brands?category_code=").Invalid(t, "category_code empty")
		})
		t.Run("Search", func(t *testing.T) {
			wantCodes(t, c.Get(t, "/catalog/brands?search=E").Is(t, "total", 3), "chanel", "nike", "omega")
			wantCodes(t, c.Get(t, "/catalog/brands?search=HAN").Is(t, "total", 1), "chanel")
			// the Japanese name, whatever the locale
			wantCodes(t, c.Get(t, "/catalog/brands?search=%E3%83%A3%E3%83%8D%E3%83%AB"), "chanel")
			wantCodes(t, c.Get(t, "/catalog/brands?search=e&category_code=shoes&limit=1&page=2").Is(t, "total", 2), "nike")
			wantCodes(t, c.Get(t, "/catalog/brands?search=%25")) // no pattern language
			wantCodes(t, c.Get(t, "/catalog/brands?search="), "chanel", "nike", "omega")
		})
		t.Run("Pages", func(t *testing.T) {
			wantCodes(t, c.Get(t, "/catalog/brands?limit=2").Is(t, "page", 1).Is(t, "limit", 2).Is(t, "total", 3), "chanel",
				"nike")
			wantCodes(t, c.Get(t, "/catalog/brands?limit=2&page=2").Is(t, "page", 2).Is(t, "total", 3), "omega")
			wantCodes(t, c.Get(t, "/catalog/brands?limit=2&page=3").Is(t, "page", 3).Is(t, "total", 3))
		})
	})
}

// TestModels reads the models of a brand in a category.
func TestModels(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		t.Run("OfBrandAndCategory", func(t *testing.T) {
			c.Get(t, "/catalog/models?brand_code=chanel&category_code=bags&locale=ja").Want(t, 200).Is(t, "", obj{
				"data": []any{
					obj{
						"code": "classic-flap", "name": "Classic Flap", "name_locale": "Classic Flap",
						"image_url": "https://cdn.example/models/classic-flap.jpg",
					},
					obj{"code": "boy-bag", "name": "Boy Bag", "name_locale": "ボーイバッグ", "image_url": nil},
				},
				"page": 1, "limit": 50, "total": 2,
			})
			wantCodes(t, c.Get(t, "/catalog/models?brand_code=chanel&category_code=shoes"), "slingback")
			wantCodes(t, c.Get(t, "/catalog/models?brand_code=omega&category_code=watches").Is(t, "total", 0))
		})
		t.Run("RequiredParameters", func(t *testing.T) {
			c.Get(t, "/catalog/models").Invalid(t, "brand_code required", "category_code required")
			c.Get(t, "/catalog/models?brand_code=&limit=0").Invalid(t, "brand_code empty", "category_code required", "limit min")
		})
		t.Run("UnknownCodes", func(t *testing.T) {
			wantUnknown(t, c.Get(t, "/catalog/models?brand_code=x&category_code=bags"), "brand")
			wantUnknown(t, c.Get(t, "/catalog/models?brand_code=nike&category_code=x"), "category")
		})
		t.Run("BrandDoesNotServeCategory", func(t *testing.T) {
			c.Get(t, "/catalog/models?brand_code=nike&category_code=bags").Refused(t, 400, "bad-request")
		})
		t.Run("Search", func(t *testing.T) {
			wantCodes(t, c.Get(t, "/catalog/models?brand_code=chanel&category_code=bags&search=BAG").Is(t, "total", 1),
				"boy-bag")
			wantCodes(t, c.Get(t, "/catalog/models?brand_code=chanel&category_code=bags&search=%E3%83%9C%E3%83%BC"), "boy-bag")
		})
		t.Run("Pages", func(t *testing.T) {
			wantCodes(t, c.Get(t, "/catalog/models?brand_code=chanel&category_code=bags&limit=1&page=2").Is(t, "total", 2),
				"boy-bag")
		})
	})
}

// TestPhotoIndexes reads the photo indexes of contexts.
func TestPhotoIndexes(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		overall := obj{
			"code": "overall", "name": "Overall picture", "name_locale": "全体写真", "required": true, "photo_limit": 2,
			"icon_url":     "https://cdn.example/icons/overall.png",
			"example_urls": []any{"https://cdn.example/examples/overall.jpg"},
		}
		interior := obj{
			"code": "interior", "name": "Interior", "name_locale": "Interior", "required": false, "photo_limit": 1,
			"icon_url": nil, "example_urls": []any{},
		}
		serial := obj{
			"code": "serial", "name": "Serial number", "name_locale": "シリアル番号", "required": true, "photo_limit": 3,
			"icon_url": nil, "example_urls": []any{},
		}
		t.Run("OfACategory", func(t *testing.T) {
			c.Get(t, "/catalog/photo_indexes?category_code=bags&locale=ja").Want(t, 200).
				Is(t, "", obj{"data": []any{overall, interior}})
		})
		t.Run("OfABrand", func(t *testing.T) {
			c.Get(t, "/catalog/photo_indexes?category_code=bags&brand_code=chanel&locale=ja").Want(t, 200).
				Is(t, "", obj{"data": []any{overall, interior, serial}})
		})
		t.Run("OfAModel", func(t *testing.T) {
			r := c.Get(t, "/catalog/photo_indexes?category_code=bags&brand_code=chanel&model_code=classic-flap&locale=ja").
				Want(t, 200)
			r.Is(t, "data.2.photo_limit", 4).Is(t, "data.2.required", false).Is(t, "data.2.name_locale", "シリアル番号").
				Is(t, "data.2.example_urls", []any{"https://cdn.example/examples/serial.jpg"})
			wantCodes(t, c.Get(t, "/catalog/photo_indexes?category_code=bags&brand_code=chanel&model_code=boy-bag"), "overall",
				"serial")
		})
		t.Run("CategoryRequired", func(t *testing.T) {
			c.Get(t, "/catalog/photo_indexes").Invalid(t, "category_code required")
		})
		t.Run("ModelNeedsBrand", func(t *testing.T) {
			c.Get(t, "/catalog/photo_indexes?category_code=bags&model_code=boy-bag").Invalid(t, "brand_code required")
			c.Get(t, "/catalog/photo_indexes?model_code=boy-bag").Invalid(t, "category_code required", "brand_code required")
		})
		t.Run("UnknownCodes", func(t *testing.T) {
			wantUnknown(t, c.Get(t, "/catalog/photo_indexes?category_code=x"), "category")
			wantUnknown(t, c.Get(t, "/catalog/photo_indexes?category_code=bags&brand_code=x"), "brand")
			wantUnknown(t, c.Get(t, "/catalog/photo_indexes?category_code=bags&brand_code=chanel&model_code=x"), "model")
		})
		t.Run("BrandDoesNotServeCategory", func(t *testing.T) {
			c.Get(t, "/catalog/photo_indexes?category_code=bags&brand_code=nike").Refused(t, 400, "bad-request")
		})
		t.Run("ModelOfOtherBrand", func(t *testing.T) {
			c.Get(t, "/catalog/photo_indexes?category_code=shoes&brand_code=nike&model_code=slingback").
				Refused(t, 400, "bad-request")
		})
		t.Run("ModelOfOtherCategory", func(t *testing.T) {
			c.Get(t, "/catalog/photo_indexes?category_code=bags&brand_code=chanel&model_code=slingback").
				Refused(t, 400, "bad-request")
		})
	})
}

// TestCatalog_Changes checks that an import shows at once and keeps what an order was made with.
func TestCatalog_Changes(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Test(t)
		id := c.CreateID(t, obj{"model_code": "boy-bag"})
		live := w.Live(t)
		open := live.CreateID(t)
		before := c.Get(t, "/catalog/models?brand_code=chanel&category_code=bags").Want(t, 200).Header.Get("ETag")
		w.ImportCatalog(t, []byte(`
locales: [en, ja]
categories: [{code: bags, name: {en: Handbags}}]
brands: [{code: chanel, name: {en: Chanel}, categories: [bags]}]
photo_indexes: [{code: overall, category: bags, name: {en: Overall}}]
answer_times: [{code: 1440, name: {en: 24 hours}, price: 5, default: true}]
conditions: [{code: unclear, text: {en: Unclear}}]
requirements: [{code: sharp-focus, text: {en: Sharp focus}}, {code: no-glare, text: {en: No glare}}]
`))
		t.Run("NewOrdersSeeTheNewOne", func(t *testing.T) {
			c.Get(t, "/catalog/models?brand_code=chanel&category_code=bags", "If-None-Match", before).Want(t, 200).
				Is(t, "total", 0)
			c.Post(t, "/orders", with(c.Bag(t), "model_code", "boy-bag")).Refused(t, 404, "not-found").
				Is(t, "details.entity", "model")
		})
		t.Run("OldOrdersKeepTheirTexts", func(t *testing.T) {
			c.Get(t, "/orders/"+id+"?locale=ja").Want(t, 200).Is(t, "classification", obj{
				"brand_code": "chanel", "category_code": "bags", "model_code": "boy-bag", "model_name": "Boy Bag",
				"model_name_locale": "ボーイバッグ",
			}).Is(t, "outcome_reasons_locale", []any{"縫製が一貫しています", "Hardware is genuine"})
		})
		t.Run("RemovedIndexesKeepTheirNames", func(t *testing.T) {
			w.RequestPhotos(t, open)
			live.Get(t, "/orders/"+open+"?locale=ja").Is(t, "photos_to_resubmit.1.name", "Serial number").
				Is(t, "photos_to_resubmit.1.name_locale", "シリアル番号")
			live.Post(t, "/orders/"+open+"/update_photos", obj{"photos": unable()}).Want(t, 202)
			w.Complete(t, open, order.Verdict{Outcome: order.Authentic})
			wantCertificateNames(t, w, open, text.Text{EN: "Overall"}, text.Text{EN: "Serial number", JA: "シリアル番号"})
		})
	})
}

// wantCertificateNames checks what the certificate of an order calls its photos.
func wantCertificateNames(t *testing.T, w *world, id string, want ...text.Text) {
	t.Helper()
	issued, err := w.Service.Certificate(t.Context(), w.Order(t, id).CertificateID)
	must.NoError(t, err)
	var c certificate.Certificate
	must.NoError(t, json.Unmarshal(issued.Document, &c))
	var got []text.Text
	for _, p := range c.Photos {
		got = append(got, p.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the certificate has %v, want %v", got, want)
	}
}

// wantUnknown checks that the code x of a kind is unknown.
func wantUnknown(t *testing.T, r *integrationtest.Response, entity string) {
	t.Helper()
	r.Refused(t, 404, "not-found").Is(t, "details", obj{"entity": entity, "code": "x"})
}
