package uitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	browserLife   = 20 * time.Minute // of one browser, on a busy machine
	browserAction = 2 * time.Minute  // of one action, and of the start
	awaitInterval = 20 * time.Millisecond
)

// Browser is a real Chromium with one page. Selectors are those of CSS; an action waits until its element is there. The
// test fails when a page logs an error or a warning, breaks the content security policy, or asks another origin for
// anything.
type Browser struct {
	t    testing.TB
	ctx  context.Context // the browser is its context
	home string          // the origin that pages may use

	mu       sync.Mutex
	allowed  []string // parts of messages that are expected
	problems []string
}

// NewBrowser starts Chromium for the pages at an address, with further flags. It is closed with the test.
func NewBrowser(t testing.TB, home string, flags ...string) *Browser {
	t.Helper()
	program := requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 900),
		chromedp.WSURLReadTimeout(browserAction))
	for _, flag := range flags {
		options = append(options, chromedp.Flag(flag, true))
	}
	limited, cancel := context.WithTimeout(context.Background(), browserLife)
	allocator, closeAllocator := chromedp.NewExecAllocator(limited, options...)
	return open(t, allocator, originOf(home), func() {
		closeAllocator()
		cancel()
	})
}

// Tab opens another page in the same browser: signed in as the first one is.
func (b *Browser) Tab() *Browser {
	b.t.Helper()
	return open(b.t, b.ctx, b.home, func() {})
}

// open begins a page. It is closed with the test, and closed is called then.
func open(t testing.TB, parent context.Context, home string, closed func()) *Browser {
	t.Helper()
	ctx, closePage := chromedp.NewContext(parent)
	b := &Browser{t: t, ctx: ctx, home: home}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start a browser: %v", err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	messages, requests := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	questions := chromedp.Events(ctx, page.JavascriptDialogOpening)
	var reading sync.WaitGroup
	reading.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == "error" || m.Type == "warning" {
				b.problem("the browser says: " + m.String())
			}
		}
	})
	reading.Go(func() {
		for e, err := range requests {
			if err != nil {
				return
			}
			b.request(e.Request.URL)
		}
	})
	reading.Go(func() { // who leaves a page says yes when asked
		for question, err := range questions {
			if err != nil {
				return
			}
			if question.Type != page.DialogTypeBeforeunload {
				b.problem("the browser asks: " + question.Message)
			}
			_, err := chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			if err != nil {
				b.problem("a question cannot be answered: " + err.Error())
			}
		}
	})
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the process has ended
		closePage()
		closed()
		reading.Wait()
		b.report()
	})
	return b
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

func (b *Browser) request(address string) {
	if originOf(address) != b.home && !strings.HasPrefix(address, "data:") && !strings.HasPrefix(address, "blob:") {
		b.problem("another origin is asked: " + address)
	}
}

// Allow takes messages with these words as expected: a refused request that the test itself provokes, or photos from a
// media address of their own.
func (b *Browser) Allow(words ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = append(b.allowed, words...)
}

func (b *Browser) problem(words string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, words)
}

func (b *Browser) report() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		if !slices.ContainsFunc(b.allowed, func(words string) bool { return strings.Contains(p, words) }) {
			b.t.Error(p)
		}
	}
}

// Do runs actions of chromedp, and ends the test when one fails.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserAction)
	defer cancel()
	b.must(chromedp.Do(ctx, actions...))
}

func (b *Browser) must(err error) {
	b.t.Helper()
	if err != nil {
		b.Screenshot("failed")
		b.t.Fatalf("browser: %v\n%s", err, b.where())
	}
}

// Eval returns the value of an expression in the page; promises are awaited.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	return evalWithin[T](b, browserAction, expression)
}

func evalWithin[T any](b *Browser, limit time.Duration, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	b.must(err)
	return v
}

// where tells the page on which an action failed.
func (b *Browser) where() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	words, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("at %.2000s", words)
}

// Open goes to a page of the site and waits until it is loaded.
func (b *Browser) Open(path string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(b.home + path))
}

// Path returns the path and query of the page.
func (b *Browser) Path() string {
	b.t.Helper()
	return Eval[string](b, "location.pathname + location.search")
}

// Click clicks an element.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	b.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Follow clicks an element that leads to another page, and waits until that is loaded.
func (b *Browser) Follow(selector string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserAction)
	defer cancel()
	_, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector)))
	b.must(err)
}

// Fill replaces what is in a field by typing.
func (b *Browser) Fill(selector, value string) {
	b.t.Helper()
	b.Await(selector)
	Eval[bool](b, "(document.querySelector("+quote(selector)+").value = '') === ''")
	b.Do(chromedp.SendKeys(chromedp.CSS(selector), value))
}

