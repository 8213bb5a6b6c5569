package integration_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
)

// unable are entries that resolve everything that World.RequestPhotos asks for, without photos.
func unable() []any {
	return []any{
		obj{"index_code": "overall", "is_unable_to_provide": true}, obj{"index_code": "serial", "is_unable_to_provide": true},
	}
}

// TestUpdatePhotos submits photos that an order has asked for.
func TestUpdatePhotos(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		waiting := func(t *testing.T, changes ...obj) string {
			t.Helper()
			id := c.CreateID(t, changes...)
			w.RequestPhotos(t, id)
			return id
		}
		t.Run("Requested", func(t *testing.T) {
			id := waiting(t)
			c.Get(t, "/orders/"+id+"?locale=ja").Is(t, "status", "update-photos").Is(t, "outcome", nil).
				Lacks(t, "certificate_url", "outcome_reasons", "outcome_indexes").
				Is(t, "photos_to_resubmit", []any{
					obj{
						"index_code": "overall", "name": "Overall picture", "name_locale": "全体写真", "condition": "unclear",
						"condition_locale": "不鮮明です", "requirements": []any{"sharp-focus", "no-glare"},
						"requirements_locale": []any{"ピントを合わせてください", "No glare"},
						"comment":             "Please use daylight.", "reference_photo_url": "https://cdn.example/examples/overall.jpg",
						"max_photos": 2,
					},
					obj{
						"index_code": "serial", "name": "Serial number", "name_locale": "シリアル番号", "condition": nil,
						"condition_locale": nil, "requirements": []any{}, "requirements_locale": []any{}, "comment": nil,
						"reference_photo_url": nil, "max_photos": 1,
					},
				})
		})
		t.Run("RequestInEnglish", func(t *testing.T) {
			id := waiting(t)
			c.Get(t, "/orders/"+id).Is(t, "photos_to_resubmit.0.name_locale", "Overall picture").
				Is(t, "photos_to_resubmit.0.condition_locale", "Unclear").
				Is(t, "photos_to_resubmit.0.requirements_locale", []any{"Sharp focus", "No glare"})
		})
		t.Run("Accepted", func(t *testing.T) {
			id := waiting(t)
			urls := c.Photos(t, 3)
			c.Post(t, "/orders/"+id+"/update_photos", obj{"note": "As good as it gets.", "photos": []any{
				obj{"index_code": "serial", "url": urls[0]},
				obj{"index_code": "overall", "url": urls[1]},
				obj{"index_code": "overall", "url": urls[2]},
			}}).Want(t, 202).Is(t, "", obj{"id": id, "status": "accepted"})
			c.Get(t, "/orders/"+id).Is(t, "status", "processing").Lacks(t, "photos_to_resubmit")
			if got := rows(t, w, "SELECT index_code FROM order_photos WHERE order_id = $1 AND round = 1 ORDER BY position",
				id); len(got) != 3 || got[0][0] != "serial" {
				t.Errorf("the photos of the round are %v", got)
			}
			if got := rows(t, w, "SELECT round, note FROM order_notes WHERE order_id = $1", id); len(got) != 1 ||
				got[0][1] != "As good as it gets." {
				t.Errorf("the notes are %v", got)
			}
		})
		t.Run("UnableToProvide", func(t *testing.T) {
			id := waiting(t)
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": unable()}).Want(t, 202)
		})
		t.Run("FalseCountsAsNotGiven", func(t *testing.T) {
			id := waiting(t)
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": []any{
				obj{"index_code": "overall", "url": c.Photos(t, 1)[0], "is_unable_to_provide": false},
				obj{"index_code": "serial", "is_unable_to_provide": true},
			}}).Want(t, 202)
		})
		t.Run("EmptyNote", func(t *testing.T) { // a note is neither a code nor an id nor a name
			id := waiting(t)
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": unable(), "note": ""}).Want(t, 202)
			if got := rows(t, w, "SELECT note FROM order_notes WHERE order_id = $1", id); len(got) != 0 {
				t.Errorf("the notes are %v", got)
			}
		})
		t.Run("ByExternalID", func(t *testing.T) {
			id := waiting(t, obj{"external_id": "shop/7"})
			c.Post(t, "/orders/shop%2F7/update_photos", obj{"photos": unable()}).Want(t, 202).Is(t, "id", id)
		})
		t.Run("PhotoOfTheCreationAgain", func(t *testing.T) {
			body := c.Bag(t)
			photo, _ := body["photos"].([]any)[0].(obj)
			id := c.Post(t, "/orders", body).Want(t, 201).Text(t, "id")
			w.RequestPhotos(t, id)
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": []any{
				obj{"index_code": "overall", "url": photo["url"]}, obj{"index_code": "serial", "url": photo["url"]},
			}}).Want(t, 202)
		})
		t.Run("MoreThanOnce", func(t *testing.T) { // no idempotency: the order must ask again
			id := waiting(t)
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": unable()}).Want(t, 202)
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": unable()}).
				Refused(t, 409, "order-not-awaiting-update-photos")
			w.RequestPhotos(t, id)
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": unable()}).Want(t, 202)
			if o := w.Order(t, id); o.Round != 2 {
				t.Errorf("the order is in round %d", o.Round)
			}
		})
		t.Run("BackToTheReviewerWhoAsked", func(t *testing.T) {
			id := waiting(t)
			asked := w.Order(t, id).AssigneeID
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": unable()}).Want(t, 202)
			if o := w.Order(t, id); o.AssigneeID != asked || asked == "" || o.Status != order.Processing {
				t.Errorf("the order is %s, held by %q, not by %q", o.Status, o.AssigneeID, asked)
			}
		})
	})
}

