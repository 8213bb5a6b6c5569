package e2e_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/program"
)

// TestLogs sends requests full of secrets and checks that none is logged.
func TestLogs(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		s, a, c := startIntegrator(t, settings)
		secrets := map[string]string{
			"Test key": a.Test.Key, "Live key": a.Live.Key, "password": a.Password, "secret key": secretKey,
			"query": "looking-for-this", "wrong key": "assay_test_ThisIsNoKeyButSomebodySentIt0000000000",
			"client secret": "oauth-client-secret", "webhook path": "token-in-the-path", "order note": "a-private-note",
		}
		if settings["database"] != "" {
			secrets["database password"] = passwordOf(t, settings["database"])
		}
		hook, err := c.CreateWebhook(t.Context(), client.CreateWebhook{
			URL: "https://127.0.0.1:1999/" + secrets["webhook path"], Events: []client.WebhookEvent{client.EventUpdatePhotos},
		})
		if err != nil {
			t.Fatal(err)
		}
		secrets["signing secret"] = hook.SigningSecret
		if _, err := c.CreateWebhook(t.Context(), client.CreateWebhook{
			URL:    "https://127.0.0.1:1999/second",
			Events: []client.WebhookEvent{client.EventOrderOutcome},
			Auth: &client.OAuth2{
				TokenURL: "https://127.0.0.1:1999/token", ClientID: "shop", ClientSecret: secrets["client secret"],
			},
		}); err != nil {
			t.Fatal(err)
		}
		s.get(t, a.Test.Key, prefix+"/catalog/brands?search="+secrets["query"]).wantStatus(t, http.StatusOK)
		s.get(t, a.Test.Key, prefix+"/orders?page=0&search="+secrets["query"]).wantFailure(t, http.StatusBadRequest,
			"validation-error")
		s.get(t, secrets["wrong key"], prefix+"/balance").wantFailure(t, http.StatusUnauthorized, "unauthorized")
		draft := tote(upload(t, c, 1)[0])
		draft.MockOutcome = client.MockUpdatePhotos
		created, err := c.CreateOrder(t.Context(), draft)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.SubmitUpdatePhotos(t.Context(), created.ID, client.UpdatePhotos{
			Photos: []client.UpdatePhoto{{IndexCode: "nonsense", IsUnableToProvide: true}}, Note: secrets["order note"],
		}); !client.IsCode(err, client.CodePhotoIndexNotRequested) {
			t.Fatal(err)
		}
		last := s.get(t, a.Test.Key, prefix+"/balance").Header.Get("X-Request-Id")
		s.Stop(t)

		for name, secret := range secrets {
			if strings.Contains(s.Stderr(), secret) {
				t.Errorf("the log holds the %s", name)
			}
		}
		checkJSONLog(t, s.Stderr(), last)
	})
}

// checkJSONLog checks the form of every JSON log line and finds the line of the request.
func checkJSONLog(t *testing.T, stderr, requestID string) {
	t.Helper()
	found := false
	for _, line := range lines(stderr) {
		if strings.HasPrefix(line, "listening ") {
			continue
		}
		var entry struct {
			Time, Level, Msg, Method, Path, Route string
			Status                                int
			RequestID                             string `json:"request_id"`
		}
		decoder := json.NewDecoder(bytes.NewReader([]byte(line)))
		if err := decoder.Decode(&entry); err != nil || decoder.More() || entry.Time == "" || entry.Level == "" ||
			entry.Msg == "" {
			t.Errorf("not a line of a JSON log: %s", line)
			continue
		}
		if entry.Msg != "request" {
			continue
		}
		if entry.RequestID == "" || entry.Method == "" || entry.Path == "" || entry.Status == 0 {
			t.Errorf("not a whole request line: %s", line)
		}
		if entry.RequestID == requestID {
			found = entry.Method == http.MethodGet && entry.Path == prefix+"/balance" && entry.Status == http.StatusOK
		}
	}
	if !found {
		t.Errorf("there is no line of the request %s", requestID)
	}
}

func passwordOf(t *testing.T, database string) string {
	t.Helper()
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	password, given := address.User.Password()
	if !given {
		t.Fatal("the database has no password")
	}
	return password
}
