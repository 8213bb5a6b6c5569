package capture_test

import (
	"bufio"
	"bytes"
	"fmt"
	"image/jpeg"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/httpx"
	web "github.com/assayhq/assay/internal/pages/capture"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// line is what lies between a phone and the service: it does to requests what a test says.
type line struct {
	mu    sync.Mutex
	rules map[string]func(w http.ResponseWriter, r *http.Request, next http.Handler) // by method
}

// set does something to the requests of a method from now on; nil: nothing.
func (l *line) set(method string, rule func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules[method] = rule
}

func (l *line) rule(method string) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rules[method]
}

// line returns one, and its address.
func (w *world) line(t *testing.T) (l *line, address string) {
	t.Helper()
	l = &line{rules: make(map[string]func(http.ResponseWriter, *http.Request, http.Handler))}
	next := w.Config.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rule := l.rule(r.Method); rule != nil {
			rule(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return l, s.URL
}

// refuse answers as a proxy does that never asks the service.
func refuse(status int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<h1>Proxy</h1>")
	}
}

// photos returns the keys of the photos that the service has of a link.
func (w *world) photos(t *testing.T, path string) (keys []string) {
	t.Helper()
	c, err := w.Service.OpenCapture(t.Context(), strings.TrimPrefix(path, web.Prefix))
	must.NoError(t, err)
	for _, p := range c.Photos {
		keys = append(keys, p.Key)
	}
	return keys
}

// awaitPhotos waits until the service has so many photos of a link.
func (w *world) awaitPhotos(t *testing.T, path string, n int) {
	t.Helper()
	must.Eventually(t, time.Minute, fmt.Sprintf("the service has %d photos", n), func() bool {
		return len(w.photos(t, path)) == n
	})
}

// seller is somebody with a phone at the page of a link.
type seller struct {
	*uitest.Browser
	*line
	id, path string
	index    string // takes one more photo; every required one has some
	others   int    // photos that are there
	file     string
}

func (w *world) seller(t *testing.T) *seller {
	t.Helper()
	l, address := w.line(t)
	s := &seller{line: l, file: filepath.Join(t.TempDir(), "photo.jpg")}
	must.NoError(t, os.WriteFile(s.file, picture(t), 0o600))
	s.id, s.path = w.link(t)
	c, err := w.Service.OpenCapture(t.Context(), strings.TrimPrefix(s.path, web.Prefix))
	must.NoError(t, err)
	for _, x := range c.Wanted {
		if !x.Required {
			continue
		}
		n := 1
		if s.index == "" {
			s.index, n = x.Code, x.MaxPhotos-1
		}
		for i := range n {
			w.want(t, 204, "PUT", fmt.Sprintf("%s/photos/photo-%s-%d?index=%s", s.path, x.Code, i, x.Code), picture(t))
		}
		s.others += n
	}
	s.Browser = uitest.NewBrowser(t, address)
	s.Allow("cdn", "400", "403", "404", "408", "409", "413", "503", "ERR_EMPTY_RESPONSE")
	s.Open(s.path + "?lang=en")
	return s
}

// tile is the selector of the photo that is the last one of the index.
func (s *seller) tile() string {
	return `.shot[data-index="` + s.index + `"] li:not([data-key^="photo-"])`
}

// choose takes the photo of the index from a file.
func (s *seller) choose() {
	s.AwaitTrue("!document.querySelector('.shot[data-index=\"" + s.index + "\"] [data-file]').disabled")
	s.Upload(`.shot[data-index="`+s.index+`"] [data-file]`, s.file)
	s.AwaitTrue(`document.getElementById("review").open || document.querySelector('` + s.tile() + `') !== null`)
	if uitest.Eval[bool](s.Browser, `document.getElementById("review").open`) {
		s.Click("#use")
	}
	s.Await(s.tile())
}

func (s *seller) awaitState(state string) {
	s.AwaitTrue(`document.querySelector('` + s.tile() + ` .shot-state')?.textContent === "` + state + `"`)
}

func (s *seller) mayNotSubmit(t *testing.T, while string) {
	t.Helper()
	if !uitest.Eval[bool](s.Browser, `document.getElementById("submit").disabled`) {
		t.Errorf("%s, the photos can be submitted", while)
	}
}

// submit sends the photos and returns how many there are.
func (s *seller) submit(t *testing.T, w *world) int {
	t.Helper()
	s.AwaitTrue(`!document.getElementById("submit").disabled`)
	s.Click("#submit")
	s.Await("#return")
	r, err := w.Service.CaptureLink(t.Context(), w.Live.Actor(access.Origin{}), s.id)
	must.NoError(t, err)
	return len(r.Photos)
}

// TestRemove takes photos back whose sending has begun: the service has them no longer when the rest is submitted.
func TestRemove(t *testing.T) {
	w := newWorld(t)
	t.Run("AnswerIsLost", func(t *testing.T) {
		s := w.seller(t)
		s.set("PUT", func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		})
		s.choose()
		w.awaitPhotos(t, s.path, s.others+1)
		s.awaitState("Waiting")
		s.Click(s.tile() + " [data-drop]")
		w.awaitPhotos(t, s.path, s.others)
		s.set("PUT", nil)
		s.choose() // another one has its place
		s.Await(s.tile() + ".is-sent")
		if n := s.submit(t, w); n != s.others+1 {
			t.Errorf("%d photos were submitted, not %d", n, s.others+1)
		}
	})
	t.Run("WhileItIsSent", func(t *testing.T) {
		s := w.seller(t)
		arrived, release := make(chan struct{}), make(chan struct{})
		s.set("PUT", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			close(arrived)
			<-release
			next.ServeHTTP(w, r)
		})
		s.set("DELETE", refuse(http.StatusServiceUnavailable))
		s.choose()
		<-arrived
		s.Click(s.tile() + " [data-drop]")
		s.AwaitGone(s.tile())
		s.set("PUT", nil)
		s.choose() // waits until the place is free
		s.mayNotSubmit(t, "While a photo that was removed is sent")
		close(release)
		w.awaitPhotos(t, s.path, s.others+1)
		s.mayNotSubmit(t, "While a photo that was removed is still there")
		s.set("DELETE", nil)
		s.Await(s.tile() + ".is-sent")
		if n := s.submit(t, w); n != s.others+1 {
			t.Errorf("%d photos were submitted, not %d", n, s.others+1)
		}
	})
	t.Run("OverAReload", func(t *testing.T) {
		s := w.seller(t)
		s.choose()
		s.Await(s.tile() + ".is-sent")
		s.set("DELETE", refuse(http.StatusForbidden))
		s.Click(s.tile() + " [data-drop]")
		s.AwaitGone(s.tile())
		s.AwaitTrue(`document.getElementById("alert").textContent !== ""`)
		w.awaitPhotos(t, s.path, s.others+1)
		s.Open(s.path)
		s.AwaitGone(s.tile())
		s.set("DELETE", nil)
		w.awaitPhotos(t, s.path, s.others)
		s.choose()
		s.Await(s.tile() + ".is-sent")
		if n := s.submit(t, w); n != s.others+1 {
			t.Errorf("%d photos were submitted, not %d", n, s.others+1)
		}
	})
}

