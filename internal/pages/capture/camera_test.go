package capture_test

import (
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/uitest"
	"github.com/chromedp/chromedp/kb"
)

// cameras is a page whose camera is opened when a test says so, and which keeps all streams.
const cameras = `{
	const open = MediaDevices.prototype.getUserMedia;
	globalThis.streams = [];
	globalThis.asked = 0;
	const allowed = new Promise((resolve) => { globalThis.allow = resolve; });
	MediaDevices.prototype.getUserMedia = async function (wanted) {
		asked++;
		await allowed;
		const stream = await open.call(this, wanted);
		streams.push(stream);
		return stream;
	};
}`

// TestCamera opens and closes the dialogs of the camera in every way: none leaves the camera on or loses a photo.
func TestCamera(t *testing.T) {
	w := newWorld(t)
	_, path := w.link(t)
	code := w.required(t, path)[0]
	shot := `.shot[data-index="` + code + `"] `
	b := uitest.NewBrowser(t, w.URL, "use-fake-device-for-media-stream", "use-fake-ui-for-media-stream")
	b.Allow("cdn")
	b.Before(cameras)
	b.Resize(uitest.PhoneWidth)
	b.Open(path + "?lang=en")
	open := func(dialog string) bool { return uitest.Eval[bool](b, `document.getElementById("`+dialog+`").open`) }
	// beside clicks at the edge of a dialog and at its backdrop.
	beside := func(dialog string) {
		t.Helper()
		at := uitest.Eval[struct{ X, Y float64 }](b,
			`(({left, top}) => ({x: left, y: top}))(document.getElementById("`+dialog+`").getBoundingClientRect())`)
		b.ClickAt(at.X+4, at.Y+4)
		b.ClickAt(at.X-4, at.Y+4)
		if !open(dialog) {
			t.Errorf("a tap beside the buttons of %s closes it", dialog)
		}
	}
	off := func(after string) {
		t.Helper()
		b.AwaitTrue(`!document.getElementById("camera").open &&
			streams.every((stream) => stream.getTracks().every((track) => track.readyState === "ended"))`)
		if n := uitest.Eval[int](b, "streams.length"); n == 0 {
			t.Errorf("the camera was not on before %s", after)
		}
	}

	b.Click(shot + "[data-take]") // twice while the browser asks for permission
	b.Click(shot + "[data-take]")
	uitest.Eval[bool](b, "allow() === undefined")
	b.AwaitTrue(`document.getElementById("video").videoWidth > 0`)
	if n := uitest.Eval[int](b, "asked"); n != 1 {
		t.Errorf("two taps open %d cameras", n)
	}
	beside("camera")
	b.Press(kb.Escape)
	off("Escape")
	b.Click(shot + "[data-take]")
	b.AwaitTrue(`document.getElementById("video").videoWidth > 0`)
	uitest.Eval[bool](b, `document.getElementById("camera").close() === undefined`) // whoever does it
	off("the dialog was closed")
	b.Click(shot + "[data-take]")
	b.AwaitTrue(`document.getElementById("video").videoWidth > 0`)
	b.Click("[data-camera-close]")
	off("Cancel")
	if n := b.Count(shot + "li"); n != 0 {
		t.Errorf("%d photos of a camera that was only closed", n)
	}

	dark := filepath.Join(t.TempDir(), "dark.jpg")
	file, err := os.Create(filepath.Clean(dark))
	must.NoError(t, err)
	must.NoError(t, jpeg.Encode(file, image.NewGray(image.Rect(0, 0, 800, 600)), nil))
	must.NoError(t, file.Close())
	b.Upload(shot+"[data-file]", dark)
	b.Await("#review")
	beside("review")
	b.Click("#use")
	b.Await(shot + "li.is-sent")
}
