package capture_test

import (
	"bytes"
	"image/jpeg"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/imaging"
	web "github.com/assayhq/assay/internal/pages/capture"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// world is a shop with the pages of capture links.
type world struct {
	*shop.Shop
	*httptest.Server
	pages *web.Pages
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Shop: shop.New(t, storetest.SQLite(t))}
	server, handle := w.Serve(t)
	w.Server = server
	site := uitest.SiteAt(t, w.URL, time.Now, web.Area)
	mux := http.NewServeMux()
	site.Routes(mux)
	w.pages = web.New(web.Config{
		Site: site, Service: w.Service, Staging: w.Staging, MaxPhotoBytes: 4 << 20,
		Images: imaging.NewCache(w.Media, w.Staging, nil), Limiter: ratelimit.NewMemory(time.Now),
		Failures: ratelimit.NewFailures(5, time.Now), Responder: &httpx.Responder{Log: slog.New(slog.DiscardHandler)},
	})
	w.pages.Routes(mux)
	handle(httpx.RequestID(site.Wrap(mux)))
	return w
}

// link makes a capture link for an item and returns its path.
func (w *world) link(t *testing.T) (id, path string) {
	t.Helper()
	snap := w.Service.Catalog()
	categories, err := snap.Categories("")
	must.NoError(t, err)
	brands, err := snap.Brands(categories[0].Code, "")
	must.NoError(t, err)
	l, address, err := w.Service.CreateCaptureLink(t.Context(), w.Live.Actor(access.Origin{}), service.NewCaptureLink{
		CategoryCode: categories[0].Code, BrandCode: brands[0].Code, ReturnURL: "https://shop.example/done",
	})
	must.NoError(t, err)
	return l.ID, strings.TrimPrefix(address, w.URL)
}