// TestUpdatePhotos_States checks that only a waiting order takes photos.
func TestUpdatePhotos_States(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		for _, state := range []struct {
			name, status string
			bring        func(t *testing.T, id string)
		}{
			{name: "Queued", status: "queued", bring: func(*testing.T, string) {}},
			{name: "Processing", status: "processing", bring: func(t *testing.T, id string) { t.Helper(); w.Claim(t, id) }},
			{name: "Completed", status: "completed", bring: func(t *testing.T, id string) {
				t.Helper()
				w.Complete(t, id, order.Verdict{Outcome: order.UnableToVerify})
			}},
			{name: "Canceled", status: "completed", bring: func(t *testing.T, id string) { t.Helper(); w.Cancel(t, id) }},
			{name: "Error", status: "error", bring: func(t *testing.T, id string) { t.Helper(); w.Fail(t, id) }},
		} {
			t.Run(state.name, func(t *testing.T) {
				id := c.CreateID(t)
				state.bring(t, id)
				c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": unable()}).
					Refused(t, 409, "order-not-awaiting-update-photos").
					Is(t, "details", obj{"expected_status": "update-photos", "status": state.status})
				c.Get(t, "/orders/"+id).Is(t, "status", state.status)
			})
		}
	})
}

// TestUpdatePhotos_Refused checks the rules of a submission, one at a time.
func TestUpdatePhotos_Refused(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		id := c.CreateID(t)
		w.RequestPhotos(t, id)
		path := "/orders/" + id + "/update_photos"
		urls := c.Photos(t, 4)
		overall, serial := obj{"index_code": "overall", "url": urls[0]}, obj{"index_code": "serial", "url": urls[1]}
		noSerial := obj{"index_code": "serial", "is_unable_to_provide": true}

		t.Run("NotRequested", func(t *testing.T) {
			c.Post(t, path, obj{"photos": []any{overall, serial, obj{"index_code": "interior", "url": urls[2]}}}).
				Refused(t, 400, "photo-index-not-requested").
				Is(t, "details", obj{"requested_index_codes": []any{"overall", "serial"}, "field": "photos[2].index_code"})
		})
		t.Run("Missing", func(t *testing.T) {
			c.Post(t, path, obj{"photos": []any{serial}}).Refused(t, 400, "missing-requested-photo-indexes").
				Is(t, "details", obj{"missing_index_codes": []any{"overall"}})
		})
		t.Run("LimitExceeded", func(t *testing.T) {
			second := obj{"index_code": "serial", "url": urls[2]}
			c.Post(t, path, obj{"photos": []any{overall, serial, second}}).Refused(t, 400, "photo-limit-exceeded").
				Is(t, "details", obj{"index_code": "serial", "max_photos": 1, "received_photos": 2})
		})
		for _, form := range []struct {
			name    string
			entries []any
			field   string
		}{
			{
				name:    "BothKinds",
				entries: []any{overall, obj{"index_code": "serial", "url": urls[1], "is_unable_to_provide": true}},
				field:   "photos[1]",
			},
			{name: "NeitherKind", entries: []any{overall, obj{"index_code": "serial"}}, field: "photos[1]"},
			{
				name: "FalseAlone", entries: []any{obj{"index_code": "serial", "is_unable_to_provide": false}, overall},
				field: "photos[0]",
			},
			{
				name: "NullAlone", entries: []any{overall, obj{"index_code": "serial", "url": nil, "is_unable_to_provide": nil}},
				field: "photos[1]",
			},
			{name: "ProvidedAndUnavailable", entries: []any{overall, serial, noSerial}, field: "photos[2]"},
			{name: "UnavailableAndProvided", entries: []any{overall, noSerial, serial}, field: "photos[2]"},
			{name: "UnavailableTwice", entries: []any{overall, noSerial, noSerial}, field: "photos[2]"},
		} {
			t.Run(form.name, func(t *testing.T) {
				e := c.Post(t, path, obj{"photos": form.entries}).Refused(t, 400, "invalid-update-photo").
					Is(t, "details.field", form.field)
				if rule := e.Text(t, "details.rule"); rule == "" {
					t.Error("the rule is not told")
				}
			})
		}
		t.Run("ForeignURL", func(t *testing.T) {
			for _, url := range []string{
				"https://elsewhere.example/a.jpg", urls[0] + "?x", "", c.Account.Test(t).Photos(t, 1)[0],
				w.Live(t).Photos(t, 1)[0],
			} {
				c.Post(t, path, obj{"photos": []any{overall, obj{"index_code": "serial", "url": url}}}).
					Refused(t, 400, "unsupported-photo-url").
					Is(t, "details.field", "photos[1].url")
			}
		})
		many := make([]any, 76)
		for i := range many {
			many[i] = overall
		}
		for _, shape := range []struct {
			name     string
			body     obj
			problems []string
		}{
			{name: "PhotosMissing", body: obj{}, problems: []string{"photos required"}},
			{name: "PhotosEmpty", body: obj{"photos": []any{}}, problems: []string{"photos min_items"}},
			{name: "TooManyEntries", body: obj{"photos": many}, problems: []string{"photos max_items"}},
			{name: "EntryNotAnObject", body: obj{"photos": []any{"overall"}}, problems: []string{"photos[0] type"}},
			{
				name: "IndexMissing", body: obj{"photos": []any{obj{"url": urls[0]}}},
				problems: []string{"photos[0].index_code required"},
			},
			{
				name: "IndexEmpty", body: obj{"photos": []any{obj{"index_code": "", "url": urls[0]}}},
				problems: []string{"photos[0].index_code empty"},
			},
			{
				name: "URLNotAString", body: obj{"photos": []any{obj{"index_code": "overall", "url": 1}}},
				problems: []string{"photos[0].url type"},
			},
			{
				name: "URLTooLong", body: obj{"photos": []any{obj{"index_code": "overall", "url": strings.Repeat("x", 2049)}}},
				problems: []string{"photos[0].url max_length"},
			},
			{
				name: "UnableNotABoolean", body: obj{"photos": []any{obj{"index_code": "overall", "is_unable_to_provide": "true"}}},
				problems: []string{"photos[0].is_unable_to_provide type"},
			},
			{
				name: "NoteTooLong", body: obj{"photos": unable(), "note": strings.Repeat("界", 1001)},
				problems: []string{"note max_length"},
			},
			{name: "NoteNotAString", body: obj{"photos": unable(), "note": 1}, problems: []string{"note type"}},
			{
				name: "OldArrayName", body: obj{"update_photos": unable()},
				problems: []string{"photos required", "update_photos unknown"},
			},
		} {
			t.Run(shape.name, func(t *testing.T) { c.Post(t, path, shape.body).Invalid(t, shape.problems...) })
		}
		t.Run("NothingWasApplied", func(t *testing.T) {
			if got := rows(t, w, "SELECT round FROM order_photos WHERE order_id = $1 AND round > 0", id); len(got) != 0 {
				t.Errorf("%d photos were added", len(got))
			}
			c.Get(t, "/orders/"+id).Is(t, "status", "update-photos").Is(t, "photos_to_resubmit.1.index_code", "serial")
		})
		t.Run("LongestNote", func(t *testing.T) {
			c.Post(t, path, obj{"photos": unable(), "note": strings.Repeat("界", 1000)}).Want(t, 202)
		})
	})
}

