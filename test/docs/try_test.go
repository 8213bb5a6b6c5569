package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/uitest"
)

// tryInBrowser sends requests from the reference, as a visitor does, and looks where the key goes.
func (w *world) tryInBrowser(t *testing.T) {
	t.Helper()
	b := uitest.NewBrowser(t, w.server.URL(""))
	asked := func() bool {
		return uitest.Eval[bool](b, `performance.getEntriesByType("resource").some((e) => e.name.includes("/v1/"))`)
	}
	send := func(operation, key string) {
		b.Fill("#try-"+operation+"-key", key)
		b.Click("#" + operation + " [data-send]")
	}
	b.Open("/docs/reference/account?lang=en")
	b.Click("#getMe .try summary")
	live := w.variable("ASSAY_LIVE_KEY")
	for key, why := range map[string]string{live: "Live key", "abc": "assay_test_", "": "assay_test_"} {
		send("getMe", key)
		b.AwaitTrue(`document.querySelector("#getMe [data-problem]:not([hidden])")?.textContent.includes("` + why + `")`)
	}
	if asked() {
		t.Error("a request was sent with a key that is not for Test")
	}

	key := w.variable("ASSAY_KEY")
	send("getMe", key)
	b.AwaitTrue(`document.querySelector("#getMe [data-status]").textContent === "200"`)
	if got := b.Text("#getMe [data-answer]"); !strings.Contains(got, `"environment": "test"`) {
		t.Errorf("the answer is %s", got)
	}
	if uitest.Eval[bool](b, `document.querySelector("#getMe [data-problem]").checkVisibility()`) {
		t.Error("the refusal before is still shown")
	}
	shown := b.Text("#getMe [data-request]")
	if !strings.Contains(shown, "GET /v1/integrations/me") || strings.Contains(shown, key) {
		t.Errorf("the request is shown as %s", shown)
	}
	if id := b.Text("#getMe [data-request-id]"); !regexp.MustCompile(`X-Request-Id: [0-9a-f-]{36}`).MatchString(id) {
		t.Errorf("the id of the request is shown as %s", id)
	}
	if !uitest.Eval[bool](b, `document.querySelector("#getBalance [data-key]").value === "`+key+`"`) {
		t.Error("the key has to be entered again for the next operation")
	}
	kept := uitest.Eval[string](b,
		`JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])`)
	if strings.Contains(kept, key) {
		t.Errorf("the key is kept: %s", kept)
	}
	b.CheckAccessibility()
	b.Screenshot("try")

	b.Open("/docs/reference/photos?lang=ja")
	if uitest.Eval[bool](b, `[...document.querySelectorAll("[data-key]")].some((field) => field.value !== "")`) {
		t.Error("the key is there on another page")
	}
	b.Click("#uploadPhotos .try summary")
	send("uploadPhotos", key)
	b.AwaitTrue(`document.querySelector("#uploadPhotos [data-status]").textContent === "201"`)
	if got := b.Text("#uploadPhotos [data-answer]"); !strings.Contains(got, `"status": "uploaded"`) {
		t.Errorf("the answer is %s", got)
	}

	b.Open("/docs/reference/orders?lang=en")
	b.Click("#createOrder .try summary")
	send("createOrder", key)
	b.AwaitTrue(`document.querySelector("#createOrder [data-status]").textContent === "201"`)
	if got := b.Text("#createOrder [data-request]"); strings.Contains(got, "media.assay.example") {
		t.Errorf("the example photos were sent: %s", got)
	}
	if uitest.Eval[bool](b, `document.querySelector("#createOrder [data-body]").value.includes("media.assay.example")`) {
		t.Error("the example photos are still shown")
	}
	b.Click("#simulateOrder .try summary")
	b.Fill("#try-simulateOrder-body", `{"state": "update-photos"}`)
	send("simulateOrder", key)
	b.AwaitTrue(`document.querySelector("#simulateOrder [data-status]").textContent === "200"`)
	b.Click("#submitUpdatePhotos .try summary")
	send("submitUpdatePhotos", key)
	b.AwaitTrue(`document.querySelector("#submitUpdatePhotos [data-status]").textContent === "202"`)

	b.Allow("404") // the browser tells of it
	b.Click("#getOrder .try summary")
	b.Fill("#try-getOrder-id", "no such order/é?")
	send("getOrder", key)
	b.AwaitTrue(`document.querySelector("#getOrder [data-answer]").textContent.includes("order-not-found")`)
	if got := b.Text("#getOrder [data-request]"); !strings.Contains(got, "/orders/no%20such%20order%2F%C3%A9%3F") {
		t.Errorf("the request is %s", got)
	}
}
