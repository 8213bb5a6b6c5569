package hard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/receiver"
)

const (
	granted    = 100_000_000 // credits, in each environment
	orderPrice = 12          // of an hour, by the catalog
	webhooks   = "2s"        // time limit of an attempt
	owner      = "owner@acme.test"
)

// site is an installation with an account, staff, a receiver of webhooks and the books of what clients were told.
type site struct {
	*program.Installation
	settings  program.Settings
	nodes     []*node
	account   string
	password  string // of the owner
	live      string // API keys
	test      string
	testID    string   // of the Test key
	reviewers []string // desk tokens
	admin     string
	receiver  *receiver.Receiver
	books     *books
	answers   tally
	photos    atomic.Int64
	credits   map[string]int // by API key, before the first order
}

// newSite makes an installation without a server, with everything that commands can make.
func newSite(t *testing.T, settings program.Settings, r *receiver.Receiver) *site {
	t.Helper()
	settings["webhook-allow-private"] = "true"
	settings["webhook-ca-file"] = r.CAFile
	settings["webhook-retry-delays"] = "200ms,400ms,800ms,2s,5s" // a slow machine may miss some
	settings["webhook-timeout"] = webhooks
	if _, given := settings["tls-listen"]; !given {
		settings["tls-listen"] = ""
	}
	r.Tolerance = 3 * time.Hour // nodes may have a wrong clock; that the timestamp is signed is what matters here
	s := &site{Installation: program.New(t, settings), settings: settings, receiver: r, books: newBooks()}
	s.importCatalog(t, 0)
	var account struct {
		ID       string `json:"account_id"`
		Password string
	}
	s.CLI(t, &account, "accounts", "create", "--name", "Acme", "--owner", owner)
	s.account, s.password = account.ID, account.Password
	_, s.live = s.newKey(t, "live")
	s.testID, s.test = s.newKey(t, "test")
	for i, role := range []string{"reviewer", "reviewer", "admin"} {
		var staff struct{ Token string }
		s.CLI(t, &staff, "staff", "create", "--email", fmt.Sprintf("staff%d@desk.test", i), "--name",
			"Staff "+strconv.Itoa(i), "--role", role)
		if role == "admin" {
			s.admin = staff.Token
		} else {
			s.reviewers = append(s.reviewers, staff.Token)
		}
	}
	return s
}

func (s *site) newKey(t *testing.T, environment string) (id, key string) {
	t.Helper()
	arguments := []string{
		"keys", "create", "--account", s.account, "--env", environment, "--name", environment, "--scopes", "all",
	}
	for _, category := range []string{"catalog", "read", "create", "update", "upload", "webhook"} {
		arguments = append(arguments, "--limit", category+"=100000000")
	}
	var made struct{ ID, Key string }
	s.CLI(t, &made, arguments...)
	s.CLI(t, new(json.RawMessage), "credits", "grant", "--account", s.account, "--env", environment, "--amount",
		strconv.Itoa(granted), "--note", "enough")
	return made.ID, made.Key
}

// importCatalog imports the catalog with a number in the name of a category.
func (s *site) importCatalog(t testing.TB, number int) program.Result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "catalog.yaml")
	content := strings.Replace(string(demo.Catalog), "name: {en: Bags,", fmt.Sprintf("name: {en: Bags %d,", number), 1)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.Run(t, "catalog", "import", path)
}

// open registers the webhooks, once a node runs.
func (s *site) open(t *testing.T) {
	t.Helper()
	s.credits = make(map[string]int)
	for name, key := range map[string]string{"/live": s.live, "/test": s.test} {
		s.credits[key] = s.balance(t, key)
		a := s.nodes[0].send(t.Context(), &request{
			method: http.MethodPost, path: apiPrefix + "/webhooks", token: key,
			body: jsonBody(map[string]any{"url": s.receiver.URL + name, "events": []string{"order-outcome", "update-photos"}}),
		})
		var hook struct {
			Secret string `json:"signing_secret"`
		}
		if !a.done() {
			t.Fatal(a)
		}
		a.decode(t, &hook)
		s.receiver.Register(name, hook.Secret)
	}
}

func (s *site) balance(t *testing.T, key string) int {
	t.Helper()
	var balance struct{ AvailableCredits int }
	s.read(t, key, apiPrefix+"/balance", &balance)
	return balance.AvailableCredits
}

// call sends a request of an actor, and takes the answer into account. The end of ctx does not end it: what comes of it
// has to be known.
func (s *site) call(ctx context.Context, n *node, r *request) *answer {
	broken := n.broken.Load()
	a := n.send(context.WithoutCancel(ctx), r)
	s.answers.count(r, a, broken || n.broken.Load() || (n.remote && a.late()))
	return a
}

func (s *site) api(ctx context.Context, n *node, method, path string, body any) *answer {
	r := &request{method: method, path: apiPrefix + path, token: s.live}
	if body != nil {
		r.body = jsonBody(body)
	}
	return s.call(ctx, n, r)
}

func (s *site) desk(ctx context.Context, n *node, token, method, path string, body any) *answer {
	r := &request{method: method, path: deskPrefix + path, token: token}
	if body != nil {
		r.body = jsonBody(body)
	}
	return s.call(ctx, n, r)
}

// newPhoto returns a picture that no other is like.
func (s *site) newPhoto() []byte {
	n := s.photos.Add(1)
	picture := image.NewRGBA(image.Rect(0, 0, 8, 8))
	for i := range 8 {
		picture.SetRGBA(i, 0, color.RGBA{R: uint8(n >> (8 * i)), A: 255})
	}
	var content bytes.Buffer
	if err := png.Encode(&content, picture); err != nil {
		panic(err) // a buffer
	}
	return content.Bytes()
}

// upload uploads a new photo until that is done, or ctx ends: then there is no URL.
func (s *site) upload(ctx context.Context, n *node, key string) string {
	content := s.newPhoto()
	body, contentType := photoForm(content)
	r := &request{method: http.MethodPost, path: apiPrefix + "/photos", token: key, body: body, contentType: contentType}
	for ctx.Err() == nil {
		a := s.call(ctx, n, r)
		if !a.done() {
			pause(ctx)
			continue
		}
		var uploaded struct{ Data []struct{ URL string } }
		if err := json.Unmarshal(a.body, &uploaded); err == nil && len(uploaded.Data) == 1 {
			s.books.uploaded(uploaded.Data[0].URL, content)
			return uploaded.Data[0].URL
		}
	}
	return ""
}

// pause waits for a moment, where something is down.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
}
