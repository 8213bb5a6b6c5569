package deliver

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/hostile"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/tcpproxy"
)

func port(t testing.TB, server *httptest.Server) string {
	t.Helper()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func example() *store.QueuedDelivery {
	return &store.QueuedDelivery{Place: store.Place{ID: uuid7.New()}, Event: webhook.UpdatePhotos, Body: []byte("{}")}
}

// attempt makes an attempt to deliver the example.
func attempt(t testing.TB, s *Sender, e *webhook.Endpoint) (webhook.Attempt, error, error) {
	t.Helper()
	aimed, err := s.http.openTarget(e)
	if err != nil {
		t.Fatal(err)
	}
	return s.http.attempt(t.Context(), aimed, example())
}

// connections starts a receiver that counts its connections.
func connections(t testing.TB) (*receiver, *atomic.Int64) {
	t.Helper()
	r := &receiver{Server: httptest.NewUnstartedServer(http.NotFoundHandler())}
	n := tcpproxy.CountConnections(r.Server)
	r.StartTLS()
	t.Cleanup(r.Close)
	return r, n
}

// TestFailedAttempts covers every result other than an acknowledgement.
func TestFailedAttempts(t *testing.T) {
	w := sqliteWorld(t)
	behave := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/ok", http.StatusTemporaryRedirect)
		case "/not-modified":
			w.WriteHeader(http.StatusNotModified)
		case "/gone":
			w.WriteHeader(http.StatusGone)
			_, _ = io.WriteString(w, strings.Repeat("g", 2000))
		case "/binary":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "a\x00b\xffc")
		case "/reset":
			panic(http.ErrAbortHandler)
		case "/hang":
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		case "/long-header":
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		}
	}
	r := newReceiver(t, w.clock, behave)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	closed := httptest.NewTLSServer(http.NotFoundHandler())
	closed.Close()
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	defer old.Close()
	rude, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rude.Close() }()
	go func() {
		for {
			c, err := rude.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()

	for name, test := range map[string]struct {
		url     string
		guard   *netguard.Guard // nil: may call the receivers
		strange bool            // the certificate of the receiver is not trusted
		status  int
		failure webhook.Failure
		answer  string
	}{
		"Redirect":         {url: r.URL + "/redirect", status: 307},
		"NotModified":      {url: r.URL + "/not-modified", status: 304},
		"Gone":             {url: r.URL + "/gone", status: 410, answer: strings.Repeat("g", 1024)},
		"BinaryAnswer":     {url: r.URL + "/binary", status: 500, answer: "a\ufffdb\ufffdc"},
		"Reset":            {url: r.URL + "/reset", failure: webhook.FailureConnection},
		"Hang":             {url: r.URL + "/hang", failure: webhook.FailureTimeout},
		"LongHeader":       {url: r.URL + "/long-header", failure: webhook.FailureConnection},
		"PortIsClosed":     {url: closed.URL, failure: webhook.FailureConnection},
		"ClosesAtOnce":     {url: "https://" + rude.Addr().String(), failure: webhook.FailureConnection},
		"NoTLS":            {url: strings.Replace(plain.URL, "http:", "https:", 1), failure: webhook.FailureTLS},
		"OldTLS":           {url: old.URL, failure: webhook.FailureTLS},
		"UnknownAuthority": {url: r.URL, strange: true, failure: webhook.FailureTLS},
		"WrongName": {
			url: "https://wrong.test:" + port(t, r.Server), failure: webhook.FailureTLS,
			guard: &netguard.Guard{AllowPrivate: true, Resolver: &hostile.Rebinding{First: "127.0.0.1", Then: "127.0.0.1"}},
		},
		"Unresolvable": {
			url: "https://nowhere.example", guard: &netguard.Guard{AllowPrivate: true, Resolver: hostile.Resolver{}},
			failure: webhook.FailureUnresolvable,
		},
		"Unsafe": {url: r.URL, guard: &netguard.Guard{}, failure: webhook.FailureUnsafe},
	} {
		t.Run(name, func(t *testing.T) {
			s := w.sender(r, func(c *Config) {
				if test.failure == webhook.FailureTimeout {
					c.Timeout = 300 * time.Millisecond
				}
				if test.guard != nil {
					c.Guard = test.guard
				}
				if test.strange {
					c.RootCAs = nil
				}
			})
			e := w.endpoint(test.url + "?" + name)
			e.URL = test.url
			a, cause, err := attempt(t, s, e)
			if err != nil || a.HTTPStatus != test.status || a.Failure != test.failure || a.Answer != test.answer ||
				a.Acknowledged() {
				t.Errorf("attempt: %+v, %v, %v", a, cause, err)
			}
			if (cause == nil) != (test.failure == "") {
				t.Errorf("cause: %v", cause)
			}
		})
	}
	for _, request := range r.all() {
		if request.path == "/ok" {
			t.Error("a redirect was followed")
		}
	}
}

// TestAcknowledgement checks that only the status counts, not how the body ends.
func TestAcknowledgement(t *testing.T) {
	w := sqliteWorld(t)
	r := newReceiver(t, w.clock, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/299":
			w.WriteHeader(299)
		case "/endless":
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, strings.Repeat("e", 1<<16))
			}
		case "/breaks-off":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	s := w.sender(r, nil)
	for path, answer := range map[string]string{
		"/200":        "",
		"/299":        "",
		"/endless":    strings.Repeat("e", 1024),
		"/breaks-off": "half",
	} {
		e := w.endpoint(r.URL + path)
		a, cause, err := attempt(t, s, e)
		if err != nil || cause != nil || !a.Acknowledged() || a.Answer != answer {
			t.Errorf("%s: %+v, %v, %v", path, a, cause, err)
		}
	}
}

