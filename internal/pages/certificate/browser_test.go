package certificate_test

import (
	"bytes"
	"context"
	"image/png"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	web "github.com/assayhq/assay/internal/pages/certificate"
	"github.com/assayhq/assay/internal/testkit/uitest"
	"github.com/chromedp/chromedp"
)

// noPages are the addresses that answer with something else than a page.
var noPages = []string{"GET /certificates/{id}/photos/{number}/{size}", "GET " + web.KeysPath}

// TestBrowser looks at certificates with a real browser: all states, both languages and themes, on all screens.
func TestBrowser(t *testing.T) {
	w := newWorld(t)
	live := w.authentic(t, w.Live, picture(t, 0.3), picture(t, 1.2), picture(t, 2.2))
	revoked := w.authentic(t, w.Live, picture(t, 0.3))
	if err := w.Service.RevokeCertificate(t.Context(), w.admin.Actor(access.Origin{}), revoked,
		"The photos do not show the item that was sold."); err != nil {
		t.Fatal(err)
	}
	erased := w.authentic(t, w.Test, picture(t, 0.3), picture(t, 1.2))
	if _, err := w.Service.EraseOrder(t.Context(), access.Operator, orderOf(t, w, erased), false); err != nil {
		t.Fatal(err)
	}
	states := map[string]string{
		"live": live, "test": w.authentic(t, w.Test, picture(t, 0.3)), "revoked": revoked, "erased": erased,
	}
	b := uitest.NewBrowser(t, w.URL)
	pages := uitest.SortPages(t, w.pages.Patterns(), noPages, func(pattern string) string {
		return strings.NewReplacer("GET ", "", "{id}", live, "{number}", "1", "{size}", "thumb").Replace(pattern)
	}, uitest.Anybody(t, w.URL))[0]
	for state, id := range states {
		pages[state] = "/certificates/" + id
	}
	b.CheckPages(pages)
	b.Allow("404") // the browser says so
	b.CheckPages(map[string]string{"unknown": "/certificates/nothing"})

	t.Run("Photos", func(t *testing.T) {
		b.Open("/certificates/" + live + "?lang=en")
		b.AwaitTrue("[...document.querySelectorAll('.photos img')].every(i => i.complete && i.naturalWidth === 320)")
		if n := b.Count(".photos img"); n != 3 {
			t.Errorf("%d photos", n)
		}
	})
	t.Run("QR", func(t *testing.T) {
		b.Open("/certificates/" + live)
		var shot []byte
		b.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) (err error) {
			shot, err = chromedp.ScreenshotScale(chromedp.CSS(".certificate-qr svg"), 2)(ctx, target)
			return err
		}))
		picture, err := png.Decode(bytes.NewReader(shot))
		if err != nil {
			t.Fatal(err)
		}
		if got := decodeQR(t, picture); got != w.URL+"/certificates/"+live {
			t.Errorf("the QR code leads to %s", got)
		}
	})
	t.Run("Language", func(t *testing.T) {
		b.Open("/certificates/" + live + "?lang=en")
		b.Follow(`.languages a[lang=ja]`)
		b.Open("/certificates/" + live)
		if got := b.Text(".verdict"); !strings.Contains(got, "真正品") {
			t.Errorf("the language is not remembered: %q", got)
		}
		b.Follow(`.languages a[lang=en]`)
	})
	t.Run("WithoutScripts", func(t *testing.T) {
		b.Scripts(false)
		b.Open("/certificates/" + live)
		if got := b.Text(".verdict"); !strings.Contains(got, "Authentic") {
			t.Errorf("verdict %q", got)
		}
	})
}
