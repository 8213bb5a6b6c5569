package desk_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
)

func (w *world) photo() string { return w.Customer.URLs[access.Live][3] }

func provided(index, url string) order.SubmissionEntry {
	return order.SubmissionEntry{IndexCode: index, URL: &url}
}

func unable(index string) order.SubmissionEntry {
	return order.SubmissionEntry{IndexCode: index, Unable: true}
}

// submitEntries answers the photo request of an order as its customer.
func (w *world) submitEntries(t testing.TB, id, note string, entries ...order.SubmissionEntry) error {
	t.Helper()
	_, err := w.Service.SubmitPhotos(t.Context(), w.Customer.Live.Actor(access.Origin{}), id,
		&order.Submission{Entries: entries, Note: note})
	return err
}

func TestRequestPhotos(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		t.Run("Full", func(t *testing.T) {
			id := w.claimed(t, w.Mika)
			w.Clock.Advance(20 * time.Minute)
			reference := w.photo()
			r := w.post(t, w.Mika, "/orders/"+id+"/request_photos?locale=ja", `{"photos":[
				{"index_code":"serial-number","condition":"unclear","requirements":["sharp-focus"],"comment":"All digits.",
				 "reference_photo_url":"`+reference+`","max_photos":5},
				{"index_code":"clasp","condition":null,"requirements":null,"comment":null,
				 "reference_photo_url":null,"max_photos":null}]}`).
				want(t, http.StatusOK, "")
			if r.text("status") != "update-photos" || r.at("due_date") != nil || r.text("assignee", "name") != "Mika Sato" {
				t.Errorf("answer %v", r.body)
			}
			first := r.at("photos_to_resubmit", 0).(map[string]any)
			want := map[string]any{
				"index_code": "serial-number", "name": "Serial number sticker or microchip plate",
				"name_locale": "シリアルシールまたはマイクロチッププレート",
				"condition":   "unclear", "condition_locale": "不鮮明です",
				"requirements": []any{"sharp-focus"}, "requirements_locale": []any{"ピントを合わせてください"}, "comment": "All digits.",
				"reference_photo_url": reference, "max_photos": 5.0,
			}
			if fmt.Sprint(first) != fmt.Sprint(want) {
				t.Errorf("first request\n%v, want\n%v", first, want)
			}
			second := r.at("photos_to_resubmit", 1).(map[string]any)
			if second["condition"] != nil || second["comment"] != nil || second["max_photos"] != 2.0 ||
				len(second["requirements"].([]any)) != 0 {
				t.Errorf("second request %v, want nothing but the index and its photo limit", second)
			}
			if got := r.at("timeline", 2, "details"); fmt.Sprint(got) != "map[index_codes:[serial-number clasp] round:1]" {
				t.Errorf("timeline details %v", got)
			}
			events := w.deliveries(t, id)
			if len(events) != 1 || events[0]["webhook_event"] != "update-photos" ||
				len(events[0]["photos_to_resubmit"].([]any)) != 2 {
				t.Errorf("events %v", events)
			}

			w.Clock.Advance(100 * time.Hour)
			must.NoError(t, w.submitEntries(t, id, "In daylight.", provided("serial-number", w.photo()), unable("clasp")))
			r = w.get(t, w.Mika, "/orders/"+id)
			if r.text("status") != "processing" || r.text("assignee", "id") != w.Mika.Staff.ID ||
				r.at("photos_to_resubmit") != nil {
				t.Errorf("after the submission %v", r.body)
			}
			due, err := time.Parse(time.RFC3339, r.text("due_date"))
			must.NoError(t, err)
			if left := due.Sub(w.Clock.Now()); left != 40*time.Minute || r.at("delayed") != false {
				t.Errorf("%s left, want the 40 minutes that were left", left)
			}
			photos := r.list("photos")
			if len(photos) != 4 || r.text("photos", 3, "url") != w.photo() || r.at("photos", 3, "round") != 1.0 ||
				r.at("photos", 0, "round") != 0.0 {
				t.Errorf("photos %v", photos)
			}
			if r.text("timeline", 3, "details", "unavailable_index_codes", 0) != "clasp" {
				t.Errorf("timeline %v does not tell what could not be provided", r.at("timeline"))
			}
			if r.text("notes", 0, "note") != "In daylight." || r.at("notes", 0, "round") != 1.0 ||
				r.text("notes", 0, "created_at") == "" {
				t.Errorf("notes %v", r.at("notes"))
			}
			if got := r.events(); !slices.Equal(got, []string{"created", "claimed", "photos-requested", "photos-submitted"}) ||
				r.text("timeline", 3, "actor") != "Shop backend" {
				t.Errorf("timeline %v", r.at("timeline"))
			}

			w.post(t, w.Mika, "/orders/"+id+"/request_photos", requestSerial).want(t, http.StatusOK, "")
			must.NoError(t, w.submit(t, id))
			if r = w.get(t, w.Mika, "/orders/"+id); r.at("photos", 4, "round") != 2.0 {
				t.Errorf("photos of the second round %v", r.at("photos"))
			}
		})
		t.Run("ReviewerGone", func(t *testing.T) {
			leaving := w.staff(t, "leaving@example.com", "Leaving", access.Reviewer)
			id := w.waiting(t, leaving)
			must.NoError(t, second(w.Service.DeactivateStaff(t.Context(), access.Operator, leaving.Staff.ID)))
			must.NoError(t, w.submit(t, id))
			r := w.get(t, w.Mika, "/orders/"+id)
			if r.text("status") != "queued" || r.at("assignee") != nil || r.text("due_date") == "" {
				t.Errorf("got %v assigned to %v, want it queued", r.at("status"), r.at("assignee"))
			}
			if got := r.events(); !slices.Equal(got[3:], []string{"photos-submitted", "released"}) ||
				r.at("timeline", 4, "actor") != nil ||
				r.text("timeline", 4, "details", "assignee", "name") != "Leaving" {
				t.Errorf("timeline %v", r.at("timeline"))
			}
			if r := w.post(t, w.Ren, "/orders/next", "").want(t, http.StatusOK, ""); r.text("id") != id {
				t.Errorf("next is %v, want %s", r.at("id"), id)
			}
		})

		id := w.claimed(t, w.Mika)
		one := func(more string) string { return `{"photos":[{"index_code":"serial-number",` + more + `}]}` }
		refusals := map[string]struct {
			body   string
			fields []string
		}{
			"NoPhotos":    {`{}`, []string{"photos"}},
			"NullPhotos":  {`{"photos":null}`, []string{"photos"}},
			"EmptyPhotos": {`{"photos":[]}`, []string{"photos"}},
			"PhotosType":  {`{"photos":{}}`, []string{"photos"}},
			"EntryType":   {`{"photos":["serial-number"]}`, []string{"photos[0]"}},
			"TooMany": {
				`{"photos":[` + strings.TrimSuffix(strings.Repeat(`{"index_code":"serial-number"},`, 76), ",") + `]}`,
				[]string{"photos"},
			},
			"NoIndex":    {`{"photos":[{"condition":"unclear"}]}`, []string{"photos[0].index_code"}},
			"EmptyIndex": {`{"photos":[{"index_code":""}]}`, []string{"photos[0].index_code"}},
			"UnknownIndex": {
				`{"photos":[{"index_code":"serial-number"},{"index_code":"nope"}]}`, []string{"photos[1].index_code"},
			},
			"IndexOfOtherCategory": {`{"photos":[{"index_code":"dial"}]}`, []string{"photos[0].index_code"}},
			"IndexTwice": {
				`{"photos":[{"index_code":"serial-number"},{"index_code":"serial-number"}]}`, []string{"photos[1].index_code"},
			},
			"UnknownCondition":   {one(`"condition":"nope"`), []string{"photos[0].condition"}},
			"EmptyCondition":     {one(`"condition":""`), []string{"photos[0].condition"}},
			"UnknownRequirement": {one(`"requirements":["sharp-focus","nope"]`), []string{"photos[0].requirements[1]"}},
			"RequirementTwice":   {one(`"requirements":["sharp-focus","sharp-focus"]`), []string{"photos[0].requirements[1]"}},
			"RequirementsType":   {one(`"requirements":"sharp-focus"`), []string{"photos[0].requirements"}},
			"CommentTooLong":     {one(`"comment":"` + strings.Repeat("字", 1001) + `"`), []string{"photos[0].comment"}},
			"ReferenceHTTP": {
				one(`"reference_photo_url":"http://example.com/a.jpg"`), []string{"photos[0].reference_photo_url"},
			},
			"ReferenceRelative": {one(`"reference_photo_url":"/a.jpg"`), []string{"photos[0].reference_photo_url"}},
			"ReferenceCredentials": {
				one(`"reference_photo_url":"https://a:b@example.com/a.jpg"`), []string{"photos[0].reference_photo_url"},
			},
			"ReferenceEmpty": {one(`"reference_photo_url":""`), []string{"photos[0].reference_photo_url"}},
			"ReferenceTooLong": {
				one(`"reference_photo_url":"https://example.com/` + strings.Repeat("a", 2030) + `"`),
				[]string{"photos[0].reference_photo_url"},
			},
			"ReferenceSpace": {
				one(`"reference_photo_url":"https://example.com/a b"`), []string{"photos[0].reference_photo_url"},
			},
			"MaxPhotosZero":     {one(`"max_photos":0`), []string{"photos[0].max_photos"}},
			"MaxPhotosNegative": {one(`"max_photos":-1`), []string{"photos[0].max_photos"}},
			"MaxPhotosTooMany":  {one(`"max_photos":76`), []string{"photos[0].max_photos"}},
			"MaxPhotosFraction": {one(`"max_photos":1.5`), []string{"photos[0].max_photos"}},
			"MaxPhotosText":     {one(`"max_photos":"3"`), []string{"photos[0].max_photos"}},
			"UnknownProperty":   {one(`"url":"x"`), []string{"photos[0].url"}},
			"CodesAllAtOnce": {
				`{"photos":[{"index_code":"nope","condition":"nope","requirements":["nope"]}]}`,
				[]string{"photos[0].index_code", "photos[0].condition", "photos[0].requirements[0]"},
			},
		}
		for name, tt := range refusals {
			t.Run("Refused/"+name, func(t *testing.T) {
				r := w.post(t, w.Mika, "/orders/"+id+"/request_photos", tt.body).want(t, http.StatusBadRequest, "validation-error")
				if got := r.fields(); !slices.Equal(got, tt.fields) {
					t.Errorf("fields %v, want %v: %v", got, tt.fields, r.at("details", "errors"))
				}
			})
		}
		if r := w.get(t, w.Mika, "/orders/"+id); r.text("status") != "processing" || len(w.deliveries(t, id)) != 0 {
			t.Errorf("refused requests have left %v", r.body)
		}
	})
}

