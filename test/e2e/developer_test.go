package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// TestDeveloperCommands goes through an order with the commands that call the integration API.
func TestDeveloperCommands(t *testing.T) {
	t.Parallel()
	s, a, c := startIntegrator(t, program.Settings{})
	config := filepath.Join(t.TempDir(), "assay", "config.json")
	anybody := program.Settings{"config": config}
	got := program.New(t, anybody).Run(t, "balance")
	if got.ExitCode != 1 || !strings.Contains(got.Stderr, "assay login") {
		t.Errorf("without a key: %+v", got)
	}
	wrong := program.New(t, program.Settings{"config": config, "server": s.URL(""), "key": "assay_test_nobody"})
	if got := wrong.Run(t, "login"); got.ExitCode != 1 || !strings.Contains(got.Stderr, "unauthorized") {
		t.Errorf("login with a wrong key: %+v", got)
	}
	if _, err := os.Stat(config); err == nil {
		t.Error("a refused login leaves a file")
	}

	login := program.New(t, program.Settings{"config": config, "key": a.Test.Key})
	var kept map[string]string
	login.CLI(t, &kept, "login", "--server", s.URL(""))
	if info, err := os.Stat(config); err != nil || info.Mode().Perm() != 0o600 || kept["environment"] != "test" {
		t.Errorf("login answers %v; the file is %v, %v", kept, info, err)
	}
	if text, _ := os.ReadFile(config); !strings.Contains(string(text), a.Test.Key) {
		t.Error("the file does not have the key")
	}

	dev := program.New(t, anybody)
	photo := filepath.Join(t.TempDir(), "tote.jpg")
	if err := os.WriteFile(photo, newPhoto(0), 0o600); err != nil {
		t.Fatal(err)
	}
	var created client.CreatedOrder
	dev.CLI(t, &created, "orders", "create", "--category", "bags", "--brand", "northwind", "--mock", "authentic",
		"--external-id", "cli-1", "--photo", "overall="+photo, "--photo", "overall="+photo)
	if created.Status != client.StatusCompleted || *created.ExternalID != "cli-1" {
		t.Errorf("created %+v", created)
	}
	var shown client.OrderDetail
	dev.CLI(t, &shown, "orders", "show", "cli-1")
	dev.CLI(t, &shown, "orders", "watch", created.ID)
	if shown.ID != created.ID || !shown.HasOutcome(client.OutcomeAuthentic) {
		t.Errorf("shown %+v", shown)
	}
	if got := dev.Run(t, "orders", "list"); got.ExitCode != 0 || !strings.Contains(got.Stdout, created.ID) {
		t.Errorf("list: %+v", got)
	}
	var balance struct{ AvailableCredits int64 }
	dev.CLI(t, &balance, "balance")
	if want, err := c.GetBalance(t.Context()); err != nil || balance.AvailableCredits != want.AvailableCredits {
		t.Errorf("balance %+v, want %+v, %v", balance, want, err)
	}
	var uploaded struct{ Data []client.UploadResult }
	dev.CLI(t, &uploaded, "photos", "upload", photo)
	if len(uploaded.Data) != 1 || uploaded.Data[0].URL == "" {
		t.Errorf("uploaded %+v", uploaded)
	}
	var hook client.CreatedWebhook
	dev.CLI(t, &hook, "webhooks", "create", "--name", "cli", "--url", "https://127.0.0.1:1999/hook",
		"--events", "order-outcome")
	var hooks struct{ Data []client.Webhook }
	dev.CLI(t, &hooks, "webhooks", "list")
	if len(hooks.Data) != 1 || hooks.Data[0].ID != hook.ID || len(hook.SigningSecret) != 64 {
		t.Errorf("created %+v, listed %+v", hook, hooks)
	}
	dev.CLI(t, new(any), "webhooks", "delete", hook.ID)

	var moved client.OrderDetail
	dev.CLI(t, &created, "orders", "create", "--category", "bags", "--brand", "northwind", "--mock", "update-photos",
		"--photo", "overall="+photo)
	for _, state := range client.SimulatedStates {
		moved = client.OrderDetail{}
		dev.CLI(t, &moved, "trigger", created.ID, string(state))
		if string(moved.Status) != string(state) && !moved.HasOutcome(client.Outcome(state)) {
			t.Errorf("triggered %s: %+v", state, moved)
		}
	}

	for _, tt := range []struct{ arguments, want string }{
		{"trigger nothing authentic", "order-not-found"},
		{"trigger " + created.ID + " lost", "not a state: queued, processing,"},
		{"orders cancel " + created.ID, "order-not-cancelable"},
		{"listen --forward-to nowhere", "--forward-to must be"},
		{"listen --forward-to http://localhost:1/ --events x", "--events"},
		{"orders show nothing", "order-not-found"},
		{"orders create --category bags --brand northwind", "--photo is required"},
		{"orders create --category bags --brand northwind --photo overall", "INDEX=FILE"},
		{"orders create --category bags --brand northwind --photo overall=nowhere.jpg", "nowhere.jpg"},
		{"photos upload", "1 to 10 files"},
		{"webhooks create --url x --events order-outcome", "url"},
		{"balance --profile other", "assay login"},
	} {
		got := dev.Run(t, strings.Fields(tt.arguments)...)
		if got.ExitCode == 0 || got.Stdout != "" || !strings.Contains(got.Stderr, tt.want) {
			t.Errorf("%s: %+v, want %q", tt.arguments, got, tt.want)
		}
		if strings.Contains(got.Stderr, a.Test.Key) {
			t.Errorf("%s shows the key: %s", tt.arguments, got.Stderr)
		}
	}
}