// TestSlowLine loses photos on their way: what is not refused for what it is, is sent again.
func TestSlowLine(t *testing.T) {
	w := newWorld(t)
	_, path := w.link(t)
	sent := picture(t)
	target := path + "/photos/aaaaaaaa?index=" + w.required(t, path)[0]
	// half sends the first half of a photo, then what then does, and returns the status of the answer.
	half := func(t *testing.T, address string, then func(*net.TCPConn)) int {
		t.Helper()
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "http://"))
		must.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, err = fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: shop\r\nContent-Length: %d\r\n\r\n%s", target, len(sent),
			sent[:len(sent)/2])
		must.NoError(t, err)
		then(conn.(*net.TCPConn)) // of this network
		var answer bytes.Buffer
		must.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, _ = answer.ReadFrom(conn) // the server ends the connection, or stops at the first line
		var status int
		_, err = fmt.Sscanf(answer.String(), "HTTP/1.1 %d", &status)
		must.NoError(t, err)
		return status
	}
	t.Run("CutOff", func(t *testing.T) {
		if status := half(t, w.URL, func(c *net.TCPConn) { _ = c.CloseWrite() }); status != http.StatusRequestTimeout {
			t.Errorf("half a photo is answered with %d", status)
		}
	})
	t.Run("TooSlow", func(t *testing.T) {
		s := httptest.NewServer(httpx.LimitBodies(100*time.Millisecond, w.Config.Handler))
		defer s.Close()
		if status := half(t, s.URL, func(*net.TCPConn) {}); status != http.StatusRequestTimeout {
			t.Errorf("a photo that takes too long is answered with %d", status)
		}
	})
	t.Run("ThereAlready", func(t *testing.T) { // the answer was lost; a phone looks for this one when all is sent
		w.want(t, http.StatusNoContent, "PUT", target, sent)
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.URL, "http://"))
		must.NoError(t, err)
		defer func() { _ = conn.Close() }()
		must.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		large := make([]byte, 15<<20)
		_, err = fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: shop\r\nContent-Length: %d\r\n\r\n", target, len(large))
		must.NoError(t, err)
		_, err = conn.Write(large)
		must.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must.NoError(t, err)
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusNoContent {
			t.Error(resp.Status)
		}
	})
	t.Run("SentAgain", func(t *testing.T) {
		s := w.seller(t)
		asked := make(chan struct{}, 100)
		answer := func(status int) {
			s.set("PUT", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				refuse(status)(w, r, next)
				asked <- struct{}{}
			})
		}
		answer(http.StatusRequestTimeout)
		s.choose()
		for _, status := range []int{
			http.StatusForbidden, http.StatusBadRequest, http.StatusNotFound, http.StatusOK, http.StatusServiceUnavailable,
		} {
			<-asked // so it is kept
			s.awaitState("Waiting")
			answer(status)
			s.Open(s.path)
			s.Await(s.tile())
		}
		s.set("PUT", nil)
		s.Await(s.tile() + ".is-sent")
		if keys := w.photos(t, s.path); len(slices.Compact(keys)) != s.others+1 {
			t.Errorf("the service has the photos %v", keys)
		}
	})
	t.Run("SlowStorage", func(t *testing.T) { // a photo is chosen before the browser can keep it
		s := w.seller(t)
		s.Before(`{
			const { setTimeout } = globalThis;
			const patience = 5000; // after it the page sends what it cannot keep; here it has time
			globalThis.setTimeout = (then, after) => after === patience ? 0 : setTimeout(then, after);
			const open = IDBFactory.prototype.open;
			globalThis.opening = new Promise((resolve) => { globalThis.letOpen = resolve; });
			IDBFactory.prototype.open = function (...how) {
				const late = new EventTarget();
				opening.then(() => {
					const request = open.apply(this, how);
					for (const name of ["upgradeneeded", "success", "error"]) {
						request.addEventListener(name, () => {
							late.result = request.result;
							late.dispatchEvent(new Event(name));
						});
					}
				});
				return late;
			};
		}`)
		s.set("PUT", refuse(http.StatusServiceUnavailable))
		s.AwaitTrue(`!document.getElementById("submit").disabled`) // a storage that is being made must not be left
		s.Open(s.path)
		s.choose()
		uitest.Eval[bool](s.Browser, "letOpen() === undefined")
		s.AwaitTrue(`document.getElementById("alert").textContent !== ""`) // it has been sent, in vain
		s.Open(s.path)
		uitest.Eval[bool](s.Browser, "letOpen() === undefined")
		s.Await(s.tile())
		s.set("PUT", nil)
		s.Await(s.tile() + ".is-sent")
	})
	t.Run("Refused", func(t *testing.T) {
		s := w.seller(t)
		problem := `.shot[data-index="` + s.index + `"] .shot-problem`
		says := func(words string) {
			s.AwaitTrue("document.querySelector('" + problem + "').textContent.includes('" + words + "')")
			s.AwaitGone(s.tile())
		}
		refused := func(words string, rule func(http.ResponseWriter, *http.Request, http.Handler)) {
			shown := make(chan struct{}) // the photo
			s.set("PUT", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				<-shown
				rule(w, r, next)
			})
			s.choose()
			close(shown)
			says(words)
		}
		good, err := os.ReadFile(s.file)
		must.NoError(t, err)
		must.NoError(t, os.WriteFile(s.file, []byte("no picture"), 0o600))
		s.Upload(`.shot[data-index="`+s.index+`"] [data-file]`, s.file)
		says("cannot be read")
		must.NoError(t, os.WriteFile(s.file, good, 0o600))
		for code, words := range map[string]string{
			"storage-limit-reached": "No more photos can be stored", "RESOLUTION_TOO_LARGE": "too many pixels",
			"capture-upload-limit-reached": "Too many photos were sent", "something-else": "could not be sent",
		} {
			refused(words, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("Content-Type", "application/json; charset=utf-8")
				w.WriteHeader(http.StatusConflict)
				_, _ = fmt.Fprintf(w, `{"code": %q, "message": "No."}`, code)
			})
		}
		refused("too large", refuse(http.StatusRequestEntityTooLarge))
	})
	t.Run("TooManyPixels", func(t *testing.T) { // a smaller copy is sent
		s := w.seller(t)
		var b bytes.Buffer
		must.NoError(t, jpeg.Encode(&b, pictures.Photo(photo.MaxSide+200, 900), nil))
		must.NoError(t, os.WriteFile(s.file, b.Bytes(), 0o600))
		s.choose()
		s.Await(s.tile() + ".is-sent")
	})
	t.Run("Missing", func(t *testing.T) { // of what the page takes for sent, the service has nothing
		s := w.seller(t)
		s.AwaitTrue(`!document.getElementById("submit").disabled`)
		for _, key := range w.photos(t, s.path) {
			if strings.Contains(key, s.index) {
				w.want(t, http.StatusNoContent, "DELETE", s.path+"/photos/"+key, nil)
			}
		}
		s.Click("#submit")
		s.Await(`.shot[data-index="` + s.index + `"] .shot-problem`)
		s.mayNotSubmit(t, "While a photo is missing")
		if n := s.Count(`.shot[data-index="` + s.index + `"] li`); n != 0 {
			t.Errorf("%d photos are shown that the service does not have", n)
		}
		s.Screenshot("missing")
		s.choose()
		s.Await(s.tile() + ".is-sent")
		if n := s.submit(t, w); n == 0 {
			t.Error("nothing was submitted")
		}
	})
}
