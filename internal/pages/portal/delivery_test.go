package portal_test

import (
	"fmt"
	"html"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

// send sends a test event to an endpoint at a URL and returns the page of the delivery once its first attempt is
// recorded.
func send(t *testing.T, w *world, v *pagetest.Visitor, address string, oauth *service.NewOAuth) (path, body string) {
	t.Helper()
	u, problem := webhook.CheckURL("url", address)
	if problem != nil {
		t.Fatal(problem)
	}
	owner := w.Owner.Actor(access.Test, access.Origin{})
	n := service.NewEndpoint{URL: u, Events: webhook.Events, OAuth: oauth}
	e, _, err := w.Service.CreateEndpoint(t.Context(), owner, w.key(t, access.Test).ID, n)
	must.NoError(t, err)
	id, err := w.Service.SendTestEvent(t.Context(), owner, e.ID, webhook.OrderOutcome)
	must.NoError(t, err)
	must.Eventually(t, time.Minute, "an attempt is recorded", func() bool {
		_, attempts, err := w.Service.Delivery(t.Context(), owner, id)
		must.NoError(t, err)
		return len(attempts) > 0
	})
	path = "/portal/test/deliveries/" + id
	return path, html.UnescapeString(v.Get(path).Want(t, http.StatusOK).Body)
}

// TestDeliveryLog checks that the log of a delivery tells the request just as it arrived, and the answer, and no
// secrets.
func TestDeliveryLog(t *testing.T) {
	w := newWorld(t)
	w.Clock.Set(time.Now())
	v := w.AsUser(t, w.Viewer)
	const token = "a-token-that-nobody-may-see"
	hook, deliveries := w.answering(t, func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/token":
			rw.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(rw, `{"access_token":%q,"token_type":"Bearer","expires_in":60}`, token)
		case "/no-token":
			http.Error(rw, "unknown client", http.StatusBadRequest)
		case "/broken":
			rw.Header().Set("Retry-After", "120")
			rw.Header().Set("Set-Cookie", "session=hidden")
			http.Error(rw, "we are <b>closed</b>"+strings.Repeat("x", 2000), http.StatusServiceUnavailable)
		default:
			rw.WriteHeader(http.StatusNoContent)
		}
	})
	says := func(t *testing.T, body string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(body, word) {
				t.Errorf("the page does not say %q\n%s", word, body)
			}
		}
	}
	withToken := func(t *testing.T, path string) string {
		t.Helper()
		u, problem := webhook.CheckTokenURL("token_url", hook+path)
		if problem != nil {
			t.Fatal(problem)
		}
		_, body := send(t, w, v, hook+"/oauth", &service.NewOAuth{
			TokenURL: u, ClientID: "shop", ClientSecret: "hidden-client-secret",
		})
		return body
	}
	t.Run("Signed", func(t *testing.T) {
		path, body := send(t, w, v, hook+"/ok", nil)
		got := <-deliveries
		for _, name := range []string{"Content-Type", "X-LG-Event", "X-LG-Delivery-Id", "X-LG-Timestamp", "X-LG-Signature"} {
			value := got.header.Get(name)
			if value == "" {
				t.Fatalf("the request has no %s: %v", name, got.header)
			}
			says(t, body, name+": "+value+"\n")
		}
		says(t, body, ">Delivered<", "POST "+hook+"/ok\n", "HTTP 204", " ms", string(got.body))
		t.Run("Replay", func(t *testing.T) { // the command that is shown is one that a shell takes
			_, rest, _ := strings.Cut(body, "data-copy=\"curl http://localhost:3000/ \\\n")
			arguments, _, ok := strings.Cut(rest, `" data-copied`)
			if !ok {
				t.Fatalf("no command in %s", body)
			}
			out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s\\n' "+arguments).Output()
			must.NoError(t, err)
			says(t, string(out), "X-LG-Signature: "+got.header.Get("X-LG-Signature"), "--data-binary\n"+string(got.body))
		})
		t.Run("EndpointDeleted", func(t *testing.T) {
			owner := w.Owner.Actor(access.Test, access.Origin{})
			d, _, err := w.Service.Delivery(t.Context(), owner, path[strings.LastIndex(path, "/")+1:])
			must.NoError(t, err)
			must.NoError(t, w.Service.DeleteEndpoint(t.Context(), owner, d.EndpointID))
			v.Get(path).Want(t, http.StatusOK, "POST deleted endpoint", "X-LG-Event: order-outcome",
				"signature is no longer known").Lacks(t, "X-LG-Signature")
		})
	})
	t.Run("Refused", func(t *testing.T) {
		_, body := send(t, w, v, hook+"/broken", nil)
		<-deliveries
		says(t, body, ">Retrying<", "HTTP 503", "we are <b>closed</b>xxx", strings.Repeat("x", 1000),
			"Retry-After: 120\n", "Set-Cookie: ••••••\n")
		if strings.Contains(body, "session=hidden") {
			t.Error("the page tells a cookie")
		}
		if strings.Contains(body, strings.Repeat("x", 1024)) {
			t.Error("more than 1 KiB of the answer is shown")
		}
	})
	t.Run("Token", func(t *testing.T) {
		body := withToken(t, "/token")
		<-deliveries // the token
		if got := (<-deliveries).header.Get("Authorization"); got != "Bearer "+token {
			t.Errorf("the request has %q", got)
		}
		says(t, body, "Authorization: Bearer ••••••\n", "HTTP 204")
		if strings.Contains(body, token) || strings.Contains(body, "hidden-client-secret") ||
			strings.Contains(body, "X-LG-Signature") {
			t.Errorf("the page tells secrets, or what was not sent\n%s", body)
		}
	})
	t.Run("NoToken", func(t *testing.T) {
		body := withToken(t, "/no-token")
		<-deliveries
		says(t, body, "No request was sent.", "The token URL returned no access token.", "unknown client")
	})
	t.Run("NoConnection", func(t *testing.T) {
		_, body := send(t, w, v, "https://127.0.0.1:1999/x", nil)
		says(t, body, "connection failed", "The connection was refused", "POST https://127.0.0.1:1999/x")
	})
}
