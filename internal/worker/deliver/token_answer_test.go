package deliver

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/outbox"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// say returns what answers a token request in place of the authority.
func say(status int, contentType, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}

// TestTokenFailures checks that the log of attempts says why there is no token, and holds none.
func TestTokenFailures(t *testing.T) {
	const asJSON = "application/json"
	closed := httptest.NewTLSServer(http.NotFoundHandler())
	closed.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	redirect := func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "/oauth/token?again", http.StatusTemporaryRedirect)
		return r.URL.RawQuery == ""
	}
	hang := func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return true
	}
	halt := func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = io.WriteString(w, `{"access_token":"s3cret`)
		_ = http.NewResponseController(w).Flush()
		return hang(w, r)
	}
	breakOff := func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"access_token":"s3cret`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	repeat := func(w http.ResponseWriter, r *http.Request) bool {
		return say(400, "text/plain", "you sent "+r.Header.Get("Authorization")+" for "+outbox.Secret)(w, r)
	}
	for name, test := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		oauth  func(*webhook.OAuth)
		answer string
	}{
		"WrongClient": {
			oauth:  func(o *webhook.OAuth) { o.ClientID = "other" },
			answer: "HTTP 401 Unauthorized\n{\"error\":\"invalid_client\"",
		},
		"NoSuchPath": {
			oauth:  func(o *webhook.OAuth) { o.TokenURL += "/else" },
			answer: "HTTP 404 Not Found\n404 page not found",
		},
		"ServerError":   {before: say(500, "text/plain", "oops"), answer: "HTTP 500 Internal Server Error\noops"},
		"UnknownStatus": {before: say(599, "text/plain", "oops"), answer: "HTTP 599\noops"},
		"Redirect":      {before: redirect, answer: "HTTP 307 Temporary Redirect: redirects are not followed\n"},
		"NoToken": {
			before: say(200, asJSON, `{"token_type":"Bearer","expires_in":300}`),
			answer: "HTTP 200 OK: no access_token in the response\n" + `{"token_type":"Bearer","expires_in":300}`,
		},
		"EmptyToken": {
			before: say(200, asJSON, `{"access_token":"", "id_token":"s3cret","refresh_token" : "s3cret\"s3cret","scope":"a"}`),
			answer: "HTTP 200 OK: no access_token in the response\n" +
				`{"access_token":••••••, "id_token":••••••,"refresh_token" : ••••••,"scope":"a"}`,
		},
		"OtherName": {
			before: say(200, asJSON, `{"accessToken":"s3cret","data":{"token":"s3cret"},"error":"Invalid token: none"}`),
			answer: "HTTP 200 OK: no access_token in the response\n" +
				`{"accessToken":••••••,"data":{"token":••••••},"error":"Invalid token: none"}`,
		},
		"NotJSON":   {before: say(200, asJSON, "<html>"), answer: "HTTP 200 OK: the response is not JSON\n<html>"},
		"PlainForm": {before: say(200, "text/plain", "a=b&access_token=s3cret"), answer: "HTTP 200 OK: the response is not"},
		"BareToken": {before: say(200, asJSON, "eyJs3cret.eyJs3cret.s3cret"), answer: "HTTP 200 OK: the response is not"},
		"EmptyBody": {before: say(200, asJSON, ""), answer: "HTTP 200 OK: the response is not JSON\n"},
		"NotAString": {
			before: say(200, asJSON, `{"access_token":{"a":"x","b":"s3cret"}}`), answer: "HTTP 200 OK: no access_token",
		},
		"Unsendable": {
			before: say(200, asJSON, `{"access_token":"s3cret\ns3cret"}`),
			answer: "HTTP 200 OK: the access_token has characters that no header can carry\n" + `{"access_token":••••••}`,
		},
		"LongToken": {
			before: say(200, asJSON, `{"access_token":"`+strings.Repeat("s3cret", 11_000)+`"}`),
			answer: "HTTP 200 OK: the access_token is longer than 64 KiB\n" + `{"access_token":••••••}`,
		},
		"EndlessToken": {
			before: say(200, asJSON, `{"access_token":"`+strings.Repeat("s3cret", 400_000)+`"}`),
			answer: "HTTP 200 OK: the response is longer than 1 MiB\n" + `{"access_token":••••••`,
		},
		"RepeatsTheSecret": {before: repeat, answer: "HTTP 400 Bad Request\nyou sent Basic •••••• for ••••••"},
		"Reset": {
			before: func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
			answer: "connection: ",
		},
		"Closed":    {oauth: func(o *webhook.OAuth) { o.TokenURL = closed.URL }, answer: "connection: "},
		"NoTLS":     {oauth: func(o *webhook.OAuth) { o.TokenURL = "https" + plain.URL[len("http"):] }, answer: "tls: "},
		"Hangs":     {before: hang, answer: "timeout: "},
		"Halts":     {before: halt, answer: "HTTP 200 OK: the response did not end in time\n"},
		"BreaksOff": {before: breakOff, answer: "HTTP 200 OK: the response broke off\n" + `{"access_token":••••••`},
	} {
		t.Run(name, func(t *testing.T) {
			w, a := sqliteWorld(t), newAuthority(t)
			a.before = test.before
			r := newProtected(t, w, a)
			oauth := a.oauth()
			if test.oauth != nil {
				test.oauth(oauth)
			}
			d := w.queue(1, w.Endpoint(r.URL, oauth))[0]
			w.start(r, func(c *Config) {
				if name == "Hangs" || name == "Halts" {
					c.Timeout = 300 * time.Millisecond
				}
			})
			must.Eventually(t, patient, "the attempt", func() bool { return w.Delivery(d.ID).Attempts == 1 })
			got := w.Attempts(d.ID)[0]
			if got.Failure != webhook.FailureToken || got.HTTPStatus != 0 || !strings.HasPrefix(got.Answer, test.answer) ||
				len(got.Answer) > webhook.MaxAnswer {
				t.Errorf("attempt: %+v", got)
			}
			if r.count() != 0 {
				t.Error("the delivery was sent without a token")
			}
			basic := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(clientID) + ":" + outbox.Secret))
			for _, secret := range []string{"s3cret", outbox.Secret, basic} {
				if strings.Contains(got.Answer, secret) {
					t.Errorf("a secret is in the log: %s", got.Answer)
				}
			}
		})
	}
}

