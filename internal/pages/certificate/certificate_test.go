package certificate_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
	web "github.com/assayhq/assay/internal/pages/certificate"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// world is a shop with its public pages.
type world struct {
	*shop.Shop
	*httptest.Server
	pages *web.Certificates
	admin *access.Staff
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, certificate.Issuer{})
}

// newWorldOf is newWorld with the name of who issues certificates.
func newWorldOf(t *testing.T, issuer certificate.Issuer) *world {
	t.Helper()
	w := &world{Shop: shop.New(t, storetest.SQLite(t))}
	server, handle := w.Serve(t)
	w.Server = server
	site := uitest.SiteAt(t, w.URL, time.Now, web.Area)
	site.Issuer = issuer
	mux := http.NewServeMux()
	site.Routes(mux)
	w.pages = web.New(site, w.Service, imaging.NewCache(w.Media, w.Staging, nil))
	w.pages.Routes(mux)
	handle(httpx.RequestID(site.Wrap(mux)))
	admin, err := w.Service.CreateStaff(t.Context(), access.Operator, "admin@assay.test", "Admin", access.Admin)
	if err != nil {
		t.Fatal(err)
	}
	w.admin = &admin.Staff
	return w
}

// picture is a photo of an item, as far as a test can draw one: a bag on a table, in a colour of its own.
func picture(t *testing.T, hue float64) []byte {
	t.Helper()
	const w, h = 1200, 900
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	at := func(x, y int) color.RGBA {
		u, v := float64(x)/w, float64(y)/h
		shade := 0.75 + 0.25*math.Cos((u-0.4)*3)
		body := math.Pow(math.Abs(u-0.5)/0.3, 4)+math.Pow(math.Abs(v-0.6)/0.26, 4) < 1
		handle := math.Abs(math.Hypot((u-0.5)/0.18, (v-0.38)/0.24)-1) < 0.1 && v < 0.42
		switch {
		case body || handle:
			stitch := body && math.Abs(math.Pow(math.Abs(u-0.5)/0.3, 4)+math.Pow(math.Abs(v-0.6)/0.26, 4)-0.75) < 0.03
			if stitch {
				return color.RGBA{R: 222, G: 190, B: 120, A: 255}
			}
			return color.RGBA{
				R: uint8((70 + 90*math.Abs(math.Cos(hue))) * shade), G: uint8((45 + 60*math.Abs(math.Sin(hue))) * shade),
				B: uint8((40 + 70*math.Abs(math.Sin(hue*2))) * shade), A: 255,
			}
		case v > 0.82:
			return color.RGBA{R: uint8(190 * shade), G: uint8(176 * shade), B: uint8(158 * shade), A: 255}
		}
		return color.RGBA{R: uint8(232 - 30*v), G: uint8(229 - 30*v), B: uint8(222 - 30*v), A: 255}
	}
	for y := range h {
		for x := range w {
			img.SetRGBA(x, y, at(x, y))
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// upload stores a photo and returns its managed URL.
func (w *world) upload(t *testing.T, k *access.Key, content []byte) string {
	t.Helper()
	upload, refusal, err := w.Staging.Accept(t.Context(), bytes.NewReader(content), "bag.jpg", 10<<20)
	if err != nil || refusal != nil {
		t.Fatal(err, refusal)
	}
	defer func() { _ = upload.Staged.Close() }()
	urls, err := w.Service.StorePhotos(t.Context(), k.Actor(access.Origin{}), []media.Upload{upload})
	if err != nil {
		t.Fatal(err)
	}
	return urls[0]
}

// authentic makes an order that is judged authentic and returns the id of its certificate.
func (w *world) authentic(t *testing.T, k *access.Key, photos ...[]byte) string {
	t.Helper()
	d := &order.Draft{CategoryCode: "bags", BrandCode: "prada"}
	item := catalog.Context{Category: d.CategoryCode, Brand: d.BrandCode}
	must.NoError(t, w.Service.Catalog().Check(item))
	for _, x := range w.Service.Catalog().PhotoIndexes(item) {
		if len(d.Photos) < len(photos) {
			d.Photos = append(d.Photos, order.DraftPhoto{URL: w.upload(t, k, photos[len(d.Photos)]), IndexCode: x.Code})
		}
	}
	if k.Environment == access.Test {
		d.Mock, d.MockGiven = order.MockAuthentic, true
	}
	created, err := w.Service.CreateOrder(t.Context(), k.Actor(access.Origin{}), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if k.Environment == access.Live {
		if _, err := w.Service.ClaimOrder(t.Context(), w.admin.Actor(access.Origin{}), created.OrderID); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.CompleteOrder(t.Context(), w.admin.Actor(access.Origin{}), created.OrderID,
			&order.Verdict{Outcome: order.Authentic},
			""); err != nil {
			t.Fatal(err)
		}
	}
	o, err := w.Store.Order(t.Context(), created.OrderID)
	if err != nil || o.CertificateID == "" {
		t.Fatalf("no certificate: %+v, %v", o, err)
	}
	return o.CertificateID
}

func (w *world) get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	resp, b := must.Get(t, w.Client(), w.URL+path)
	uitest.CheckPolicy(t, resp.Header, uitest.MediaURL)
	return resp, string(b)
}

func holds(t *testing.T, body string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(body, part) {
			t.Errorf("%q is missing in:\n%s", part, body)
		}
	}
}

func TestMessages(t *testing.T) {
	uitest.CheckMessages(t, uitest.Site(t, time.Now, web.Area), "certificate", []string{"."})
}

func TestPage(t *testing.T) {
	w := newWorld(t)
	id := w.authentic(t, w.Live, picture(t, 0.3), picture(t, 1.2))
	number := certificateOf(t, w, id).OrderNumber

	t.Run("English", func(t *testing.T) {
		resp, body := w.get(t, "/certificates/"+id)
		holds(t, body, "Certificate of authenticity", "Prada", "Authentic", number,
			`<time datetime="2026-03-02">2 March 2026</time>`, "photos/2/thumb.jpg", id+".pdf",
			"assay verify "+w.URL, "scan its QR code yourself")
		if resp.StatusCode != http.StatusOK || strings.Contains(body, "TEST") || strings.Contains(body, "Revoked") {
			t.Errorf("%d: says what it is not:\n%s", resp.StatusCode, body)
		}
		if got := resp.Header.Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") ||
			strings.Contains(got, "unsafe-inline") {
			t.Errorf("policy %q", got)
		}
	})
	t.Run("Japanese", func(t *testing.T) {
		_, body := w.get(t, "/certificates/"+id+"?lang=ja")
		holds(t, body, "鑑定書", "プラダ", "2026年3月2日", `<html lang="ja">`)
	})
	t.Run("NoOriginals", func(t *testing.T) {
		_, body := w.get(t, "/certificates/"+id)
		_, document := w.get(t, "/certificates/"+id+".json")
		photos, err := w.Store.OrderPhotoFiles(t.Context(), orderOf(t, w, id))
		if err != nil || len(photos) != 2 {
			t.Fatal(photos, err)
		}
		for _, p := range photos {
			if strings.Contains(body, p.Name) || strings.Contains(document, p.Name) {
				t.Errorf("the address of the original %s is told", p.Name)
			}
		}
	})
	t.Run("Photos", func(t *testing.T) {
		for size, edge := range map[string]int{"thumb": 320, "screen": 1200} {
			resp, body := w.get(t, "/certificates/"+id+"/photos/1/"+size+".jpg")
			c, err := jpeg.DecodeConfig(strings.NewReader(body))
			if resp.StatusCode != http.StatusOK || err != nil || c.Width != edge ||
				!strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d, %+v, %v", size, resp.StatusCode, c, err)
			}
		}
		for _, path := range []string{
			"/photos/0/thumb.jpg", "/photos/3/thumb.jpg", "/photos/x/thumb.jpg", "/photos/1/full.jpg", "/photos/1/thumb",
			"/photos/1/thumb.png",
		} {
			if resp, _ := w.get(t, "/certificates/"+id+path); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d", path, resp.StatusCode)
			}
		}
	})
	t.Run("Unknown", func(t *testing.T) {
		for _, path := range []string{order.NewCertificateID(), "x", id + ".xml", id + ".json.json", strings.ToUpper(id)} {
			if resp, body := w.get(t, "/certificates/"+path); resp.StatusCode != http.StatusNotFound ||
				!strings.Contains(body, "Page not found") {
				t.Errorf("%s: %d", path, resp.StatusCode)
			}
		}
	})
}

