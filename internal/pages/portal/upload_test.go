package portal_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// front is a server before the pages, as a proxy is: forms with photos go through what a test has set.
type front struct {
	*httptest.Server
	rule atomic.Pointer[func(w http.ResponseWriter, r *http.Request, next http.Handler)]
}

func (w *world) front(t *testing.T) *front {
	t.Helper()
	f, next := &front{}, w.Server.Config.Handler
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rule := f.rule.Load(); rule != nil && strings.HasSuffix(r.URL.Path, "/photos") {
			_, _ = io.Copy(io.Discard, r.Body) // an answer before the end of a body may be lost
			(*rule)(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// answer answers forms with photos with a status and a page; 0: not at all.
func (f *front) answer(status int, page string) {
	rule := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, page)
	}
	f.rule.Store(&rule)
}

// TestAnswerPhotoRequest_NotSent answers a photo request through a line that loses and refuses it: the form stays as it
// is, says why, and can be sent again.
func TestAnswerPhotoRequest_NotSent(t *testing.T) {
	requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	f := w.front(t)
	b := uitest.NewBrowser(t, f.URL)
	b.Allow("400", "401", "409", "413", "422", "429", "502", "503", "ERR_EMPTY_RESPONSE", "ERR_INTERNET_DISCONNECTED")
	signIn(t, w, b, w.Developer)
	id := w.Order(t, w.Test, order.MockUpdatePhotos)
	o, err := w.Store.Order(t.Context(), id)
	must.NoError(t, err)
	first, second := o.Requested[0].IndexCode, o.Requested[1].IndexCode
	path := "/portal/test/orders/" + id
	note := strings.Repeat("line\n", 199) + "end" // 1,000 characters at most, but not if each end of a line is two
	b.Open(path)
	b.Upload(`input[name="photo.`+first+`"]`, photoFile(t))
	b.Click(`input[name="unable.` + second + `"]`)
	uitest.Eval[bool](b, "(document.querySelector('textarea[name=note]').value = "+strconv.Quote(note)+", true)")

	// stays sends the form and checks that nothing of it is lost.
	stays := func(t *testing.T, words string) {
		t.Helper()
		b.Click("form[data-upload] button.primary")
		b.AwaitTrue("document.querySelector('[data-note]:not([hidden])')?.textContent.includes(" + strconv.Quote(words) + ")")
		if b.Count("[data-note]:not([hidden])") != 1 {
			t.Error("more than one reason is told")
		}
		if !uitest.Eval[bool](b, `(() => {
			const form = document.querySelector("form[data-upload]");
			const button = form.querySelector("button.primary");
			return form.querySelector("input[type=file]").files.length === 1 && form.elements.note.value.startsWith("line") &&
				!button.disabled && button.textContent.includes("Send photos") && form.querySelector("progress").hidden;
		})()`) {
			t.Error("the form is not as it was")
		}
	}
	const page = "<html><main><h1>Elsewhere</h1></main></html>"
	for name, tt := range map[string]struct {
		status int
		page   string
		words  string
	}{
		"ProxyTooLarge":  {http.StatusRequestEntityTooLarge, "<h1>413</h1>", "too much to send at once"},
		"ProxyNoService": {http.StatusBadGateway, "<h1>502</h1>", "cannot be reached"},
		"Unavailable":    {http.StatusServiceUnavailable, page, "cannot be reached"},
		"TooMany":        {http.StatusTooManyRequests, page, "Too many requests"},
		"Elsewhere":      {http.StatusOK, page, "could not be sent"},
		"NoPage":         {http.StatusUnprocessableEntity, "<h1>422</h1>", "could not be sent"},
		"CutOff":         {http.StatusBadRequest, page, "could not be sent"},
		"NoAnswer":       {0, "", "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			f.answer(tt.status, tt.page)
			stays(t, tt.words)
		})
	}
	f.rule.Store(nil)
	t.Run("Offline", func(t *testing.T) {
		b.Offline(true)
		stays(t, "cannot be reached")
		b.Offline(false)
	})
	t.Run("LedToSignIn", func(t *testing.T) { // where the browser does not say that a script asks
		rule := func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, "/portal/sign-in", http.StatusSeeOther)
		}
		f.rule.Store(&rule)
		stays(t, "signed out")
		f.rule.Store(nil)
	})
	t.Run("SignedOut", func(t *testing.T) {
		b.SignOut()
		stays(t, "signed out")
		b.Screenshot("photo-request-signed-out")
		b.CheckAccessibility()
		beside := b.Tab()
		beside.Open(uitest.Eval[string](b, `document.querySelector("[data-note=signed-out] a").getAttribute("href")`))
		beside.Fill("#f-email", w.Developer.Email)
		beside.Fill("#f-password", password)
		beside.Follow(".signin .primary")
		if got := beside.Path(); got != path {
			t.Errorf("signed in, one is at %s", got)
		}
	})
	t.Run("ArrivedAlready", func(t *testing.T) {
		rule := func(_ http.ResponseWriter, _ *http.Request, _ http.Handler) {
			body, contentType := w.unableToProvide(t, id)
			w.AsUser(t, w.Developer).Do(http.MethodPost, path+"/photos", contentType, strings.NewReader(body))
			panic(http.ErrAbortHandler)
		}
		f.rule.Store(&rule)
		stays(t, "cannot be reached")
		f.rule.Store(nil)
		stays(t, "may have arrived already")
	})
	t.Run("Refused", func(t *testing.T) { // by the rules of photo requests: the page says so
		b.Open("/portal/test/orders/" + w.Order(t, w.Test, order.MockUpdatePhotos))
		b.Click("form[data-upload] button.primary")
		b.Await("form[data-upload] > .alert:not([hidden])")
		uitest.Eval[bool](b, "(document.querySelectorAll('.wanted input[type=checkbox]').forEach((x) => x.click()), true)")
		uitest.Eval[bool](b, "(document.querySelector('textarea[name=note]').value = "+strconv.Quote(note)+", true)")
		b.Click("form[data-upload] button.primary")
		b.AwaitGone("form[data-upload]")
	})
}

