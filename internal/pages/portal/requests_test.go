package portal_test

import (
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/testkit/must"
)

func TestRequests(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Viewer)
	id, live := w.request(t, access.Test), w.request(t, access.Live)
	t.Run("List", func(t *testing.T) {
		v.Get("/portal/test/requests").Want(t, http.StatusOK,
			id, "/docs/errors#validation-error", "POST /v1/integrations/orders")
		for _, filter := range []string{
			"class=4", "code=validation-error", "route=POST+%2Fv1%2Fintegrations%2Forders", "from=2026-01-01", "class=x",
		} {
			v.Get("/portal/test/requests?"+filter).Want(t, http.StatusOK, id)
		}
		for _, filter := range []string{"class=2", "code=x", "route=GET+%2Fx", "key=x", "order=x", "to=2020-01-01"} {
			if p := v.Get("/portal/test/requests?" + filter); strings.Contains(p.Body, id) || p.Status != http.StatusOK {
				t.Errorf("%s: %d shows the request", filter, p.Status)
			}
		}
	})
	t.Run("Detail", func(t *testing.T) {
		v.Get("/portal/test/requests/"+id).Want(t, http.StatusOK, "photos[3].url", "is required", `&#34;limit&#34;: 75`,
			"/docs/errors#validation-error")
		v.Get("/portal/test/requests/"+live).Want(t, http.StatusNotFound)
	})
	t.Run("RequestIDLeadsThere", func(t *testing.T) {
		for _, from := range []string{"/portal/test/requests?find=+" + live, "/portal/requests/" + live} {
			if p := v.Get(from); p.Location != "/portal/live/requests/"+live {
				t.Errorf("%s leads to %q", from, p.Location)
			}
		}
		if p := v.Get("/portal/test/requests?find=shop-1"); p.Location != "/portal/test/requests?order=shop-1" {
			t.Errorf("an external id leads to %q", p.Location)
		}
	})
	t.Run("OfAnOrder", func(t *testing.T) {
		orders, err := w.Service.FindOrders(t.Context(), w.Owner.Actor(access.Test, access.Origin{}),
			w.Order(t, w.Test, order.MockFake), 1)
		must.NoError(t, err)
		about := w.requestAbout(t, access.Test, orders[0].ID)
		for _, name := range []string{orders[0].ID, orders[0].Number, strings.ToLower(orders[0].Number)} {
			p := v.Get("/portal/test/requests?order="+name).Want(t, http.StatusOK, about)
			if strings.Contains(p.Body, id) {
				t.Errorf("%s finds the request about no order", name)
			}
		}
		made := func() string {
			return w.AsUser(t, w.Developer).Post("/portal/test/sandbox", "category", "bags", "brand", "prada",
				"key", w.Test.ID, "outcome", "authentic", "indexes", "overall-picture", "indexes", "serial-number",
				"indexes", "logo", "external_id", "shop-1").Want(t, http.StatusSeeOther).Location
		}
		first := w.requestAbout(t, access.Test, path.Base(made()))
		second := w.requestAbout(t, access.Test, path.Base(made()))
		v.Get("/portal/test/requests?order=shop-1").Want(t, http.StatusOK, first, second)
		if p := v.Get("/portal/live/requests?order=shop-1"); strings.Contains(p.Body, first) {
			t.Error("it is found in the other environment")
		}
	})
	t.Run("SwitchedOff", func(t *testing.T) {
		empty := "/portal/test/requests?key=x"
		v.Get(empty).Want(t, http.StatusOK, "No requests")
		w.Portal.NoRequestLog = true
		defer func() { w.Portal.NoRequestLog = false }()
		v.Get(empty).Want(t, http.StatusOK, "Requests are not recorded")
		v.Get("/portal/test/requests").Want(t, http.StatusOK, id)
	})
	t.Run("OfAnotherAccount", func(t *testing.T) {
		stranger := w.AsUser(t, w.Stranger)
		stranger.Get("/portal/test/requests/"+id).Want(t, http.StatusNotFound)
		stranger.Get("/portal/requests/"+id).Want(t, http.StatusNotFound)
		if p := stranger.Get("/portal/test/requests"); strings.Contains(p.Body, id) {
			t.Error("another account sees the request")
		}
	})
}