// TestRequestPhotos_OfAnother checks that photos come back to who asked: an administrator takes the order over.
func TestRequestPhotos_OfAnother(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.claimed(t, w.Mika)
		w.post(t, w.Admin, "/orders/"+id+"/request_photos", requestSerial).want(t, http.StatusOK, "")
		must.NoError(t, w.submit(t, id))
		r := w.get(t, w.Admin, "/orders/"+id)
		if r.text("status") != "processing" || r.text("assignee", "id") != w.Admin.Staff.ID {
			t.Errorf("the order is in %v with %v", r.at("status"), r.at("assignee"))
		}
		w.post(t, w.Mika, "/orders/"+id+"/release", "").want(t, http.StatusConflict, "order-claimed")
	})
}

// TestVerdictRace lets the customer's photos, a cancellation and a second cancellation meet.
func TestVerdictRace(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range 5 {
			before := w.balance(t, &w.Customer)
			id := w.waiting(t, w.Mika)
			var racers sync.WaitGroup
			results := make(chan string, 3)
			racers.Go(func() {
				err := w.submit(t, id)
				if err != nil && fault.CodeOf(err) != order.CodeNotAwaitingPhotos {
					t.Errorf("submission: %v", err)
				}
				results <- "submit " + fault.CodeOf(err)
			})
			for range 2 {
				racers.Go(func() {
					_, err := w.Service.CancelOrder(t.Context(), w.Admin.Staff.Actor(access.Origin{}), id, "")
					results <- "cancel " + fault.CodeOf(err)
				})
			}
			racers.Wait()
			close(results)
			canceled := 0
			for r := range results {
				if r == "cancel " {
					canceled++
				}
			}
			if canceled != 1 {
				t.Errorf("%d cancellations were accepted, want 1", canceled)
			}
			if got := w.balance(t, &w.Customer); got != before {
				t.Errorf("balance %d, want %d: one refund", got, before)
			}
		}
	})
}

// TestVerdictsRace lets an assignee and an administrator judge the same order.
func TestVerdictsRace(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.claimed(t, w.Mika)
		var racers sync.WaitGroup
		codes := make(chan string, 2)
		for _, who := range []*service.NewStaff{w.Mika, w.Admin} {
			racers.Go(func() {
				codes <- w.post(t, who, "/orders/"+id+"/complete", `{"outcome":"authentic"}`).text("code")
			})
		}
		racers.Wait()
		got := []string{<-codes, <-codes}
		slices.Sort(got)
		if !slices.Equal(got, []string{"", "invalid-transition"}) {
			t.Errorf("codes %q", got)
		}
		if n := len(w.deliveries(t, id)); n != 1 {
			t.Errorf("%d events, want 1", n)
		}
	})
}
