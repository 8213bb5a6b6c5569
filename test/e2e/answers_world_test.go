package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/assayhq/assay/api/apitest"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// world is what the recorded requests refer to.
type world struct {
	test, live          caller // may do everything
	auditor, reader     caller // have one scope each
	foreign             caller // may be used from another network only
	revoked             caller
	defaults            caller // has the default rate limits
	limited             caller // may read once a minute
	partner             caller // a Test key whose webhook uses OAuth2
	poor                caller // a Live key of another account, without credits
	reviewer, colleague caller // of the desk
	admin               caller

	photos, livePhotos []string // managed URLs
	testOrders         []string // ids, in the order of creation
	certificateURL     string
}

const (
	unknownID = "01890000-0000-7000-8000-000000000000"
	deskPath  = "/v1/desk"
)

// object is a JSON object of a request. Its properties are sent in the order of their names.
type object map[string]any

func (o object) String() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // the tests put nothing else than strings, numbers and lists into it
	}
	return string(text)
}

// with returns a copy with other properties; nil removes one.
func (o object) with(changes object) object {
	all := object{}
	for _, source := range []object{o, changes} {
		for name, value := range source {
			if all[name] = value; value == nil {
				delete(all, name)
			}
		}
	}
	return all
}

// bag is an order with photos of its required index.
func bag(urls ...string) object {
	photos := make([]object, len(urls))
	for i, url := range urls {
		photos[i] = object{"index_code": "overall", "url": url}
	}
	return object{"brand_code": "northwind", "category_code": "bags", "photos": photos}
}

func newRecorder(t *testing.T, settings program.Settings) *recorder {
	t.Helper()
	inbox := newReceiver(t)
	settings["secret-key"] = secretKey
	settings["webhook-allow-private"] = "true"
	settings["webhook-ca-file"] = must.CertificateFile(t, inbox.server)
	settings["max-photo-bytes"] = "4KiB"
	settings["webhook-ports"] = "1-65535" // endpoints that are never called have port 9
	r := &recorder{
		t: t, site: start(t, settings), receiver: inbox, chapters: make(map[string]*chapter),
		integration: apitest.New(t), desk: apitest.NewDesk(t),
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	r.client = &http.Client{Transport: r.integration.Transport(r.desk.Transport(transport))}
	return r
}

// receiver is a server of an integrator: it takes webhook deliveries and hands out OAuth2 tokens.
type receiver struct {
	server *httptest.Server
	got    map[string]chan received // by path
}

type received struct {
	header http.Header
	body   []byte
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{got: make(map[string]chan received)}
	for _, path := range []string{"/test", "/live", "/partner", "/token"} {
		r.got[path] = make(chan received, 10)
	}
	r.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		into := r.got[request.URL.Path]
		if err != nil || into == nil {
			t.Errorf("delivery to %s: %v", request.URL.Path, err)
			return
		}
		if request.URL.Path == "/token" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"access-1","token_type":"Bearer","expires_in":3600}`)
		} else {
			w.WriteHeader(http.StatusNoContent)
		}
		into <- received{request.Header, body}
	}))
	t.Cleanup(r.server.Close)
	return r
}

// recordDelivery waits for the next request to a path of the receiver and records it.
func (r *recorder) recordDelivery(label, path string) {
	r.t.Helper()
	select {
	case got := <-r.receiver.got[path]:
		if event := got.header.Get("X-LG-Event"); event != "" {
			r.integration.Delivery(event, got.body)
		}
		c := r.chapter("deliveries")
		c.title(label)
		c.line("POST ", path)
		c.header(got.header)
		c.line()
		c.line(string(got.body))
	case <-time.After(time.Minute):
		r.t.Fatalf("no delivery to %s: %s", path, label)
	}
}

// recordCommands sets up accounts, keys, credits, staff and the catalog, as an operator does.
func (r *recorder) recordCommands() {
	c := r.chapter("commands")
	c.command("version")
	c.command("catalog", "export")
	c.command("accounts", "create", "--name", "Acme", "--owner", "Owner@Acme.example", "--locale", "ja")
	c.command("accounts", "create", "--name", "Bolt & Söhne", "--owner", "owner@bolt.example")
	c.command("accounts", "create", "--name", "Acme", "--owner", "other@acme.example")
	c.command("accounts", "reset-password", "--email", "owner@acme.example")
	c.command("catalog", "import", answersFolder+"/catalog.yaml", "--dry-run")
	c.command("catalog", "import", answersFolder+"/catalog.yaml")
	c.command("catalog", "import", answersFolder+"/catalog.yaml")
	c.command("catalog", "export")

	var highLimits []string
	for _, category := range categories {
		highLimits = append(highLimits, "--limit", category+"=1000000")
	}
	r.test = c.key("Acme", "test", "all", highLimits...)
	r.live = c.key("Acme", "live", "all", highLimits...)
	r.auditor = c.key("Acme", "test", "audit:read")
	r.reader = c.key("Acme", "test", "orders:read,webhooks:manage")
	r.foreign = c.key("Acme", "test", "all", "--allow-network", "203.0.113.0/24", "--allow-network", "2001:db8::/32")
	r.revoked = c.key("Acme", "live", "all")
	r.defaults = c.key("Acme", "test", "all")
	r.limited = c.key("Acme", "test", "all", "--limit", "read=1")
	r.partner = c.key("Acme", "test", "orders:write,webhooks:manage")
	r.poor = c.key("Bolt & Söhne", "live", "all")
	c.command("keys", "create", "--account", "Nobody", "--env", "test", "--name", "n", "--scopes", "all")
	c.command("keys", "revoke", unknownID)
	r.recordRevocation(c)
	c.command("keys", "list", "--account", "Acme")
	c.command("keys", "list", "--account", "Bolt & Söhne")

	c.command("credits", "grant", "--account", "Acme", "--env", "live", "--amount", "1000", "--note", "to start with")
	c.command("credits", "grant", "--account", "Acme", "--env", "live", "--amount", "-100", "--note", "a correction")
	c.command("credits", "grant", "--account", "Acme", "--env", "live", "--amount", "-901", "--note", "too much")
	r.reviewer = c.staff("Rei", "reviewer")
	r.colleague = c.staff("Mika", "reviewer")
	r.admin = c.staff("Ada", "admin")
	c.command("check")

	must.Eventually(r.t, time.Minute, "the imported catalog is served", func() bool {
		path := prefix + "/catalog/categories?brand_code=fabrikam"
		return r.site.get(r.t, r.test.token, path).StatusCode == http.StatusOK
	})
}

func (r *recorder) recordRevocation(c *chapter) {
	var keys []struct{ ID, Name string }
	r.site.CLI(r.t, &keys, "keys", "list", "--account", "Acme")
	for _, k := range keys {
		if k.Name == r.revoked.name {
			c.command("keys", "revoke", k.ID)
			c.command("keys", "revoke", k.ID)
		}
	}
}

// key makes a key whose name says what it is.
func (c *chapter) key(account, environment, scopes string, more ...string) caller {
	c.t.Helper()
	c.numbers["made"]++
	name := fmt.Sprintf("%s key %d", environment, c.numbers["made"])
	arguments := []string{"keys", "create", "--account", account, "--env", environment, "--name", name}
	out := c.command(append(append(arguments, "--scopes", scopes), more...)...)
	return caller{name, c.property([]byte(out), "key")}
}

func (c *chapter) staff(name, role string) caller {
	c.t.Helper()
	out := c.command("staff", "create", "--email", name+"@desk.example", "--name", name, "--role", role)
	return caller{name + ", " + role, c.property([]byte(out), "token")}
}