// TestListen forwards events to a receiver. Neither a restart of the receiver, of the service nor of the listener loses
// one.
func TestListen(t *testing.T) {
	t.Parallel()
	s, a, c := startIntegrator(t, program.Settings{"test-event-delay": "0s"})
	s.failures = true
	got := make(chan *client.WebhookDelivery, 10)
	var secret atomic.Pointer[string]
	var away atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		delivery, err := client.ParseWebhook(r, *secret.Load())
		if err != nil {
			t.Errorf("a forwarded event is refused: %v", err)
		}
		got <- delivery
	}))
	t.Cleanup(receiver.Close)
	dev := program.New(t, program.Settings{
		"config": filepath.Join(t.TempDir(), "config.json"), "server": s.URL(""), "key": a.Test.Key,
	})
	listen := func() *program.Command {
		l := dev.Begin(t, "listen", "--forward-to", receiver.URL, "--events", "order-outcome")
		must.Eventually(t, time.Minute, "it listens", func() bool { return strings.Contains(l.Stderr(), "signed with ") })
		_, printed, _ := strings.Cut(l.Stderr(), "signed with ")
		printed = strings.TrimSpace(printed[:64])
		secret.Store(&printed)
		return l
	}
	url := upload(t, c, 1)[0]
	order := func() string {
		draft := tote(url)
		draft.MockOutcome = client.MockAuthentic
		created, err := c.CreateOrder(t.Context(), draft)
		if err != nil {
			t.Fatal(err)
		}
		return created.ID
	}
	seen := map[string]bool{} // a listener that is killed may send its last event again
	want := func(id string) {
		t.Helper()
		for {
			select {
			case d := <-got:
				if d.ID == id && d.DeliveryID != "" {
					seen[id] = true
					return
				}
				if !seen[d.ID] {
					t.Errorf("order %s is forwarded, want %s", d.ID, id)
				}
			case <-time.After(time.Minute):
				t.Fatalf("the event of order %s is lost", id)
			}
		}
	}
	order() // before anybody listens: not forwarded
	l := listen()
	want(order())
	away.Store(true)
	first := order()
	must.Eventually(t, time.Minute, "it tries again", func() bool { return strings.Contains(l.Stderr(), "trying again") })
	away.Store(false)
	want(first)
	l.Kill(t)
	second := order() // while nobody listens
	l = listen()
	want(second)
	l.Kill(t)
}