// Choose chooses a value of a list.
func (b *Browser) Choose(selector, value string) {
	b.t.Helper()
	b.Await(selector)
	if !Eval[bool](b, "(e => { e.value = "+quote(value)+"; e.dispatchEvent(new Event('input', {bubbles: true})); "+
		"return e.dispatchEvent(new Event('change', {bubbles: true})) && e.value === "+quote(value)+
		" })(document.querySelector("+quote(selector)+"))") {
		b.t.Fatalf("%s has no value %q", selector, value)
	}
}

// Press sends keys to the page, as chromedp's package kb names them. As on a keyboard, and other than with
// chromedp.KeyEvent, a key that the page takes for itself writes no character.
func (b *Browser) Press(keys string, modifiers ...chromedp.Modifier) {
	b.t.Helper()
	for _, r := range keys {
		var pressed input.DispatchKeyEventParams
		for _, event := range kb.Encode(r) {
			for _, m := range modifiers {
				event.Modifiers |= int64(m)
			}
			switch {
			case event.Type == kb.KeyDown:
				pressed = *event
			case event.Type == kb.KeyChar && event.Modifiers&^int64(chromedp.ModifierShift) == 0:
				pressed.Text, pressed.UnmodifiedText = event.Text, event.UnmodifiedText
			case event.Type == kb.KeyUp:
				b.dispatch(pressed)
				b.dispatch(*event)
			}
		}
	}
}

func (b *Browser) dispatch(event input.DispatchKeyEventParams) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserAction)
	defer cancel()
	_, err := chromedp.Call(ctx, input.DispatchKeyEvent, event)
	b.must(err)
}

// Upload gives files to a field.
func (b *Browser) Upload(selector string, files ...string) {
	b.t.Helper()
	b.Do(chromedp.SetUploadFiles(chromedp.CSS(selector), files, chromedp.NodeReady))
}

// Await waits until an element can be seen.
func (b *Browser) Await(selector string) {
	b.t.Helper()
	b.Do(chromedp.WaitVisible(chromedp.CSS(selector)))
}

// AwaitGone waits until an element is gone or hidden.
func (b *Browser) AwaitGone(selector string) {
	b.t.Helper()
	b.AwaitTrue("!document.querySelector(" + quote(selector) + ")?.checkVisibility()")
}

// AwaitTrue waits until an expression is true in the page that is there by then. Each look is one of its own: a page
// that gives way to the next one, or has not yet what the expression speaks of, only makes the wait longer.
func (b *Browser) AwaitTrue(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserAction)
	defer cancel()
	next := time.NewTicker(awaitInterval)
	defer next.Stop()
	for {
		found, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Promise.resolve("+expression+").then(Boolean)",
			chromedp.EvalAwaitPromise))
		if found {
			return
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			if err == nil || errors.Is(err, context.DeadlineExceeded) {
				err = errors.New("it never was true")
			}
			b.must(fmt.Errorf("await %s: %w", expression, err))
		}
	}
}

func quote(s string) string {
	q, _ := json.Marshal(s)
	return string(q)
}

// Text returns the visible words of the first element that matches.
func (b *Browser) Text(selector string) string {
	b.t.Helper()
	b.Do(chromedp.WaitReady(chromedp.CSS(selector)))
	return Eval[string](b, "document.querySelector("+quote(selector)+").innerText")
}

// Count returns how many elements match.
func (b *Browser) Count(selector string) int {
	b.t.Helper()
	return Eval[int](b, "document.querySelectorAll("+quote(selector)+").length")
}

// Theme makes the system's theme light or dark. Colours change at once: its user wants no motion.
func (b *Browser) Theme(theme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	b.must(err)
}

// Widths of common screens, for Resize.
const (
	DeskWidth   = 1440
	TabletWidth = 1024
	PhoneWidth  = 390
)

// Resize makes the screen as wide as a desk's, a tablet's or a phone's.
func (b *Browser) Resize(width int) {
	b.t.Helper()
	b.Do(chromedp.EmulateViewport(int64(width), 900))
}

// Scripts turns JavaScript on or off, for the pages that are opened from then on.
func (b *Browser) Scripts(on bool) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: !on})
	b.must(err)
}

// Offline cuts the page off from the network, or connects it again.
func (b *Browser) Offline(off bool) {
	b.t.Helper()
	emulate := cdp.Command[network.OverrideNetworkStateParams, cdp.Empty]{Method: "Network.emulateNetworkConditions"}
	_, err := chromedp.Call(b.ctx, emulate, network.OverrideNetworkStateParams{
		Offline: off, DownloadThroughput: -1, UploadThroughput: -1,
	})
	b.must(err)
}

// SignOut takes the cookies away, as a session that has ended does.
func (b *Browser) SignOut() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, network.ClearBrowserCookies, cdp.Empty{})
	b.must(err)
}

// Before runs a script in every page that is opened from then on, before the scripts of the page itself.
func (b *Browser) Before(script string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	b.must(err)
}
