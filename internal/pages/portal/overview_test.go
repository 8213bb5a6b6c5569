package portal_test

import (
	"encoding/csv"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestOrderFilters chooses orders by status and outcome, on the page and in the file.
func TestOrderFilters(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Viewer)
	for range 30 {
		w.Order(t, w.Test, order.MockFake)
	}
	for range 2 {
		w.Order(t, w.Test, order.MockAuthentic)
	}
	waiting := w.Order(t, w.Test, order.MockUpdatePhotos)
	count := func(path string) int {
		t.Helper()
		return strings.Count(v.Get(path).Want(t, http.StatusOK).Body, `<th scope="row"`)
	}
	for path, want := range map[string]int{
		"?status=completed": 25, "?outcome=fake": 25, "?outcome=authentic": 2, "?status=completed&outcome=authentic": 2,
		"?status=queued": 0, "?status=update-photos": 1, "?status=queued&outcome=fake": 0, "?outcome=canceled": 0,
		"?status=error": 0, "?status=nonsense&outcome=nonsense": 25, "?status=&outcome=": 25, "?outcome=fake&before=1": 0,
		"?outcome=fake&before=-5": 25, "?outcome=fake&before=x": 25, "?outcome=fake&before=99999999999999999999": 25,
	} {
		if n := count("/portal/test/orders" + path); n != want {
			t.Errorf("%s: %d orders, want %d", path, n, want)
		}
		if n := count("/portal/live/orders" + path); n != 0 {
			t.Errorf("%s: %d orders in Live", path, n)
		}
	}
	v.Get("/portal/test/orders").
		Want(t, http.StatusOK, "1 order is waiting for photos.", `href="/portal/test/orders?status=update-photos"`)
	v.Get("/portal/test/orders?status=update-photos").
		Want(t, http.StatusOK, waiting, `<option value="update-photos" selected>`)
	page := v.Get("/portal/test/orders?outcome=fake").Want(t, http.StatusOK, `href="/portal/test/orders.csv?outcome=fake"`)
	older := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(page.Body)
	if older == nil {
		t.Fatalf("no further page\n%s", page.Body)
	}
	next := strings.ReplaceAll(older[1], "&amp;", "&")
	if n := count(next); n != 5 {
		t.Errorf("%d orders on the second page", n)
	}
	v.Get(next).Want(t, http.StatusOK, "Newest").Lacks(t, `rel="next"`)
	for path, want := range map[string]int{"": 33, "?outcome=authentic": 2, "?status=completed": 32} {
		rows, err := csv.NewReader(strings.NewReader(v.Get("/portal/test/orders.csv" + path).Body)).ReadAll()
		must.NoError(t, err)
		if len(rows) != want+1 {
			t.Errorf("%q: %d orders in the file, want %d", path, len(rows)-1, want)
		}
	}
}

// TestOverviewPage shows how an account is doing.
func TestOverviewPage(t *testing.T) {
	w := newWorld(t)
	w.Clock.Set(time.Now())
	v := w.AsUser(t, w.Viewer)
	v.Get("/portal/test").Want(t, http.StatusOK, "Getting started", "No endpoints yet", "no completed orders yet").
		Lacks(t, "<figure")
	w.answering(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) })
	w.Order(t, w.Test, order.MockAuthentic)
	w.Order(t, w.Test, order.MockFake)
	w.Order(t, w.Test, order.MockUpdatePhotos)
	v.Get("/portal/test").
		Want(t, http.StatusOK, "Orders per day", "Outcomes per day", "Turnaround per day, in seconds", "95th percentile",
			"3 total", "Webhook health",
			"Rate limit usage", `href="/portal/test/orders?status=update-photos"`).Lacks(t, "Failing now", "Getting started")
	v.Get("/portal/test?lang=ja").
		Want(t, http.StatusOK, "1 日あたりの判定結果", "日別の所要時間（秒）", "95 パーセンタイル",
			"Webhook の状態", "利用上限の使用状況")
	v.Get("/portal/test?lang=en")
	t.Run("FailingEndpoint", func(t *testing.T) {
		_, _ = send(t, w, v, "https://127.0.0.1:1999/dead", nil)
		v.Get("/portal/test").
			Want(t, http.StatusOK, "Failing now", "https://127.0.0.1:1999/dead", "0 succeeded, 1 failed", "0 %", "oldest:")
		v.Get("/portal/live").Want(t, http.StatusOK).Lacks(t, "https://127.0.0.1:1999/dead")
		w.AsUser(t, w.Stranger).Get("/portal/test").Want(t, http.StatusOK).Lacks(t, "https://127.0.0.1:1999/dead")
	})
}
