package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/pause"
)

const (
	listenPause    = time.Second
	maxListenPause = 10 * time.Second
	forwardTimeout = 10 * time.Second
	quotaPause     = 10 * time.Second
	patientFor     = 5 // attempts to forward an event, before it is said how to go on without it
)

func listenFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.url, "forward-to", "", "`URL` that gets the events as webhook deliveries")
	fs.StringVar(&inv.events, "events", "", "order-outcome or update-photos; empty: all")
	fs.BoolVar(&inv.newest, "newest", false, "begin after the newest event, not where the last run stopped")
}

// listenState is kept between runs, readable by its owner only.
type listenState struct {
	Cursor string `json:"cursor"` // of the last event that the receiver has acknowledged
	Secret string `json:"secret"` // that deliveries are signed with
	path   string
}

// listenState reads what the last run has left, or begins after the newest event with a new secret.
func (inv *invocation) listenState(ctx context.Context, c *client.Client, answer *lastAnswer) (*listenState, error) {
	config, err := inv.profilePath()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(c.String() + " " + inv.key))
	s := &listenState{path: filepath.Join(filepath.Dir(config), "listen-"+hex.EncodeToString(sum[:8])+".json")}
	content, err := os.ReadFile(filepath.Clean(s.path))
	switch {
	case err == nil:
		if err := json.Unmarshal(content, s); err != nil || !inv.newest {
			return s, err
		}
	case errors.Is(err, fs.ErrNotExist): // what happened before anybody listened is not sent
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
		s.Secret = hex.EncodeToString(secret)
	default:
		return nil, err
	}
	return s, inv.toNewest(ctx, c, answer, s)
}

// toNewest goes past all events that there are. It leaves half of the key's quota to others.
func (inv *invocation) toNewest(ctx context.Context, c *client.Client, answer *lastAnswer, s *listenState) error {
	for told := false; ; {
		events, err := c.ListEvents(ctx, client.EventsQuery{After: s.Cursor, Limit: 100})
		if client.IsCode(err, client.CodeCursorExpired) && s.Cursor != "" {
			s.Cursor = "" // the oldest event that is kept
			continue
		}
		if err != nil {
			return err
		}
		s.Cursor = events.NextCursor
		if len(events.Data) == 0 {
			return writePrivate(s.path, s)
		}
		if !told {
			fmt.Fprintln(inv.Stderr, "looking for the newest event; those before it are not forwarded")
			told = true
		}
		if answer.halfUsed() {
			if err := pause.For(ctx, quotaPause); err != nil {
				return err
			}
		}
	}
}

func listenCheck(inv *invocation) error {
	target, err := url.Parse(inv.url)
	if err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https") {
		return errors.New("--forward-to must be an http or https URL")
	}
	for _, e := range inv.eventList() {
		if e != client.EventOrderOutcome && e != client.EventUpdatePhotos {
			return fmt.Errorf("--events: %q is not order-outcome or update-photos", e)
		}
	}
	return nil
}

func listen(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	target, err := url.Parse(inv.url)
	if err != nil {
		return err
	}
	wanted := inv.eventList()
	state, err := inv.listenState(ctx, c, answer)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	fmt.Fprintf(inv.Stderr, "forwarding to %s, signed with %s\n", target.Redacted(), state.Secret)
	wait := listenPause
	for {
		events, err := c.ListEvents(ctx, client.EventsQuery{After: state.Cursor, Limit: 100})
		switch {
		case ctx.Err() != nil:
			return nil // Ctrl-C is how it ends
		case client.IsCode(err, client.CodeUnauthorized, client.CodeForbidden):
			return err
		case client.IsCode(err, client.CodeCursorExpired):
			if err := inv.skipLost(state, err); err != nil {
				return err
			}
			continue
		case err != nil:
			if err := sayf(inv.Stderr, "%v; trying again\n", err); err != nil {
				return err
			}
			wait = min(2*wait, maxListenPause)
		default:
			wait = listenPause
			for i := range events.Data {
				e := &events.Data[i]
				if len(wanted) == 0 || slices.Contains(wanted, e.Event) {
					if err := inv.forward(ctx, state, e); err != nil {
						return unlessEnded(ctx, err) // the next run begins with this event
					}
				}
				state.Cursor = e.Cursor
				if err := writePrivate(state.path, state); err != nil {
					return err
				}
			}
			if len(events.Data) > 0 {
				continue
			}
		}
		if err := pause.For(ctx, wait); err != nil {
			return unlessEnded(ctx, err)
		}
	}
}