// TestPage_ErasedPhotos checks that photos that were erased are neither shown nor linked, and that the page says so.
func TestPage_ErasedPhotos(t *testing.T) {
	w := newWorld(t)
	shared := picture(t, 0.3)
	whole := w.authentic(t, w.Live, shared, picture(t, 1.2))
	files, err := w.Store.OrderPhotoFiles(t.Context(), orderOf(t, w, whole))
	must.NoError(t, err)
	open := &order.Draft{CategoryCode: "bags", BrandCode: "prada", Photos: []order.DraftPhoto{{
		URL: w.Service.PhotoURL(files[0].Name), IndexCode: files[0].IndexCode,
	}}}
	_, err = w.Service.CreateOrder(t.Context(), w.Live.Actor(access.Origin{}), open, nil)
	must.NoError(t, err) // keeps the first photo
	gone := w.authentic(t, w.Live, picture(t, 0.9), picture(t, 1.7))
	for _, id := range []string{whole, gone} {
		_, err := w.Service.EraseOrder(t.Context(), access.Operator, orderOf(t, w, id), false)
		must.NoError(t, err)
	}
	lacks := func(body string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if strings.Contains(body, part) {
				t.Errorf("%q is in:\n%s", part, body)
			}
		}
	}
	_, body := w.get(t, "/certificates/"+whole)
	holds(t, body, "based on 2 photos, some of which have been deleted since. Compare the others", "Photo deleted",
		"photos/1/thumb.jpg", "Check that the photos and details match")
	lacks(body, "photos/2/")
	_, body = w.get(t, "/certificates/"+gone)
	holds(t, body, "based on 2 photos, which have been deleted since.", "Photo deleted", "Check that the details match",
		"SHA-256 of photo 2")
	lacks(body, "/photos/", "Compare")
	_, body = w.get(t, "/certificates/"+gone+"?lang=ja")
	holds(t, body, "鑑定に使用した写真は 2 枚ですが、その後削除されました。", "削除済みの写真")
	if resp, _ := w.get(t, "/certificates/"+gone+"/photos/1/thumb.jpg"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an erased photo: %d", resp.StatusCode)
	}
	holds(t, pdfText(t, w, gone), "Prada")
}

