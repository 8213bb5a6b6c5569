package docs

import (
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestComfort uses what scripts add to the pages, and then the pages without scripts.
func TestComfort(t *testing.T) {
	requires.Engine(t, "a browser")
	_, handler := site()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	b := uitest.NewBrowser(t, server.URL)

	b.Open("/docs/orders?lang=en")
	b.Press("/")
	b.AwaitTrue(`document.activeElement.id === "search"`)
	b.Press("idempot")
	b.Await(".found-panel:not([hidden]) .found a")
	b.Press(kb.ArrowDown)
	b.AwaitTrue(`document.activeElement.matches(".found-panel a")`)
	b.Follow(".found-panel .found li:first-child a")
	if got := b.Path(); got != "/docs/idempotency" {
		t.Errorf("the first result leads to %s", got)
	}

	b.Open("/docs/quickstart?lang=en")
	visible := func(language string) string {
		return `getComputedStyle(document.querySelector('.tabbed [data-language="` + language + `"]')).display !== "none"`
	}
	b.AwaitTrue(visible("sh"))
	b.Click(`.tabbed label:has(input[value="python"])`)
	b.AwaitTrue(visible("python"))
	b.Open("/docs/events?lang=en") // the choice holds everywhere
	b.AwaitTrue(visible("python"))

	// Copy buttons are always there, and work by keyboard.
	b.Open("/docs/limits?lang=en")
	b.AwaitTrue(`document.querySelectorAll(".sample").length === document.querySelectorAll(".sample > button").length`)
	b.AwaitTrue(`[...document.querySelectorAll(".sample > button")].filter((x) => x.offsetParent)` +
		`.every((x) => getComputedStyle(x).opacity === "1")`)
	copied := uitest.Eval[bool](b, `(() => {
		window.written = "";
		navigator.clipboard.writeText = async (text) => { window.written = text; };
		document.querySelector(".sample > button").focus();
		return true;
	})()`)
	b.Press(kb.Enter)
	b.AwaitTrue(`window.written.includes('"retry_after_seconds"')`)
	if !copied {
		t.Error("nothing was copied")
	}

	b.Scripts(false)
	b.Open("/docs/quickstart?lang=en")
	if !uitest.Eval[bool](b, visible("sh")) || uitest.Eval[bool](b, visible("go")) {
		t.Error("without scripts the first tab is not the one that shows")
	}
	b.Click(`.tabbed label:has(input[value="go"])`)
	if !uitest.Eval[bool](b, visible("go")) || uitest.Eval[bool](b, visible("sh")) {
		t.Error("without scripts tabs cannot be changed")
	}
	b.Fill("#search", "webhook")
	b.Follow("form.search button")
	if got := b.Path(); got != searchPath+"?q=webhook" {
		t.Errorf("the search leads to %s", got)
	}
	if b.Count(".found li") == 0 {
		t.Error("nothing was found")
	}
}