// unlessEnded returns the error, except after Ctrl-C, which is how the command ends.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// skipLost goes on with the oldest event that is kept, where the service has not kept those after the cursor.
func (inv *invocation) skipLost(state *listenState, err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || refused.OldestCursor() == "" || refused.OldestCursor() == state.Cursor {
		return err
	}
	fmt.Fprintf(inv.Stderr, "events are lost: %s Going on after cursor %s.\n", refused.Message, refused.OldestCursor())
	state.Cursor = refused.OldestCursor()
	return writePrivate(state.path, state)
}

// eventID is the delivery id of an event that no endpoint was told of: a UUID that is the same whoever forwards it, and
// that of no other event. A cursor alone is one of every key; orders are those of one key on one server.
func eventID(e *client.Event) string {
	name := strings.Join([]string{e.Body.ID, e.Cursor, string(e.Event), e.CreatedAt.UTC().Format(time.RFC3339Nano)}, " ")
	return uuid.NewHash(sha256.New(), uuid.Nil, []byte(name), 8).String()
}

// forward sends the event until the receiver acknowledges it.
func (inv *invocation) forward(ctx context.Context, state *listenState, e *client.Event) error {
	id := eventID(e)
	if len(e.DeliveryIDs) > 0 {
		id = e.DeliveryIDs[0]
	}
	body := append([]byte(`{"delivery_id":"`+id+`",`), bytes.TrimLeft(e.RawBody, "{ \n\t")...)
	again := "trying again"
	for attempt, wait := 1, listenPause; ; attempt, wait = attempt+1, min(2*wait, maxListenPause) {
		status, err := inv.post(ctx, state.Secret, e, id, body)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && status/100 == 2 {
			return inv.print(json.RawMessage(body), "%s  %s  %s  %d\n",
				stamp(&e.CreatedAt), e.Event, e.Body.ID, status)
		}
		if err == nil {
			err = fmt.Errorf("the receiver answered %d", status)
		}
		if attempt == patientFor {
			again += ". To go on without it, end this and begin again with --newest"
		}
		if err := sayf(inv.Stderr, "%s of order %s: %v; %s\n", e.Event, e.Body.ID, err, again); err != nil {
			return err
		}
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
	}
}

func (inv *invocation) post(
	ctx context.Context, secret string, e *client.Event, id string, body []byte,
) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, forwardTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, inv.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	timestamp, signature := client.Sign(secret, time.Now(), body)
	for name, value := range map[string]string{
		"Content-Type": "application/json", client.HeaderEvent: string(e.Event), client.HeaderDeliveryID: id,
		client.HeaderTimestamp: timestamp, client.HeaderSignature: signature,
	} {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(r) // follows no redirect, as the service does not
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	return response.StatusCode, response.Body.Close()
}

func webhooksList(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	endpoints, err := c.ListWebhooks(ctx)
	if err != nil {
		return err
	}
	rows := make([][]string, len(endpoints))
	for i := range endpoints {
		e := &endpoints[i]
		rows[i] = []string{e.ID, orEmpty(e.Name), e.URL, strings.Join(enum.Names(e.Events), ",")}
	}
	return inv.table(answer.json(), "webhook endpoints", []string{"ID", "NAME", "URL", "EVENTS"}, rows)
}

func webhooksCreateFlags(fs *flag.FlagSet, inv *invocation) {
	fs.StringVar(&inv.name, "name", "", "`name` for yourself")
	fs.StringVar(&inv.url, "url", "", "https `URL` that receives the deliveries")
	fs.StringVar(&inv.events, "events", "", "order-outcome, update-photos, or both separated by a comma")
}

func webhooksCreate(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	created, err := c.CreateWebhook(ctx, client.CreateWebhook{Name: inv.name, URL: inv.url, Events: inv.eventList()})
	if err != nil {
		return err
	}
	return inv.print(answer.json(), "webhook %s created\nsigning secret %s\nThe secret is not shown again.\n",
		created.ID, created.SigningSecret)
}

func (inv *invocation) eventList() []client.WebhookEvent {
	var events []client.WebhookEvent
	for _, name := range strings.FieldsFunc(inv.events, func(r rune) bool { return r == ',' || r == ' ' }) {
		events = append(events, client.WebhookEvent(name))
	}
	return events
}

func webhooksDelete(ctx context.Context, inv *invocation, c *client.Client, _ *lastAnswer) error {
	if err := c.DeleteWebhook(ctx, inv.args[0]); err != nil {
		return err
	}
	return inv.print(map[string]string{"deleted": inv.args[0]}, "webhook %s is deleted\n", inv.args[0])
}

func webhooksRotate(ctx context.Context, inv *invocation, c *client.Client, answer *lastAnswer) error {
	rotated, err := c.RotateWebhookSecret(ctx, inv.args[0])
	if err != nil {
		return err
	}
	return inv.print(answer.json(), "signing secret %s\nThe former one is valid until %s.\n",
		rotated.SigningSecret, strings.TrimSpace(stamp(&rotated.PreviousValidUntil)))
}
