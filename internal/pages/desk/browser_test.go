package desk_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
	"github.com/chromedp/chromedp/kb"
)

// integrator returns a customer's program that talks to the API.
func (w *world) integrator(t *testing.T) *client.Client {
	t.Helper()
	_, secret, err := w.Service.CreateKey(t.Context(), access.Operator, service.NewKey{
		Tenant: access.Tenant{AccountID: w.Account.ID, Environment: access.Live}, Name: "Shop backend",
		Scopes: access.AllScopes,
	})
	must.NoError(t, err)
	c, err := client.New(w.Server.URL+"/v1/integrations", secret)
	must.NoError(t, err)
	return c
}

// picture is a photo that is larger than any screen.
func picture(t *testing.T, shade uint8) []byte {
	t.Helper()
	const width, height = 2400, 1800
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetRGBA(x, y, color.RGBA{R: uint8(x * 255 / width), G: shade, B: uint8(y * 255 / height), A: 255})
		}
	}
	var b bytes.Buffer
	must.NoError(t, jpeg.Encode(&b, img, nil))
	return b.Bytes()
}

func upload(t *testing.T, c *client.Client, shade uint8) string {
	t.Helper()
	results, err := c.UploadPhotos(t.Context(), client.File{
		Name: fmt.Sprintf("IMG_%d.jpg", shade), Content: bytes.NewReader(picture(t, shade)),
	})
	must.NoError(t, err)
	return results[0].URL
}

// orderBag creates an order through the API.
func orderBag(t *testing.T, c *client.Client, urls []string, minutes int) string {
	t.Helper()
	o, err := c.CreateOrder(t.Context(), client.CreateOrder{
		BrandCode: "chanel", CategoryCode: "bags", AnswerTime: minutes,
		Photos: []client.OrderPhoto{
			{URL: urls[0], IndexCode: "overall-picture"},
			{URL: urls[1], IndexCode: "brand-stamp"},
			{URL: urls[2], IndexCode: "serial-number"},
		},
	})
	must.NoError(t, err)
	return o.ID
}

func signIn(b *uitest.Browser, email string) {
	b.Open("/desk/sign-in?lang=en")
	b.Fill("#f-email", email)
	b.Fill("#f-password", password)
	b.Follow(".signin .primary")
	b.Await("#board")
}

// TestDay drives a whole day of two reviewers in real browsers.
func TestDay(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	c := w.integrator(t)
	urls := []string{upload(t, c, 40), upload(t, c, 120), upload(t, c, 200)}
	first, second := orderBag(t, c, urls, 60), orderBag(t, c, urls, 1440)

	mika := uitest.NewBrowser(t, w.Server.URL)
	signIn(mika, "mika@example.com")
	mika.CheckAccessibility()
	mika.Press("n")
	mika.Await(`.bench[data-order="` + first + `"]`)

	ren := uitest.NewBrowser(t, w.Server.URL)
	signIn(ren, "ren@example.com")
	ren.Press("n")
	ren.Await(`.bench[data-order="` + second + `"]`)
	ren.Open("/desk")
	ren.Follow(".take-next")
	if got := ren.Text(".alert"); !strings.Contains(got, "The queue is empty") {
		t.Errorf("the second reviewer reads %q", got)
	}

	t.Run("Viewer", func(t *testing.T) { lookClosely(t, mika) })
	t.Run("RequestPhotos", func(t *testing.T) { requestPhotos(t, c, mika, first) })
	t.Run("Verdict", func(t *testing.T) { judge(t, c, mika, first) })
	t.Run("ClaimExpires", func(t *testing.T) {
		mika.Open("/desk")
		mika.Await("table.queue")
		mika.AwaitTrue(`document.querySelector("table.queue").innerText.includes("Ren Ito")`)
		now := w.Clock.Advance(3 * time.Hour)
		if n, err := w.Service.ExpireClaims(t.Context(), now.Add(-2*time.Hour), 10); err != nil || n != 1 {
			t.Fatalf("%d claims expired, %v", n, err)
		}
		mika.AwaitTrue(`!document.querySelector("table.queue").innerText.includes("Ren Ito")`) // the page finds out by itself
		mika.Press("n")
		mika.Await(`.bench[data-order="` + second + `"]`)
	})
}

// lookClosely opens a photo and does everything with it by keyboard alone.
func lookClosely(t *testing.T, b *uitest.Browser) {
	b.Await(".shot img")
	b.Press("j")
	b.Press(kb.Enter)
	b.Await("#viewer")
	b.AwaitTrue(`document.querySelector("#viewer .pane img").naturalWidth > 0`)
	if got := uitest.Eval[string](b, `document.querySelector("#viewer .pane img").src`); !strings.HasSuffix(got,
		"/screen") {
		t.Errorf("the viewer begins with %s", got)
	}
	scale := func() float64 {
		return uitest.Eval[float64](b, `Number(document.getElementById("viewer").dataset.scale)`)
	}
	for range 5 {
		b.Press("+")
	}
	if got := scale(); got < 4 {
		t.Errorf("after zooming in the scale is %v", got)
	}
	b.AwaitTrue(`document.querySelector("#viewer .pane img").src.endsWith("/original")`) // only now
	before := uitest.Eval[string](b, `document.querySelector("#viewer .pane img").style.transform`)
	b.Press(kb.ArrowRight)
	if after := uitest.Eval[string](b, `document.querySelector("#viewer .pane img").style.transform`); after == before {
		t.Error("an arrow does not move the picture")
	}
	b.Press("-")
	b.Press("0")
	if got := scale(); got != 1 {
		t.Errorf("fitted to the screen the scale is %v", got)
	}
	b.Press("r")
	b.AwaitTrue(`document.getElementById("viewer").dataset.turn === "90"`)
	b.Press("b")
	b.Press("c")
	if got := uitest.Eval[string](b,
		`document.querySelector("#viewer .pane img").style.filter`); got != "brightness(115%) contrast(115%)" {
		t.Errorf("the filter is %q", got)
	}
	b.Press("s")
	b.Await("#viewer .pane:nth-child(2)")
	b.AwaitTrue(`document.querySelector("#viewer .pane:nth-child(2) img").naturalWidth > 0`)
	b.Press("i")
	b.AwaitTrue(`document.querySelector("#viewer .info").innerText.includes("SHA-256")`)
	b.CheckAccessibility()
	b.Screenshot("viewer")
	b.Press("j")
	b.AwaitTrue(`document.getElementById("viewer-title").textContent.includes("(2/3)")`)
	b.Press("v")
	b.AwaitTrue(`document.querySelector("input[name='check.brand-stamp'][value=not-visible]").checked`)
	b.Press("?")
	b.Await("#help")
	b.CheckAccessibility()
	b.Press(kb.Escape)
	b.Press(kb.Escape)
	b.AwaitGone("#viewer")
	b.AwaitTrue(`document.activeElement.dataset.photo === "2"`) // the focus comes back to it
	b.AwaitTrue(`document.querySelector(".draft-state").dataset.state === "saved"`)
}

