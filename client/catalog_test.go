package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

func TestCatalogQueries(t *testing.T) {
	const empty, emptyPage = `{"data":[]}`, `{"data":[],"page":1,"limit":50,"total":0}`
	for _, tt := range []struct {
		name   string
		answer string
		call   func(context.Context, *client.Client) error
		want   string // request URI below the base
	}{
		{"CategoriesPlain", empty, func(ctx context.Context, c *client.Client) error {
			_, err := c.ListCategories(ctx, client.CategoriesQuery{})
			return err
		}, "/catalog/categories"},
		{"CategoriesFull", empty, func(ctx context.Context, c *client.Client) error {
			_, err := c.ListCategories(ctx, client.CategoriesQuery{BrandCode: "chanel", Locale: client.LocaleJapanese})
			return err
		}, "/catalog/categories?brand_code=chanel&locale=ja"},
		{"BrandsPlain", emptyPage, func(ctx context.Context, c *client.Client) error {
			_, err := c.ListBrands(ctx, client.BrandsQuery{})
			return err
		}, "/catalog/brands"},
		{"BrandsFull", emptyPage, func(ctx context.Context, c *client.Client) error {
			_, err := c.ListBrands(ctx, client.BrandsQuery{
				CategoryCode: "bags", Search: "A & B=シ", Locale: client.LocaleEnglish, Page: 2, Limit: 100,
			})
			return err
		}, "/catalog/brands?category_code=bags&limit=100&locale=en&page=2&search=A+%26+B%3D%E3%82%B7"},
		{"ModelsFull", emptyPage, func(ctx context.Context, c *client.Client) error {
			_, err := c.ListModels(ctx, client.ModelsQuery{
				BrandCode: "chanel", CategoryCode: "bags", Search: "flap", Locale: client.LocaleJapanese, Page: 3, Limit: 5,
			})
			return err
		}, "/catalog/models?brand_code=chanel&category_code=bags&limit=5&locale=ja&page=3&search=flap"},
		{"AnswerTimesFull", empty, func(ctx context.Context, c *client.Client) error {
			_, err := c.ListAnswerTimes(ctx, client.AnswerTimesQuery{
				BrandCode: "chanel", CategoryCode: "bags", Locale: client.LocaleEnglish,
			})
			return err
		}, "/catalog/answer_times?brand_code=chanel&category_code=bags&locale=en"},
		{"PhotoIndexesFull", empty, func(ctx context.Context, c *client.Client) error {
			_, err := c.ListPhotoIndexes(ctx, client.PhotoIndexesQuery{
				CategoryCode: "bags", BrandCode: "chanel", ModelCode: "flap", Locale: client.LocaleJapanese,
			})
			return err
		}, "/catalog/photo_indexes?brand_code=chanel&category_code=bags&locale=ja&model_code=flap"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t, answer(200, tt.answer))
			noError(t, tt.call(t.Context(), s.client()))
			r := s.only()
			equal(t, "method", r.Method, "GET")
			equal(t, "URI", r.URI, "/v1/integrations"+tt.want)
			equal(t, "body", r.Body, "")
		})
	}
}

func TestBrandsDecodes(t *testing.T) {
	s := newService(t, answer(200, `{"data":[{"code":"chanel","name":"Chanel","name_locale":"シャネル","categories":[
		{"code":"bags","name":"Bags","name_locale":"バッグ","icon_url":null},
		{"code":"shoes","name":"Shoes","name_locale":"靴","icon_url":"https://i.example/s.svg"}]}],
		"page":2,"limit":1,"total":9,"later":"ignored"}`))
	got, err := s.client().ListBrands(t.Context(), client.BrandsQuery{Page: 2, Limit: 1})
	noError(t, err)
	icon := "https://i.example/s.svg"
	equal(t, "page", got, &client.Page[client.Brand]{
		Page: 2, Limit: 1, Total: 9,
		Data: []client.Brand{{
			Code: "chanel", Name: "Chanel", NameLocale: "シャネル",
			Categories: []client.Category{
				{Code: "bags", Name: "Bags", NameLocale: "バッグ"},
				{Code: "shoes", Name: "Shoes", NameLocale: "靴", IconURL: &icon},
			},
		}},
	})
}

func TestAnswerTimesDecodes(t *testing.T) {
	s := newService(t, answer(200, `{"data":[
		{"code":30,"name":"30 minutes","name_locale":"30分","price":12,"default":false,"available":false,
		 "next_available_at":"2026-03-02T00:00:00.000Z"},
		{"code":1440,"name":"24 hours","name_locale":"24時間","price":4,"default":true,"available":true,
		 "next_available_at":null}]}`))
	got, err := s.client().ListAnswerTimes(t.Context(), client.AnswerTimesQuery{BrandCode: "b", CategoryCode: "c"})
	noError(t, err)
	next := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	equal(t, "answer times", got, []client.AnswerTime{
		{Code: 30, Name: "30 minutes", NameLocale: "30分", Price: 12, NextAvailableAt: &next},
		{Code: 1440, Name: "24 hours", NameLocale: "24時間", Price: 4, Default: true, Available: true},
	})
}

func TestPhotoIndexesAndModelsDecode(t *testing.T) {
	s := newService(t,
		answer(200, `{"data":[{"code":"serial","name":"Serial","name_locale":"番号","required":true,"photo_limit":3,
			"icon_url":null,"example_urls":["https://e.example/1.jpg"]}]}`),
		answer(200, `{"data":[{"code":"flap","name":"Flap","name_locale":"Flap","image_url":null}],"page":1,"limit":50,`+
			`"total":1}`),
	)
	c := s.client()
	indexes, err := c.ListPhotoIndexes(t.Context(), client.PhotoIndexesQuery{CategoryCode: "bags"})
	noError(t, err)
	equal(t, "indexes", indexes, []client.PhotoIndex{{
		Code: "serial", Name: "Serial", NameLocale: "番号", Required: true, PhotoLimit: 3,
		ExampleURLs: []string{"https://e.example/1.jpg"},
	}})
	models, err := c.ListModels(t.Context(), client.ModelsQuery{BrandCode: "chanel", CategoryCode: "bags"})
	noError(t, err)
	equal(t, "models", models.Data, []client.Model{{Code: "flap", Name: "Flap", NameLocale: "Flap"}})
}

func TestBalance(t *testing.T) {
	s := newService(t, answer(200, `{"availableCredits":9007199254740993}`))
	got, err := s.client().GetBalance(t.Context())
	noError(t, err)
	equal(t, "credits", got.AvailableCredits, int64(9007199254740993))
	equal(t, "URI", s.only().URI, "/v1/integrations/balance")
}