// TestUpdatePhotos_MostEntries checks that 75 entries are taken.
func TestUpdatePhotos_MostEntries(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		t.Run("SeventyFive", func(t *testing.T) {
			c := w.Test(t)
			url := c.Photos(t, 1)[0]
			id := c.CreateID(t, obj{
				"category_code": "shoes", "photos": []any{obj{"url": url, "index_code": "pair"}}, "mock_outcome": "update-photos",
			})
			entries := make([]any, 75)
			for i := range entries {
				entries[i] = obj{"index_code": "pair", "url": url}
			}
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": entries}).Want(t, 202)
		})
	})
}

// TestUpdatePhotos_Race checks that of submissions that race one is accepted.
func TestUpdatePhotos_Race(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		for _, env := range access.Environments {
			t.Run(string(env), func(t *testing.T) {
				c := w.NewAccount(t).Key(t, env)
				for range 5 {
					var id string
					entries := unable()
					if env == access.Live {
						id = c.CreateID(t)
						w.RequestPhotos(t, id)
					} else {
						r := c.Create(t, obj{"mock_outcome": "update-photos"})
						id = r.Text(t, "id")
						entries = nil
						for _, index := range c.Get(t, "/orders/"+id).List(t, "photos_to_resubmit", "index_code") {
							entries = append(entries, obj{"index_code": index, "is_unable_to_provide": true})
						}
					}
					statuses := parallel(2, func(int) int {
						return c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": entries, "note": "mine"}).Status
					})
					if !slices.Equal(statuses, []int{202, 409}) {
						t.Errorf("the answers are %v", statuses)
					}
					if got := rows(t, w, "SELECT round FROM order_photos WHERE order_id = $1 AND round > 0",
						id); len(got) != len(entries) {
						t.Errorf("%d entries are kept, not %d", len(got), len(entries))
					}
				}
			})
		}
	})
}

// parallel runs f n times at once and returns the sorted results.
func parallel(n int, f func(i int) int) []int {
	results := make([]int, n)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-start
			results[i] = f(i)
		})
	}
	close(start)
	running.Wait()
	slices.Sort(results)
	return results
}