// TestAnswerPhotoRequest_Corrected answers a photo request with something wrong: the page says so and keeps the files
// that nothing is wrong with.
func TestAnswerPhotoRequest_Corrected(t *testing.T) {
	requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Allow("422")
	signIn(t, w, b, w.Developer)
	id := w.Order(t, w.Test, order.MockUpdatePhotos)
	o, err := w.Store.Order(t.Context(), id)
	must.NoError(t, err)
	before, err := w.Store.OrderPhotos(t.Context(), id)
	must.NoError(t, err)
	field := func(i int) string { return `input[name="photo.` + o.Requested[i].IndexCode + `"]` }
	photo, text := photoFile(t), filepath.Join(t.TempDir(), "text.jpg")
	must.NoError(t, os.WriteFile(text, []byte("no picture"), 0o600))
	b.Open("/portal/test/orders/" + id)
	b.Upload(field(0), photo)

	// refused sends the form and checks how many files its fields have afterwards.
	refused := func(t *testing.T, words string, files ...int) {
		t.Helper()
		b.Click("form[data-upload] button.primary")
		b.AwaitTrue("document.querySelector('form[data-upload]').textContent.includes(" + strconv.Quote(words) + ")")
		for i, want := range files {
			if n := uitest.Eval[int](b, "document.querySelector("+strconv.Quote(field(i))+").files.length"); n != want {
				t.Errorf("field %d has %d files, want %d", i, n, want)
			}
		}
		if b.Count("form[data-upload] input[type=file]") != len(o.Requested) || b.Count("[data-note]:not([hidden])") != 0 {
			t.Error("the page is not the one that was answered")
		}
		b.AwaitTrue(`document.activeElement.matches("[role=alert]")`)
		if b.Count("button[data-copy][hidden]") != 0 {
			t.Error("the page that answers has no buttons to copy")
		}
	}
	t.Run("OneIsMissing", func(t *testing.T) { refused(t, "for every requested photo", 1, 0) })
	t.Run("BadFile", func(t *testing.T) {
		b.Upload(field(1), text)
		refused(t, "text.jpg", 1, 0)
	})
	t.Run("StorageIsFull", func(t *testing.T) {
		b.Upload(field(1), photo)
		w.Reconfigure(t, func(c *service.Config) { c.Limits.StoredBytes = 1 })
		refused(t, "storage of your account is full", 1, 1)
		b.Screenshot("photo-request-storage-full")
		b.CheckAccessibility()
		w.Reconfigure(t, func(c *service.Config) { c.Limits.StoredBytes = 0 })
	})
	for _, r := range o.Requested[2:] {
		b.Click(`input[name="unable.` + r.IndexCode + `"]`)
	}
	b.Click("form[data-upload] button.primary")
	b.AwaitGone("form[data-upload]")
	after, err := w.Store.OrderPhotos(t.Context(), id)
	must.NoError(t, err)
	if n := len(after) - len(before); n != 2 {
		t.Errorf("%d photos arrived, want 2", n)
	}
}

// TestAnswerPhotoRequest_TooLate: somebody else answers while photos are on their way. Whoever sent them is told.
func TestAnswerPhotoRequest_TooLate(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	for language, words := range map[string]string{"en": "Yours were not taken", "ja": "受け付けられませんでした"} {
		id := w.Order(t, w.Test, order.MockUpdatePhotos)
		path := "/portal/test/orders/" + id + "/photos"
		body, contentType := w.unableToProvide(t, id)
		first := readerFunc(func([]byte) (int, error) { // read once the order was seen to wait
			v.Do(http.MethodPost, path, contentType, strings.NewReader(body)).Want(t, http.StatusSeeOther)
			return 0, io.EOF
		})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path,
			io.MultiReader(first, strings.NewReader(body)))
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Accept-Language", language)
		r.AddCookie(v.Cookies[pagetest.PortalCookie])
		answer := httptest.NewRecorder()
		w.Server.Config.Handler.ServeHTTP(answer, r)
		if answer.Code != http.StatusConflict || !strings.Contains(answer.Body.String(), words) {
			t.Errorf("status %d, without %q:\n%s", answer.Code, words, answer.Body)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// TestAnswerPhotoRequest_Lines sends a note whose lines end as browsers send them: it counts as it was entered.
func TestAnswerPhotoRequest_Lines(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	id := w.Order(t, w.Test, order.MockUpdatePhotos)
	o, err := w.Store.Order(t.Context(), id)
	must.NoError(t, err)
	fields := map[string]string{"note": strings.Repeat("line\r\n", 199) + "end"}
	for _, r := range o.Requested {
		fields["unable."+r.IndexCode] = "1"
	}
	answer(v, "/portal/test/orders/"+id+"/photos", fields, nil).Want(t, http.StatusSeeOther)
	v.Get("/portal/test/orders/"+id).Want(t, http.StatusOK, "line\nline").Lacks(t, "line\r\nline")
}