func orderOf(t *testing.T, w *world, id string) string {
	t.Helper()
	row, err := w.Store.Certificate(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return row.OrderID
}

// certificateOf fetches the signed file and the keys, and verifies as an outsider would.
func certificateOf(t *testing.T, w *world, id string) *certificate.Certificate {
	t.Helper()
	_, set := w.get(t, web.KeysPath)
	keys, err := certificate.ParseKeys([]byte(set))
	if err != nil {
		t.Fatal(err)
	}
	resp, file := w.get(t, "/certificates/"+id+".json")
	if got := resp.Header.Get("Content-Type"); got != "application/json; charset=utf-8" ||
		resp.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("headers %v", resp.Header)
	}
	r, err := certificate.Verify([]byte(file), keys)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return r.Certificate
}

func TestTestCertificate(t *testing.T) {
	w := newWorld(t)
	id := w.authentic(t, w.Test, picture(t, 0.3))
	_, body := w.get(t, "/certificates/"+id)
	holds(t, body, "TEST", "No item was examined", "is-test", "<title>TEST: Certificate of authenticity")
	_, body = w.get(t, "/certificates/"+id+"?lang=ja")
	holds(t, body, "テスト", "実物の鑑定は行われておらず", "<title>テスト: 鑑定書")
	if c := certificateOf(t, w, id); !c.Test {
		t.Error("the signed file does not say that it is a test")
	}
	holds(t, pdfText(t, w, id), "TEST", "No item was examined")
}

func (w *world) revoke(t *testing.T, id, reason string) {
	t.Helper()
	if err := w.Service.RevokeCertificate(t.Context(), w.admin.Actor(access.Origin{}), id, reason); err != nil {
		t.Fatal(err)
	}
}

func TestRevoked(t *testing.T) {
	w := newWorld(t)
	id := w.authentic(t, w.Live, picture(t, 0.3))
	w.revoke(t, id, "The item <was> swapped.")
	resp, body := w.get(t, "/certificates/"+id)
	holds(t, body, "This certificate is no longer valid", "The item &lt;was&gt; swapped.",
		"<title>Revoked: Certificate of authenticity")
	if resp.StatusCode != http.StatusOK || strings.Contains(body, "verdict-good") {
		t.Errorf("%d: it still says authentic", resp.StatusCode)
	}
	_, file := w.get(t, "/certificates/"+id+".json")
	holds(t, file, `"reason": "The item <was> swapped."`)
	holds(t, pdfText(t, w, id), "Revoked · 取り消し済み", "The item <was> swapped.")
	_, body = w.get(t, "/certificates/"+id+"?lang=ja")
	holds(t, body, "この鑑定書は無効です")
}

// TestBrokenPhoto checks that a photo which cannot be decoded spoils neither the page nor the PDF.
func TestBrokenPhoto(t *testing.T) {
	w := newWorld(t)
	broken := picture(t, 1)[:500]
	id := w.authentic(t, w.Test, broken, picture(t, 2))
	if resp, body := w.get(t, "/certificates/"+id+"/photos/1/thumb.jpg"); resp.StatusCode != http.StatusOK ||
		!strings.HasPrefix(body, "<svg") {
		t.Errorf("%d %.60s", resp.StatusCode, body)
	}
	if resp, body := w.get(t, "/certificates/"+id+".pdf"); resp.StatusCode != http.StatusOK ||
		!strings.HasPrefix(body, "%PDF") {
		t.Errorf("%d %.60s", resp.StatusCode, body)
	}
}
