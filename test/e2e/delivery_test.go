package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// hook starts a server with an endpoint for its Test key, and creates an order that is delivered to it.
func (i *inbox) hook(t *testing.T, settings program.Settings) *site {
	t.Helper()
	settings["webhook-allow-private"] = "true"
	settings["webhook-ca-file"] = i.certificate(t)
	s := start(t, settings)
	c := s.client(t, s.open(t).Test)
	hook, err := c.CreateWebhook(t.Context(), client.CreateWebhook{
		URL: i.server.URL, Events: []client.WebhookEvent{client.EventOrderOutcome},
	})
	if err != nil {
		t.Fatal(err)
	}
	i.open(hook.SigningSecret)
	draft := tote(upload(t, c, 1)[0])
	draft.MockOutcome = client.MockFake
	if _, err := c.CreateOrder(t.Context(), draft); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShutdown_Delivery stops the server while the receiver is processing: the delivery finishes and is not sent
// again.
func TestShutdown_Delivery(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		inbox := newInbox(t)
		inbox.pause = make(chan struct{})
		s := inbox.hook(t, settings)
		first := inbox.await(t)
		stopped := make(chan error, 1)
		go func() {
			if code := s.Stop(t); code != 0 {
				stopped <- fmt.Errorf("exit code %d, want 0", code)
			}
			close(stopped)
		}()
		must.Eventually(t, time.Minute, "new connections are refused", func() bool { return refused(s.HTTP) })
		close(inbox.pause)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		s.again(t)
		select {
		case second := <-inbox.got:
			t.Errorf("delivery %s is sent again, as %s: its acknowledgement was lost", first.DeliveryID, second.DeliveryID)
		case <-time.After(2 * time.Second):
		}
	})
}

// TestCrash_Delivery kills the server while the receiver is processing: the result is unknown, so that the delivery
// is sent again with the same id.
func TestCrash_Delivery(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		inbox := newInbox(t)
		inbox.pause = make(chan struct{})
		settings["webhook-timeout"] = "2s"
		s := inbox.hook(t, settings)
		first := inbox.await(t)
		s.Kill(t)
		close(inbox.pause)
		s.again(t)
		select {
		case second := <-inbox.got:
			if second.DeliveryID != first.DeliveryID {
				t.Errorf("delivery %s is sent again as %s", first.DeliveryID, second.DeliveryID)
			}
		case <-time.After(time.Minute):
			t.Error("the delivery is lost")
		}
	})
}

// TestRedirectedDelivery checks that a redirect is a failed attempt that is retried after the configured delay.
func TestRedirectedDelivery(t *testing.T) {
	t.Parallel()
	inbox := newInbox(t)
	inbox.refuse = http.StatusTemporaryRedirect
	s := inbox.hook(t, program.Settings{"webhook-retry-delays": "100ms,100ms,100ms"})
	s.failures = true
	first := inbox.await(t)
	for attempt := 2; attempt <= 4; attempt++ {
		if next := inbox.await(t); next.DeliveryID != first.DeliveryID {
			t.Errorf("attempt %d is delivery %s, want %s", attempt, next.DeliveryID, first.DeliveryID)
		}
	}
	select {
	case <-inbox.got:
		t.Error("there is a fifth attempt, four is the limit")
	case <-time.After(time.Second):
	}
}

// TestDelayedDelivery checks that the event of a Test order does not overtake the answer to its creation.
func TestDelayedDelivery(t *testing.T) {
	t.Parallel()
	const delay = 700 * time.Millisecond
	inbox := newInbox(t)
	inbox.hook(t, program.Settings{"test-event-delay": delay.String()})
	if took := time.Since(inbox.await(t).CreatedAt); took < delay {
		t.Errorf("the event came after %v", took)
	}
}