// TestTokenLifetime checks that a token is taken from every response that has one, and how long it is used.
func TestTokenLifetime(t *testing.T) {
	const unknown = 4 * time.Minute
	for name, test := range map[string]struct {
		contentType, body string
		used              time.Duration
	}{
		"Missing":        {"application/json", `{"access_token":"TF","token_type":"bearer"}`, unknown},
		"Number":         {"application/json", `{"access_token":"TF","expires_in":3600}`, 59 * time.Minute},
		"Short":          {"application/json", `{"access_token":"TF","expires_in":10}`, 8 * time.Second},
		"Fraction":       {"application/json", `{"access_token":"TF","expires_in":3600.5}`, 59*time.Minute + time.Second/2},
		"Text":           {"application/json", `{"access_token":"TF","expires_in":"3600"}`, 59 * time.Minute},
		"FractionText":   {"application/json", `{"access_token":"TF","expires_in":"3600.5"}`, 59*time.Minute + time.Second/2},
		"EmptyText":      {"application/json", `{"access_token":"TF","expires_in":""}`, unknown},
		"OtherText":      {"application/json", `{"access_token":"TF","expires_in":"soon"}`, unknown},
		"Null":           {"application/json", `{"access_token":"TF","expires_in":null}`, unknown},
		"Object":         {"application/json", `{"access_token":"TF","expires_in":{"s":3600}}`, unknown},
		"TooLarge":       {"application/json", `{"access_token":"TF","expires_in":1e999}`, unknown},
		"Infinite":       {"application/json", `{"access_token":"TF","expires_in":"inf"}`, unknown},
		"WithError":      {"application/json", `{"access_token":"TF","expires_in":3600,"error":""}`, 59 * time.Minute},
		"JSONAsText":     {"text/plain; charset=utf-8", `{"access_token":"TF","expires_in":3600}`, 59 * time.Minute},
		"JSONAsNothing":  {"", `{"access_token":"TF","expires_in":3600}`, 59 * time.Minute},
		"JSONAsAForm":    {"application/x-www-form-urlencoded", `{"access_token":"TF","expires_in":3600}`, 59 * time.Minute},
		"Form":           {"application/x-www-form-urlencoded", "access_token=TF&expires_in=3600", 59 * time.Minute},
		"FormInUTF8":     {"application/x-www-form-urlencoded;charset=utf-8", "access_token=TF&expires_in=x", unknown},
		"CreatedAndLong": {"application/json", `{"access_token":"TF","expires_in":1e12}`, 24 * 365 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w, a := sqliteWorld(t), newAuthority(t)
			a.before = say(200, test.contentType, test.body)
			if name == "CreatedAndLong" {
				a.before = say(201, test.contentType, test.body)
			}
			s := w.sender(newReceiver(t, w.clock, nil), nil)
			e := w.Endpoint("https://receiver.example/", a.oauth())
			for _, step := range []struct {
				advance time.Duration
				fetched int64
			}{{0, 1}, {test.used - time.Millisecond, 1}, {2 * time.Millisecond, 2}} {
				if w.clock.Advance(step.advance); name == "CreatedAndLong" && step.fetched == 2 {
					break // it is used for longer
				}
				if token, err := s.http.tokens.get(t.Context(), e, outbox.Secret); token != "TF" || err != nil {
					t.Fatalf("token %q, %v", token, err)
				}
				if n := a.requests.Load(); n != step.fetched {
					t.Errorf("%d requests after %s, want %d", n, step.advance, step.fetched)
				}
			}
		})
	}
}