// requestPhotos asks the customer, who answers through the API.
func requestPhotos(t *testing.T, c *client.Client, b *uitest.Browser, id string) {
	b.Follow(`a[href$="/request"]`)
	if !uitest.Eval[bool](b, `document.getElementById("w-brand-stamp").checked`) {
		t.Error("what was not visible is not asked for by itself")
	}
	b.Choose("#n-brand-stamp", "unclear")
	b.Fill("#t-brand-stamp", "Closer, please.")
	b.Follow(".sticky-actions .primary")
	b.CheckAccessibility()
	b.Follow(`button[name=then][value=queue]`)
	b.Open("/desk?tab=mine")
	b.Await("table.queue")
	b.AwaitTrue(`document.querySelector("table.queue").innerText.includes("Photos requested")`)

	detail, err := c.GetOrder(t.Context(), id, client.LocaleJapanese)
	must.NoError(t, err)
	if detail.Status != client.StatusUpdatePhotos || len(detail.PhotosToResubmit) != 1 ||
		*detail.PhotosToResubmit[0].Comment != "Closer, please." {
		t.Fatalf("the customer reads %+v", detail)
	}
	_, err = c.SubmitUpdatePhotos(t.Context(), id, client.UpdatePhotos{
		Photos: []client.UpdatePhoto{{IndexCode: "brand-stamp", URL: upload(t, c, 240)}}, Note: "As close as I can.",
	})
	must.NoError(t, err)
	b.AwaitTrue(`document.querySelector("table.queue").innerText.includes("In review")`) // the page finds out by itself
}

// judge gives the verdict and reads what the customer gets.
func judge(t *testing.T, c *client.Client, b *uitest.Browser, id string) {
	b.Follow(`a[href="/desk/orders/` + id + `"]`)
	if got := b.Text(".customer-note"); !strings.Contains(got, "As close as I can.") {
		t.Errorf("the customer's note is shown as %q", got)
	}
	b.Press("x")
	b.AwaitTrue(`document.getElementById("o-fake").checked`)
	b.Click(`label[for="c-serial-number-2"]`)
	b.AwaitTrue(`document.getElementById("a-serial-number").checked &&
		document.querySelector(".verdict .chips").innerText !== ""`)
	b.Fill(".reasons[data-outcome=fake] .reason-filter", "misaligned")
	b.Click(`label[for="r-logo-misaligned"]`)
	b.Fill("#own-en", "The first digit is of another font.\nSo is the last.")
	b.CheckAccessibility()
	b.Screenshot("verdict")
	b.Follow("#verdict .primary")
	b.CheckAccessibility()
	b.Screenshot("confirm")
	b.Follow(`button[name=then][value=queue]`)
	detail, err := c.GetOrder(t.Context(), id, client.LocaleEnglish)
	must.NoError(t, err)
	if detail.Status != client.StatusCompleted || *detail.Outcome != client.OutcomeFake ||
		fmt.Sprint(detail.OutcomeIndexes) != "[serial-number]" || len(detail.OutcomeReasons) != 2 ||
		detail.OutcomeReasons[1] != "The first digit is of another font.\nSo is the last." {
		t.Errorf("the customer reads %+v", detail)
	}
}

// TestWithoutScripts checks that the way from the queue to the verdict needs no scripts.
func TestWithoutScripts(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	id := w.queued(t)
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Scripts(false)
	signIn(b, "mika@example.com")
	b.Follow(".take-next")
	b.Click(`label[for="o-authentic"]`)
	b.Click(`label[for="c-serial-number-1"]`)
	b.Fill("#own-en", "The stamp\nis crisp.")
	b.Fill("#own-ja", "刻印が鮮明です。")
	b.Follow("#verdict .primary")
	if got := b.Text(".against"); !strings.Contains(got, "Overall") || strings.Contains(got, "Serial") {
		t.Errorf("what speaks against the verdict: %q", got)
	}
	b.Click("#f-despite")
	b.Fill("#f-note", "One photo is enough.")
	b.Follow(`button[name=then][value=queue]`)
	got := w.order(t, id)
	if own := (text.Text{EN: "The stamp\nis crisp.", JA: "刻印が鮮明です。"}); got.Outcome != "authentic" ||
		len(got.Reasons) != 1 || got.Reasons[0].Text != own {
		t.Errorf("the outcome is %q with %+v", got.Outcome, got.Reasons)
	}
}