func TestEndpointPage(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	e := w.endpoint(t, access.Test)
	path := "/portal/test/webhooks/" + e.ID
	endpoint := func(t *testing.T, id string) *webhook.Endpoint {
		t.Helper()
		now, err := w.Service.Endpoint(t.Context(), access.Operator, id)
		must.NoError(t, err)
		return now
	}
	t.Run("PauseAndResume", func(t *testing.T) {
		v.Get(path).Want(t, http.StatusOK, e.URL, "Pause", "No attempts")
		if p := v.Post(path+"/pause", "paused", "1"); p.Location != path || endpoint(t, e.ID).PausedAt == nil {
			t.Errorf("led to %q, not paused", p.Location)
		}
		v.Get(path).Want(t, http.StatusOK, "Resume", "Deliveries wait")
		if v.Post(path + "/pause"); endpoint(t, e.ID).PausedAt != nil {
			t.Error("still paused")
		}
	})
	t.Run("RotateSecret", func(t *testing.T) {
		v.Get(path+"/rotate").Want(t, http.StatusOK, "Rotate the signing secret?")
		before := endpoint(t, e.ID).SealedSecret
		v.Post(path+"/rotate").Want(t, http.StatusOK, "shown only once", "valid until", `class="secret"`)
		after := endpoint(t, e.ID)
		if after.SealedSecret == before || after.Rotation == nil || after.Rotation.SealedPrevious != before {
			t.Error("the secret is not rotated")
		}
	})
	t.Run("RotateSecretOnce", func(t *testing.T) {
		once := w.endpoint(t, access.Test)
		path := "/portal/test/webhooks/" + once.ID + "/rotate"
		first := endpoint(t, once.ID)
		since := first.CreatedAt.Format(time.RFC3339Nano)
		v.Get(path).Want(t, http.StatusOK, `name="since" value="`+since+`"`).Lacks(t, "valid until")
		w.Clock.Advance(time.Second)
		v.Post(path, "since", since).Want(t, http.StatusOK, `class="secret"`)
		shown := endpoint(t, once.ID)
		w.Clock.Advance(time.Second)
		v.Post(path, "since", since).Want(t, http.StatusUnprocessableEntity, "rotated already", `name="lost"`).
			Lacks(t, `class="secret"`)
		if after := endpoint(t, once.ID); after.SealedSecret != shown.SealedSecret {
			t.Error("a form that was sent twice rotated twice")
		}
		v.Post(path, "since", shown.Rotation.At.Format(time.RFC3339Nano), "lost", "1").
			Want(t, http.StatusOK, `class="secret"`)
		if after := endpoint(t, once.ID); after.SealedSecret == shown.SealedSecret ||
			after.Rotation.SealedPrevious != first.SealedSecret {
			t.Error("the secret that the receiver knows is gone")
		}
		kept := endpoint(t, once.ID)
		w.Clock.Advance(time.Second)
		v.Get(path).Want(t, http.StatusOK, "valid until", "becomes invalid at once")
		v.Post(path, "since", kept.Rotation.At.Format(time.RFC3339Nano)).Want(t, http.StatusOK, `class="secret"`)
		if after := endpoint(t, once.ID); after.Rotation.SealedPrevious != kept.SealedSecret {
			t.Error("the secret that was replaced is not the previous one")
		}
	})
	t.Run("HealthOfDeletedEndpointsCounts", func(t *testing.T) {
		tried := w.attempted(t)
		v.Get("/portal/test/webhooks/"+tried.ID).Want(t, http.StatusOK, "33.3 %", "Attempts, 7 days")
		v.Get("/portal/test").Want(t, http.StatusOK, "33.3 %")
		v.Post("/portal/test/webhooks/" + tried.ID + "/delete")
		v.Get("/portal/test").Want(t, http.StatusOK, "33.3 %")
	})
}
