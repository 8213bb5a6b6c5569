package integration_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
)

// takes sends photos through a capture link as its page does.
func takes(t *testing.T, w *world, address string, indexes ...string) *captureVisit {
	t.Helper()
	_, token, _ := strings.Cut(address, "/capture/")
	token, _, _ = strings.Cut(token, "?")
	v := &captureVisit{w: w, token: token}
	for i, index := range indexes {
		v.add(t, index+"-"+string(rune('a'+i)), index)
	}
	return v
}

type captureVisit struct {
	w     *world
	token string
}

func (v *captureVisit) add(t *testing.T, key, index string) {
	t.Helper()
	c, err := v.w.Service.OpenCapture(t.Context(), v.token)
	must.NoError(t, err)
	u, refusal, err := v.w.Staging.Accept(t.Context(), bytes.NewReader(pictures.GrayJPEG(640, 480)), key+".jpg",
		1<<20)
	must.NoError(t, err)
	if refusal != nil {
		t.Fatal(refusal)
	}
	defer media.CloseUploads([]media.Upload{u})
	must.NoError(t, v.w.Service.AddCapturePhoto(t.Context(), c, key, index, u))
}

func (v *captureVisit) submit(t *testing.T, unable ...string) error {
	t.Helper()
	c, err := v.w.Service.OpenCapture(t.Context(), v.token)
	if err != nil {
		return err
	}
	return v.w.Service.SubmitCapture(t.Context(), c, unable)
}

