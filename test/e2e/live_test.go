package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/api/apitest"
	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// TestLiveOrder follows a Live order from the integrator to a reviewer at the desk API and back by webhook.
func TestLiveOrder(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		inbox := newInbox(t)
		settings["webhook-allow-private"] = "true"
		settings["webhook-ca-file"] = inbox.certificate(t)
		s := start(t, settings)
		a := s.open(t)
		c := s.client(t, a.Live)
		hook, err := c.CreateWebhook(t.Context(), client.CreateWebhook{
			URL: inbox.server.URL + "/hook", Events: []client.WebhookEvent{client.EventOrderOutcome, client.EventUpdatePhotos},
		})
		if err != nil {
			t.Fatal(err)
		}
		inbox.open(hook.SigningSecret)
		url := upload(t, c, 1)[0]
		created, err := c.CreateOrder(t.Context(), tote(url))
		if err != nil {
			t.Fatal(err)
		}
		desk := s.desk(t)
		if claimed := desk.post(t, "/orders/next", nil, http.StatusOK); claimed["id"] != created.ID ||
			claimed["status"] != "processing" {
			t.Fatalf("the reviewer got %v", claimed)
		}
		desk.post(t, "/orders/"+created.ID+"/request_photos", map[string]any{
			"photos": []any{
				map[string]any{
					"index_code":   "logo",
					"condition":    "missing",
					"requirements": []string{"sharp-focus"},
					"max_photos":   2,
				},
			},
		}, http.StatusOK)
		if asked := inbox.await(t); asked.Event != client.EventUpdatePhotos || asked.ID != created.ID {
			t.Errorf("the first delivery is %+v", asked)
		}
		if _, err := c.SubmitUpdatePhotos(t.Context(), created.ID, client.UpdatePhotos{
			Photos: []client.UpdatePhoto{{IndexCode: "logo", URL: url}},
		}); err != nil {
			t.Fatal(err)
		}
		desk.post(t, "/orders/"+created.ID+"/complete", map[string]any{
			"outcome":      "authentic",
			"reason_codes": []string{"stitching-even"},
		}, http.StatusOK)
		if told := inbox.await(t); told.Event != client.EventOrderOutcome || !told.HasOutcome(client.OutcomeAuthentic) {
			t.Errorf("the second delivery is %+v", told)
		}
		detail, err := c.GetOrder(t.Context(), created.ID, client.LocaleJapanese)
		if err != nil || !detail.HasOutcome(client.OutcomeAuthentic) || detail.CertificateURL == nil ||
			len(detail.OutcomeReasonsLocale) != 1 {
			t.Fatalf("the order is %+v, %v", detail, err)
		}
		if detail.OutcomeReasonsLocale[0] != "縫製が均一です" {
			t.Errorf("the reason is %q", detail.OutcomeReasonsLocale[0])
		}
		runCheck(t, s)
	})
}

// inbox is a webhook receiver that verifies every delivery with the client package.
type inbox struct {
	server *httptest.Server
	got    chan *client.WebhookDelivery
	pause  chan struct{} // if set, responses wait until it is closed
	refuse int           // if set, the status of every response

	mu     sync.Mutex
	secret string
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	i := &inbox{got: make(chan *client.WebhookDelivery, 10)}
	i.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		secret := i.secret
		i.mu.Unlock()
		delivery, err := client.ParseWebhook(r, secret)
		if err != nil {
			t.Errorf("a delivery is refused: %v", err)
			http.Error(w, "refused", http.StatusBadRequest)
			return
		}
		i.got <- delivery
		if i.pause != nil {
			<-i.pause
		}
		if i.refuse != 0 {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(i.refuse)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(i.server.Close)
	return i
}

// certificate writes the receiver's certificate into a file and returns its name.
func (i *inbox) certificate(t *testing.T) string {
	t.Helper()
	return must.CertificateFile(t, i.server)
}

func (i *inbox) open(secret string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.secret = secret
}

func (i *inbox) await(t *testing.T) *client.WebhookDelivery {
	t.Helper()
	select {
	case delivery := <-i.got:
		return delivery
	case <-time.After(time.Minute):
		t.Fatal("no delivery within a minute")
		return nil
	}
}

// desk is a client of the desk API with a reviewer's token. Every response is checked against the OpenAPI document.
type desk struct {
	base, token string
	client      *http.Client
}

func (s *site) desk(t *testing.T) *desk {
	t.Helper()
	var reviewer struct{ Token string }
	s.CLI(t, &reviewer, "staff", "create", "--email", "rei@desk.example", "--name", "Rei", "--role", "reviewer")
	return &desk{
		base: "https://" + publicHost + "/v1/desk", token: reviewer.Token,
		client: &http.Client{Transport: apitest.NewDesk(t).Transport(s.transport(t))},
	}
}

// post sends a body, checks the status and returns the response.
func (d *desk) post(t *testing.T, path string, body any, status int) map[string]any {
	t.Helper()
	text := []byte{}
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+d.token)
	got := send(t, d.client, request)
	got.wantStatus(t, status)
	var answer map[string]any
	if err := json.Unmarshal(got.body, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