// TestHeadersAreSpelledAsDocumented checks the bytes of HTTP/1.1.
func TestHeadersAreSpelledAsDocumented(t *testing.T) {
	w := sqliteWorld(t)
	r := newReceiver(t, w.clock, nil)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: r.TLS.Certificates, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	raw := make(chan string, 1)
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		buffer := make([]byte, 4096)
		n, _ := io.ReadAtLeast(c, buffer, 200)
		raw <- string(buffer[:n])
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	}()
	d := w.queue(1, w.endpoint("https://"+listener.Addr().String()+"/hook"))[0]
	w.start(r, nil)
	head, _, _ := strings.Cut(<-raw, "\r\n\r\n")
	for _, line := range []string{
		"POST /hook HTTP/1.1", "X-LG-Event: order-outcome", "X-LG-Delivery-Id: " + d.ID, "X-LG-Timestamp: ",
		"X-LG-Signature: v1=", "Content-Type: application/json",
	} {
		if !strings.Contains(head, line) {
			t.Errorf("%q is missing in:\n%s", line, head)
		}
	}
	if strings.Contains(head, "Accept-Encoding") {
		t.Errorf("compression is asked for:\n%s", head)
	}
}

func TestHostileHosts(t *testing.T) {
	w := sqliteWorld(t)
	r, seen := connections(t)
	s := w.sender(r, func(c *Config) { c.Guard = &netguard.Guard{Resolver: hostile.Resolver{}} })
	try := func(e *webhook.Endpoint) webhook.Attempt {
		e.SealedSecret = w.Secrets.Seal("secret", e.ID)
		a, _, err := attempt(t, s, e)
		if err != nil {
			t.Errorf("%s: %v", e.URL, err)
		}
		return a
	}
	for _, host := range hostile.Hosts {
		target := "https://" + host + ":" + port(t, r.Server) + "/hook"
		if _, err := url.Parse(target); err != nil {
			t.Errorf("%s does not get as far as to be dialled: %v", target, err)
			continue
		}
		if a := try(&webhook.Endpoint{ID: uuid7.New(), URL: target}); a.Failure != webhook.FailureUnsafe &&
			a.Failure != webhook.FailureUnresolvable {
			t.Errorf("%s as url: %+v", target, a)
		}
		if a := try(&webhook.Endpoint{
			ID: uuid7.New(), URL: "https://example.com/", OAuth: &webhook.OAuth{TokenURL: target, ClientID: "id"},
		}); a.Failure != webhook.FailureToken {
			t.Errorf("%s as token_url: %+v", target, a)
		}
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// TestRebinding registers a public name and delivers after it resolves to a private address (DNS rebinding).
func TestRebinding(t *testing.T) {
	for name, then := range map[string]string{
		"Loopback": "127.0.0.1", "Mapped": "::ffff:127.0.0.1",
		"Mixed":    "93.184.215.14,127.0.0.1",
		"Metadata": "169.254.169.254",
	} {
		t.Run(name, func(t *testing.T) {
			w := sqliteWorld(t)
			r, seen := connections(t)
			guard := &netguard.Guard{Resolver: &hostile.Rebinding{First: "93.184.215.14", Then: then}}
			if err := guard.CheckHost(t.Context(), "rebinding.example"); err != nil {
				t.Fatal(err)
			}
			target := "https://rebinding.example:" + port(t, r.Server) + "/hook"
			all := w.queue(1, w.endpoint(target),
				w.Endpoint("https://example.com/", &webhook.OAuth{TokenURL: target, ClientID: "id"}))
			w.start(r, func(c *Config) { c.Guard = guard })
			for i, failure := range []webhook.Failure{webhook.FailureUnsafe, webhook.FailureToken} {
				must.Eventually(t, patient, "the attempt", func() bool { return w.Delivery(all[i].ID).Attempts == 1 })
				if got := w.Attempts(all[i].ID)[0]; got.Failure != failure {
					t.Errorf("attempt: %+v, want %s", got, failure)
				}
			}
			if n := seen.Load(); n != 0 {
				t.Errorf("%d connections were made", n)
			}
		})
	}
}

// TestRepeatedAttempts checks that attempts share a connection until one fails, and that the next has its own: what
// closed the connection may do so again.
func TestRepeatedAttempts(t *testing.T) {
	w := sqliteWorld(t)
	r, seen := connections(t)
	s := w.sender(r, nil)
	aimed, err := s.http.openTarget(w.endpoint(r.URL))
	if err != nil {
		t.Fatal(err)
	}
	for n, failures := range []int{0, 0, 1, 0, 2} {
		d := example()
		d.Failures = failures
		if a, cause, err := s.http.attempt(t.Context(), aimed, d); err != nil || a.HTTPStatus != http.StatusNotFound {
			t.Fatalf("attempt: %+v, %v, %v", a, cause, err)
		}
		if want := []int64{1, 1, 2, 2, 3}[n]; seen.Load() != want {
			t.Errorf("%d connections after %d attempts, want %d", seen.Load(), n+1, want)
		}
	}
}