// TestCaptureLink makes, reads and revokes capture links.
func TestCaptureLink(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		c := w.Live(t)
		bag := obj{"category_code": "bags", "brand_code": "chanel"}
		t.Run("Item", func(t *testing.T) {
			made := c.Post(t, "/capture_links", integrationtest.With(bag, obj{
				"external_id": "sku", "locale": "ja", "return_url": "https://shop.example/#/x",
			})).Want(t, 201).Is(t, "status", "open").Is(t, "expires_at", "2026-03-04T01:00:00.000Z")
			id, url := made.Text(t, "id"), made.Text(t, "url")
			if !strings.HasPrefix(url, integrationtest.PublicURL+"/capture/") || !strings.HasSuffix(url, "?lang=ja") {
				t.Errorf("the address is %s", url)
			}
			open := obj{
				"id": id, "status": "open", "expires_at": "2026-03-04T01:00:00.000Z", "submitted_at": nil,
				"external_id": "sku", "order_id": nil, "photos": []any{},
			}
			c.Get(t, "/capture_links/"+id).Want(t, 200).Is(t, "", open)
			v := takes(t, w, url, "overall", "serial")
			c.Get(t, "/capture_links/"+id).Is(t, "", open) // nothing before the submission
			must.NoError(t, v.submit(t))
			got := c.Get(t, "/capture_links/"+id).Want(t, 200).Is(t, "status", "submitted").
				Is(t, "submitted_at", "2026-03-02T01:00:00.000Z").Is(t, "photos.0.index_code", "overall")
			if err := v.submit(t); err == nil {
				t.Error("the link can be used twice")
			}
			c.Delete(t, "/capture_links/"+id).Refused(t, 404, "not-found")
			c.Post(t, "/orders", with(bag, "photos", got.At(t, "photos"))).Want(t, 201)
		})
		t.Run("Order", func(t *testing.T) {
			id := c.CreateID(t, obj{"external_id": "asked"})
			c.Post(t, "/capture_links", obj{"order_id": id}).Refused(t, 409, "order-not-awaiting-update-photos").
				Is(t, "details", obj{"expected_status": "update-photos", "status": "queued"})
			w.RequestPhotos(t, id)
			index := c.Get(t, "/orders/"+id).Text(t, "photos_to_resubmit.0.index_code")
			made := c.Post(t, "/capture_links", obj{"order_id": "asked", "expires_in": 3600}).Want(t, 201).
				Is(t, "expires_at", "2026-03-02T02:00:00.000Z")
			link := "/capture_links/" + made.Text(t, "id")
			c.Get(t, link).Is(t, "order_id", id).Is(t, "external_id", "asked")
			v := takes(t, w, made.Text(t, "url"), index)
			must.NoError(t, v.submit(t, "serial"))
			c.Get(t, "/orders/"+id).Is(t, "status", "processing")
			c.Get(t, link).Is(t, "status", "submitted").Is(t, "photos.0.index_code", index)
		})
		t.Run("AnsweredElsewhere", func(t *testing.T) {
			id := c.CreateID(t)
			w.RequestPhotos(t, id)
			made := c.Post(t, "/capture_links", obj{"order_id": id}).Want(t, 201)
			c.Post(t, "/orders/"+id+"/update_photos", obj{"photos": []any{
				obj{"index_code": "overall", "is_unable_to_provide": true},
				obj{"index_code": "serial", "is_unable_to_provide": true},
			}}).Want(t, 202)
			c.Get(t, "/capture_links/"+made.Text(t, "id")).Is(t, "status", "expired")
			c.Delete(t, "/capture_links/"+made.Text(t, "id")).Refused(t, 404, "not-found")
			if err := takes(t, w, made.Text(t, "url")).submit(t); err == nil {
				t.Error("an answered request is answered again")
			}
		})
		t.Run("Expired", func(t *testing.T) {
			made := c.Post(t, "/capture_links", with(bag, "expires_in", 3600)).Want(t, 201)
			v := takes(t, w, made.Text(t, "url"), "overall", "serial")
			w.Clock.Advance(time.Hour)
			defer w.Clock.Set(integrationtest.Start)
			link := "/capture_links/" + made.Text(t, "id")
			c.Get(t, link).Is(t, "status", "expired").Is(t, "photos", []any{})
			c.Delete(t, link).Refused(t, 404, "not-found")
			if err := v.submit(t); err == nil {
				t.Error("an expired link can be used")
			}
			if n, err := w.Service.ExpireCaptureLinks(t.Context(), 10); n != 1 || err != nil {
				t.Errorf("%d links expired, %v", n, err)
			}
			if n, err := w.Service.DeleteUnusedPhotos(t.Context(), w.Clock.Now(), 10); n != 2 || err != nil {
				t.Errorf("%d photos deleted, %v", n, err)
			}
			w.Clock.Advance(31 * 24 * time.Hour)
			if n, err := w.Service.DeleteOldCaptureLinks(t.Context(), 10); n == 0 || err != nil {
				t.Errorf("%d links forgotten, %v", n, err)
			}
		})
		t.Run("Revoked", func(t *testing.T) {
			made := c.Post(t, "/capture_links", bag).Want(t, 201)
			link := "/capture_links/" + made.Text(t, "id")
			v := takes(t, w, made.Text(t, "url"), "overall")
			c.Delete(t, link).Want(t, 204)
			c.Delete(t, link).Refused(t, 404, "not-found")
			c.Get(t, link).Is(t, "status", "revoked").Is(t, "photos", []any{})
			if err := v.submit(t); err == nil {
				t.Error("a revoked link can be used")
			}
		})
		t.Run("Kept", func(t *testing.T) { // photos of an open link are not unused, those of a submitted one are new
			made := c.Post(t, "/capture_links", with(bag, "expires_in", 604800)).Want(t, 201)
			v := takes(t, w, made.Text(t, "url"), "overall", "serial")
			w.Clock.Advance(6 * 24 * time.Hour)
			defer w.Clock.Set(integrationtest.Start)
			sweep := func() {
				_, err := w.Service.DeleteUnusedPhotos(t.Context(), w.Clock.Now(), 100)
				must.NoError(t, err)
			}
			sweep()
			must.NoError(t, v.submit(t))
			sweep()
			photos := c.Get(t, "/capture_links/"+made.Text(t, "id")).Is(t, "status", "submitted").At(t, "photos")
			c.Post(t, "/orders", with(bag, "photos", photos)).Want(t, 201)
		})
		t.Run("Missing", func(t *testing.T) {
			v := takes(t, w, c.Post(t, "/capture_links", bag).Text(t, "url"), "overall")
			if err := v.submit(t, "serial"); err == nil || !strings.HasPrefix(err.Error(), "missing-photo-indexes") {
				t.Errorf("a required index is missing: %v", err)
			}
		})
		t.Run("Refused", func(t *testing.T) {
			c.Post(t, "/capture_links", obj{
				"brand_code": "", "expires_in": 3599, "locale": "fr", "return_url": "http://x", "x": 1,
			}).
				Invalid(t, "brand_code empty", "category_code required", "expires_in min", "locale enum", "return_url https",
					"x unknown")
			c.Post(t, "/capture_links", integrationtest.With(bag,
				obj{"expires_in": 604801, "order_id": "x", "external_id": "y"})).
				Invalid(t, "brand_code excluded", "category_code excluded", "external_id excluded", "expires_in max")
			c.Post(t, "/capture_links", with(bag, "brand_code", "none")).Refused(t, 404, "not-found").
				Is(t, "details.entity", "brand")
			c.Post(t, "/capture_links", obj{"order_id": "none"}).Refused(t, 404, "order-not-found")
			c.Post(t, "/capture_links", "{").Refused(t, 400, "bad-request")
			c.Get(t, "/capture_links/12").Refused(t, 400, "bad-request")
		})
		t.Run("OfOthers", func(t *testing.T) {
			made := c.Post(t, "/capture_links", bag).Want(t, 201)
			asked := c.CreateID(t)
			w.RequestPhotos(t, asked)
			for _, other := range []*integrationtest.Client{c.Account.Test(t), w.Live(t)} {
				other.Get(t, "/capture_links/"+made.Text(t, "id")).Refused(t, 404, "not-found")
				other.Delete(t, "/capture_links/"+made.Text(t, "id")).Refused(t, 404, "not-found")
				other.Post(t, "/capture_links", obj{"order_id": asked}).Refused(t, 404, "order-not-found")
			}
			reader := c.Account.Live(t, integrationtest.Scopes(access.OrdersRead))
			reader.Get(t, "/capture_links/"+made.Text(t, "id")).Want(t, 200)
		})
	})
}