// TestTokenLifetime_None checks that a token which has expired when it is given is not used twice.
func TestTokenLifetime_None(t *testing.T) {
	for _, expires := range []string{"0", "-5", `"0"`, "0.0"} {
		w, a := sqliteWorld(t), newAuthority(t)
		a.before = say(200, "application/json", `{"access_token":"TF","expires_in":`+expires+`}`)
		s := w.sender(newReceiver(t, w.clock, nil), nil)
		e := w.Endpoint("https://receiver.example/", a.oauth())
		for fetched := range int64(3) {
			if token, err := s.http.tokens.get(t.Context(), e, outbox.Secret); token != "TF" || err != nil {
				t.Fatalf("token %q, %v", token, err)
			}
			if n := a.requests.Load(); n != fetched+1 {
				t.Errorf("expires_in %s: %d requests for %d deliveries", expires, n, fetched+1)
			}
		}
	}
}

// roundTripper is a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTokenTimeIsNotTheReceivers checks that the receiver has its whole time, however long the token took.
func TestTokenTimeIsNotTheReceivers(t *testing.T) {
	w := sqliteWorld(t)
	s := w.sender(nil, nil)
	var fetched time.Time
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		deadline, ok := r.Context().Deadline()
		if !ok {
			t.Errorf("a request to %s without a time limit", r.URL)
		}
		answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
		if r.URL.Path == "/token" {
			answer.Body = io.NopCloser(strings.NewReader(`{"access_token":"TF"}`))
			time.Sleep(5 * time.Millisecond)
			fetched = time.Now()
		} else if left := deadline.Sub(fetched); fetched.IsZero() || left < s.Timeout {
			t.Errorf("the receiver has %s of %s", left, s.Timeout)
		}
		return answer, nil
	})
	s.http.transport, s.http.tokens.transport = transport, transport
	a, cause, err := attempt(t, s, w.Endpoint("https://receiver.example/",
		&webhook.OAuth{TokenURL: "https://authority.example/token", ClientID: "id"}))
	if err != nil || cause != nil || !a.Acknowledged() {
		t.Errorf("attempt: %+v, %v, %v", a, cause, err)
	}
}

// TestLeaseOutlastsToken checks that no other node gets the queue while a token is fetched and the delivery is sent,
// each in its whole time.
func TestLeaseOutlastsToken(t *testing.T) {
	w := newWorld(t, storetest.Open(t, pgtest.Database(t))) // one database of several nodes
	a := newAuthority(t)
	asked, release := make(chan struct{}, 8), make(chan struct{})
	a.before = func(http.ResponseWriter, *http.Request) bool {
		asked <- struct{}{}
		<-release
		return false
	}
	defer close(release)
	r := newProtected(t, w, a)
	e := w.Endpoint(r.URL, a.oauth())
	w.queue(1, e)
	s := w.start(r, nil)
	select {
	case <-asked:
	case <-time.After(patient):
		t.Fatal("no token was asked for")
	}
	w.clock.Advance(2 * s.Timeout)
	err := w.Store.Update(context.Background(), func(tx *store.Tx) error {
		leased, err := tx.LeaseQueues(uuid7.New(), []string{e.ID}, w.clock.Now(), w.clock.Now().Add(time.Minute))
		if len(leased) > 0 {
			t.Error("another node has leased the queue during the attempt")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