func (w *world) send(t *testing.T, method, path string, body []byte) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, bytes.NewReader(body))
	must.NoError(t, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := http.DefaultClient.Do(r)
	must.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func (w *world) want(t *testing.T, status int, method, path string, body []byte) *http.Response {
	t.Helper()
	answer := w.send(t, method, path, body)
	if answer.StatusCode != status {
		text, _ := io.ReadAll(answer.Body)
		t.Fatalf("%s %s answered %d, not %d: %s", method, path, answer.StatusCode, status, text)
	}
	return answer
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	must.NoError(t, jpeg.Encode(&b, pictures.Photo(1200, 900), nil))
	return b.Bytes()
}

// required returns the indexes that a link needs.
func (w *world) required(t *testing.T, path string) (codes []string) {
	t.Helper()
	c, err := w.Service.OpenCapture(t.Context(), strings.TrimPrefix(path, web.Prefix))
	must.NoError(t, err)
	for _, x := range c.Wanted {
		if x.Required {
			codes = append(codes, x.Code)
		}
	}
	return codes
}

func TestPage(t *testing.T) {
	w := newWorld(t)
	t.Run("Headers", func(t *testing.T) {
		_, path := w.link(t)
		h := w.want(t, 200, "GET", path, nil).Header
		if h.Get("Referrer-Policy") != "no-referrer" || !strings.Contains(h.Get("Permissions-Policy"), "camera=(self)") ||
			!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("Cache-Control") != "no-store" {
			t.Errorf("the headers are %v", h)
		}
	})
	t.Run("Uploads", func(t *testing.T) {
		id, path := w.link(t)
		codes := w.required(t, path)
		photo := path + "/photos/aaaaaaaa?index=" + codes[0]
		w.want(t, 400, "PUT", path+"/photos/aaaaaaaa?index=none", picture(t))
		w.want(t, 400, "PUT", photo, []byte("no picture"))
		w.want(t, 413, "PUT", photo, bytes.Repeat([]byte{1}, 5<<20))
		w.want(t, 404, "PUT", path+"/photos/x?index="+codes[0], picture(t))
		w.want(t, 400, "POST", path, nil)
		for range 2 { // the same photo is not stored twice
			w.want(t, 204, "PUT", photo, picture(t))
		}
		w.want(t, 200, "GET", path+"/photos/aaaaaaaa", nil)
		w.want(t, 204, "DELETE", path+"/photos/aaaaaaaa", nil)
		w.want(t, 404, "GET", path+"/photos/aaaaaaaa", nil)
		for _, code := range codes {
			w.want(t, 204, "PUT", path+"/photos/photo-"+code+"?index="+code, picture(t))
		}
		w.want(t, 204, "POST", path, nil)
		r, err := w.Service.CaptureLink(t.Context(), w.Live.Actor(access.Origin{}), id)
		must.NoError(t, err)
		if len(r.Photos) != len(codes) {
			t.Errorf("%d photos for %d indexes", len(r.Photos), len(codes))
		}
		w.want(t, 410, "POST", path, nil)
		w.want(t, 410, "GET", path+"/photos/photo-"+codes[0], nil)
		if text, _ := io.ReadAll(w.want(t, 200, "GET", path, nil).Body); !strings.Contains(string(text),
			"https://shop.example/done") {
			t.Error("the page does not lead back")
		}
	})
	t.Run("Ended", func(t *testing.T) {
		id, path := w.link(t)
		must.NoError(t, w.Service.RevokeCaptureLink(t.Context(), w.Live.Actor(access.Origin{}), id))
		w.want(t, 410, "GET", path, nil)
		w.want(t, 410, "PUT", path+"/photos/aaaaaaaa?index=x", picture(t))
	})
	t.Run("Guesses", func(t *testing.T) {
		for range 5 {
			w.want(t, 404, "GET", web.Prefix+access.NewSessionToken(), nil)
		}
		w.want(t, 429, "GET", web.Prefix+access.NewSessionToken(), nil)
		_, path := w.link(t)
		w.want(t, 200, "GET", path, nil) // a link that exists is not blocked
	})
}

func TestMessages(t *testing.T) {
	uitest.CheckMessages(t, uitest.Site(t, time.Now, web.Area), "capture", []string{"."})
}

// noPages are the addresses that answer with something else than a page.
var noPages = []string{"GET /capture/{token}/photos/{key}"}

// TestLooks opens every page, in all states of a link, in both themes and languages on all screens.
func TestLooks(t *testing.T) {
	w := newWorld(t)
	_, open := w.link(t)
	_, begun := w.link(t)
	_, sent := w.link(t)
	revokedID, revoked := w.link(t)
	for _, path := range []string{begun, sent} {
		for i, code := range w.required(t, path) {
			if path == sent || i == 0 {
				w.want(t, 204, "PUT", path+"/photos/photo-"+code+"?index="+code, picture(t))
			}
		}
	}
	w.want(t, 204, "POST", sent, nil)
	must.NoError(t, w.Service.RevokeCaptureLink(t.Context(), w.Live.Actor(access.Origin{}), revokedID))
	pages := uitest.SortPages(t, w.pages.Patterns(), noPages, func(pattern string) string {
		return strings.NewReplacer("GET ", "", "/capture/{token}", open, "{key}", "photo-x").Replace(pattern)
	}, uitest.Anybody(t, w.URL))[0]
	pages["begun"], pages["sent"], pages["revoked"] = begun, sent, revoked
	pages["unknown"] = web.Prefix + access.NewSessionToken()
	b := uitest.NewBrowser(t, w.URL)
	b.Allow("404", "410")
	b.CheckPages(pages)
}

// TestBrowser goes through a link on a phone with a fake camera, loses the network and comes back.
func TestBrowser(t *testing.T) {
	w := newWorld(t)
	id, path := w.link(t)
	codes := w.required(t, path)
	b := uitest.NewBrowser(t, w.URL, "use-fake-device-for-media-stream", "use-fake-ui-for-media-stream")
	b.Allow("ERR_INTERNET_DISCONNECTED", "410", "cdn")
	b.Resize(390)
	b.Open(path + "?lang=ja")
	b.CheckAccessibility()
	b.Open(path + "?lang=en")
	b.CheckAccessibility()

	shot := func(code string) string { return `.shot[data-index="` + code + `"] ` }
	use := func(code string) { // a photo with findings is used all the same
		b.AwaitTrue(`document.getElementById("review").open || document.querySelector('` + shot(code) + `li') !== null`)
		if uitest.Eval[bool](b, `document.getElementById("review").open`) {
			b.Click("#use")
		}
		b.Await(shot(code) + "li")
	}
	b.Click(shot(codes[0]) + "[data-take]") // with the camera
	b.AwaitTrue(`document.getElementById("video").videoWidth > 0`)
	b.Click("#shoot")
	use(codes[0])
	b.Await(shot(codes[0]) + "li.is-sent")

	file := filepath.Join(t.TempDir(), "photo.jpg")
	must.NoError(t, os.WriteFile(file, picture(t), 0o600))
	for i, code := range codes[1:] { // as files, the first while the network is away
		b.Offline(i == 0)
		b.Upload(shot(code)+"[data-file]", file)
		use(code)
		if i > 0 {
			b.Await(shot(code) + "li.is-sent")
			continue
		}
		b.AwaitTrue(`document.getElementById("alert").textContent !== ""`)
		b.Offline(false)
		b.Open(path) // what waits is kept over a reload
		b.Await(shot(code) + "li.is-sent")
	}
	b.AwaitTrue(`!document.getElementById("submit").disabled`)
	b.Screenshot("capture")
	b.Click("#submit")
	b.Await("#return")
	b.CheckAccessibility()
	r, err := w.Service.CaptureLink(t.Context(), w.Live.Actor(access.Origin{}), id)
	must.NoError(t, err)
	if len(r.Photos) != len(codes) {
		t.Errorf("%d photos for %d indexes", len(r.Photos), len(codes))
	}
}