// TestCaptureLink_Limit makes as many links as an account may have.
func TestCaptureLink_Limit(t *testing.T) {
	integrationtest.Each(t, func(t *testing.T, w *world) {
		account := w.NewAccount(t)
		limits := integrationtest.Limit("create", 2000)
		live, test := account.Live(t, limits), account.Test(t, limits)
		bag := obj{"category_code": "bags", "brand_code": "chanel"}
		over := live.CreateID(t) // the link of a photo request that is over does not count
		w.RequestPhotos(t, over)
		live.Post(t, "/capture_links", obj{"order_id": over}).Want(t, 201)
		live.Post(t, "/orders/"+over+"/update_photos", obj{"photos": unable()}).Want(t, 202)
		id := live.Post(t, "/capture_links", bag).Want(t, 201).Text(t, "id")
		for range capture.MaxOpen/2 - 1 {
			live.Post(t, "/capture_links", bag).Want(t, 201)
		}
		for range capture.MaxOpen / 2 {
			test.Post(t, "/capture_links", bag).Want(t, 201)
		}
		t.Run("Reached", func(t *testing.T) {
			test.Post(t, "/capture_links", bag).Refused(t, 409, "capture-link-limit-reached").
				Is(t, "details", obj{"limit": 1000})
			w.Live(t).Post(t, "/capture_links", bag).Want(t, 201)
			live.Delete(t, "/capture_links/"+id).Want(t, 204)
			test.Post(t, "/capture_links", bag).Want(t, 201)
		})
	})
}
