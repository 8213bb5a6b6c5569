package ui_test

import (
	"math"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/pages/ui"
)

var start = time.Date(2025, 3, 1, 9, 0, 0, 0, time.UTC)

func gallery() ui.Area { return ui.Area{Name: "gallery", Files: os.DirFS("testdata/gallery")} }

// galleryData uses every component once.
func galleryData(r *http.Request, form *ui.Form) map[string]any {
	now := time.Now()
	at := func(d time.Duration) *time.Time { t := now.Add(d); return &t }
	labels := []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	return map[string]any{
		"Form": form, "Then": now.Add(-200 * time.Minute), "Nothing": (*time.Time)(nil),
		"Length": 26*time.Hour + 30*time.Minute,
		"Tabs": []ui.Tab{
			{Href: "?a", Label: "All", Count: 12, Current: true},
			{Href: "?b", Label: "Mine"},
			{Href: "?c", Label: "Late", Count: 3},
		},
		"Lines": &ui.Chart{
			Kind: ui.Lines, Title: "Orders a day", Text: "Orders rise from 12 to 44", Labels: labels,
			Series: []ui.Series{
				{Name: "Live", Values: []float64{12, 18, 25, 22, 31, 40, 44}},
				{Name: "Test", Values: []float64{5, 3, 8, math.NaN(), 2, 9, 4}},
			},
		},
		"Bars": &ui.Chart{
			Kind: ui.Bars, Stack: true, Title: "Outcomes", Text: "Most are authentic", Labels: labels, Unit: "orders",
			Series: []ui.Series{
				{Name: "Authentic", Values: []float64{10, 14, 20, 17, 25, 31, 37}},
				{Name: "Fake", Values: []float64{1, 3, 4, 2, 4, 6, 5}},
				{Name: "Unable to verify", Values: []float64{1, 1, 1, 3, 2, 3, 2}},
			},
		},
		"Orders": []order.Order{
			{Number: "AS-7Q2M9KXA", Status: order.Queued, DueAt: at(50 * time.Minute), Price: 12},
			{Number: "AS-1B3D5F7H", Status: order.Processing, DueAt: at(12 * time.Minute), Price: 4},
			{Number: "AS-3N5P7Q9R", Status: order.Processing, DueAt: at(5 * time.Minute), Price: 4},
			{Number: "AS-9Z8Y7X6W", Status: order.UpdatePhotos, Price: 4},
			{Number: "AS-2C4E6G8J", Status: order.Completed, Outcome: order.Authentic, DueAt: at(-3 * time.Minute), Price: 1200},
			{Number: "AS-5T6R7S8V", Status: order.Completed, Outcome: order.Fake, Price: 4},
			{Number: "AS-5T6R7S8W", Status: order.Failed, Price: 4},
		},
		"Pager": ui.Pager{Page: 5, Limit: 20, Total: 12345, URL: r.URL},
		"Options": []ui.Option{
			{Value: "a", Label: "Authentic", Hint: "genuine"},
			{Value: "b", Label: "Fake"},
			{Value: "c", Label: "Unable to verify"},
		},
	}
}

// galleryHandler is a small audience: a page with a form, and a shell around it.
func galleryHandler(site *ui.Site) http.Handler {
	pages := site.Pages("gallery")
	pages.Shell = func(r *http.Request) ui.Shell {
		return ui.Shell{
			Label: "Desk", Home: "/gallery",
			User: &ui.UserMenu{Name: "Aiko Tanaka", Detail: "Reviewer", Href: "/me", SignOut: "/sign-out"},
			Groups: []ui.NavGroup{
				{
					Items: []ui.NavItem{
						{Href: "/gallery", Label: site.T(r, "gallery.title"), Icon: "list", Count: 7},
						{Href: "/x", Label: "Mine", Icon: "user"},
					},
				},
				{
					Label: "Administration",
					Items: []ui.NavItem{
						{Href: "/accounts", Label: "Accounts", Icon: "users"}, {Href: "/health", Label: "Health", Icon: "chart"},
					},
				},
			},
		}
	}
	mux := http.NewServeMux()
	site.Routes(mux)
	mux.Handle("GET /gallery", pages.Handle(func(w http.ResponseWriter, r *http.Request) error {
		return pages.Render(w, r, ui.Page{
			Template: "gallery", Data: galleryData(r, ui.NewForm("note", "Hello", "role", "b")), Wide: r.URL.Query().Has("wide"),
		})
	}))
	mux.Handle("POST /gallery", pages.Handle(func(w http.ResponseWriter, r *http.Request) error {
		form, err := ui.ReadForm(w, r)
		if err != nil {
			return err
		}
		if form.Get("email") == "" {
			form.Fail("email", "gallery.wrong")
			return pages.Render(w, r, ui.Page{
				Template: "gallery", Data: galleryData(r, form), Status: http.StatusUnprocessableEntity,
			})
		}
		return site.Redirect(w, r, "/gallery", ui.Done("gallery.saved", "name", form.Get("email")))
	}))
	return site.Wrap(mux)
}

func galleryURL(path string) *url.URL { return &url.URL{Path: path} }
