package admin_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/statistics"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// season gives the shop a past of a month, so that charts have something to draw.
func (w *world) season(t *testing.T) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	now := w.Clock.Now()
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		for back := 1; back <= 30; back++ {
			day := now.AddDate(0, 0, -back)
			f := statistics.Figures{
				Created: int64(20 + random.IntN(30)), Times: make(map[int]*statistics.AnswerTimeFigures),
				Reviewers: map[string]int64{w.Mika.ID: 14, w.Aoi.ID: 5},
				Ended: map[string]int64{
					"authentic": int64(10 + random.IntN(9)), "fake": int64(random.IntN(6)), "unable-to-verify": 2,
					"canceled": int64(random.IntN(3)), "error": 1,
				},
			}
			for _, minutes := range []int{60, 1440} {
				figures := &statistics.AnswerTimeFigures{
					Verdicts: 12, OnTime: int64(9 + random.IntN(4)), Turnaround: make(statistics.Histogram),
				}
				for range figures.Verdicts {
					figures.Turnaround.Add(time.Duration(float64(minutes) * (0.2 + 0.9*random.Float64()) * float64(time.Minute)))
				}
				f.Times[minutes] = figures
			}
			text, err := json.Marshal(f)
			if err != nil {
				return err
			}
			if err := tx.SaveDailyStatistics(day.UTC().Format(time.DateOnly), string(text)); err != nil {
				return err
			}
			for hour := range 24 {
				s := &store.QueueSample{
					At: day.Truncate(24 * time.Hour).Add(time.Duration(hour) * time.Hour), Queued: int64(random.IntN(12)),
					Processing: 4, UpdatePhotos: 3,
				}
				if err := tx.SaveQueueSample(s, day.AddDate(-1, 0, 0), now); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// noPages are the addresses that answer with something else than a page: those of forms lead to the page they are on.
var noPages = []string{
	"GET /desk/admin", "GET /desk/admin/accounts/{account}/users/{user}/{action}",
	"GET /desk/admin/accounts/{account}/keys/{key}/{action}", "GET /desk/admin/catalog/export",
	"GET /desk/admin/catalog/drafts/{draft}/drop", "GET /desk/admin/catalog/answer-times/{code}/{action}",
	"GET /desk/admin/deliveries/{delivery}/redeliver", "GET /desk/admin/certificates/{certificate}/revoke",
	"GET /desk/admin/staff/invitations", "GET /desk/admin/staff/invitations/{invitation}/again",
	"GET /desk/admin/staff/{staff}/{action}", "GET /desk/admin/staff/{staff}/token/revoke", "GET /desk/admin/log.csv",
	"GET /desk/admin/approvals/{approval}/{action}",
}

// TestPages opens every page of the table of routes, and pages in states of interest, in both themes and languages on
// all screens, and looks for what keeps people from using it.
func TestPages(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	w.season(t)
	v := w.AsStaff(t, w.Aoi)
	for range 3 {
		w.Order(t, w.Live, "")
	}
	w.Order(t, w.Test, order.MockFake)
	delivery, certificate := w.failed(t), w.certificate(t)
	revoked := w.certificate(t)
	v.Post("/desk/admin/certificates/"+revoked+"/revoke", "reason", "The item was exchanged after the verdict.", "sure",
		"yes").Want(t, http.StatusSeeOther)
	v.Post("/desk/admin/catalog/answer-times/60/pause").Want(t, http.StatusSeeOther)
	draft := upload(v, "autumn.yaml",
		strings.NewReplacer("en: Chanel", "en: CHANEL", "price: 8", "price: 9").Replace(string(demo.Catalog))).
		Want(t, http.StatusSeeOther).Location
	account := "/desk/admin/accounts/" + w.Account.ID
	fill := func(pattern string) string {
		_, path, _ := strings.Cut(pattern, " ")
		return w.fill(t, strings.NewReplacer("{key}", w.Test.ID, "{delivery}", delivery, "{certificate}", certificate,
			"{staff}", w.Mika.ID).Replace(path))
	}
	pages := uitest.SortPages(t, w.Admin.Patterns(), noPages, fill, func(path string) (int, string) {
		p := v.Get(path)
		return p.Status, p.Body
	})[0]
	pages["accounts-none"], pages["revoked"] = "/desk/admin/accounts?q=nobody", "/desk/admin/certificates/"+revoked
	pages["catalog-indexes"], pages["preview"] = "/desk/admin/catalog?section=photo_indexes", draft
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Open("/desk/sign-in?lang=en")
	b.Fill("#f-email", "aoi@example.com")
	b.Fill("#f-password", password)
	b.Follow(".signin .primary")
	b.CheckPages(pages)
	w.SweepError, w.MailStopped = "file "+strings.Repeat("abcdefgh", 4)+".jpg: remove /var/lib/assay/media/a/b/"+
		strings.Repeat("abcdefgh", 4)+".jpg: permission denied …", true
	b.CheckPages(map[string]string{"system-failing": "/desk/admin/system"})
	b.Allow("404") // the browser says so
	b.CheckPages(map[string]string{"not-found": "/desk/admin/accounts/nobody"})
	t.Run("Forms", func(t *testing.T) {
		b.Open("/desk/admin/staff?lang=en")
		b.Fill("#f-name", "Ken Oda")
		b.Fill("#f-email", "ken@example.com")
		b.Follow("form.card button[formaction]")
		if got := b.Text("main"); !strings.Contains(got, "Ken Oda created") || !strings.Contains(got, "assay_staff_") {
			t.Errorf("the page says %q", got)
		}
		b.CheckAccessibility()
		b.Screenshot("once")
		b.Allow("422") // the browser says so when a form is refused
		b.Open(account + "/credits/live")
		b.Fill("#f-amount", "-999999")
		b.Fill("#f-note", "too much")
		b.Follow("form.card .primary")
		b.CheckAccessibility()
		b.Screenshot("wrong")
	})
}
