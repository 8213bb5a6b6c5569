package uitest

import (
	"context"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// ClickAt clicks a place of the screen.
func (b *Browser) ClickAt(x, y float64) {
	b.t.Helper()
	b.Do(chromedp.MouseClickXY(x, y))
}

// Drag presses the pointer at a place of the screen, moves it to another one and releases it there.
func (b *Browser) Drag(x1, y1, x2, y2 float64) {
	b.t.Helper()
	b.Do(
		chromedp.MouseEvent(chromedp.MousePressed, x1, y1, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(chromedp.MouseMoved, x2, y2, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, x2, y2, chromedp.ButtonLeft, chromedp.ClickCount(1)),
	)
}

// ConfirmComposition presses Enter as a page hears of it while an input method is converting: no character follows.
func (b *Browser) ConfirmComposition() {
	b.t.Helper()
	const processed = 229 // the code of a key that an input method takes
	b.dispatch(input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeRawKeyDown, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: processed,
	})
}

// Compose writes a text into the field that has the focus as an input method does that is still converting it: nothing
// is confirmed yet.
func (b *Browser) Compose(text string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserAction)
	defer cancel()
	_, err := chromedp.Call(ctx, input.ImeSetComposition, input.ImeSetCompositionParams{
		Text: text, SelectionStart: int64(len([]rune(text))), SelectionEnd: int64(len([]rune(text))),
	})
	b.must(err)
}
