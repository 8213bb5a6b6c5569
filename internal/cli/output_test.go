package cli_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/cli"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/hostile"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// untilReady ends a server when it says that it listens.
type untilReady struct {
	bytes.Buffer
	end func()
}

func (u *untilReady) Write(text []byte) (int, error) {
	if bytes.HasPrefix(text, []byte("listening ")) {
		u.end()
	}
	return u.Buffer.Write(text)
}

// TestServe_DemoJSON: with --json the demo is one line of JSON, and so is that there is one already.
func TestServe_DemoJSON(t *testing.T) {
	type person struct{ Email, Password, Token string }
	var demo struct {
		Created                bool
		URL                    string
		AccountID              string `json:"account_id"`
		Keys                   map[string]string
		Owner, Reviewer, Admin person
	}
	data := t.TempDir()
	serve := func() (stdout string) {
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		var out bytes.Buffer
		code := cli.Run(ctx, []string{
			"serve", "--demo=empty", "--json", "--data", data, "--tls-listen", "", "--listen", "127.0.0.1:0",
			"--ops-listen", "",
		}, cli.IO{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &untilReady{end: end},
			LookupEnv: func(string) (string, bool) { return "", false },
		})
		if code != 0 || strings.Count(out.String(), "\n") != 1 {
			t.Fatalf("status %d, prints %q", code, out.String())
		}
		return out.String()
	}
	only(t, serve(), &demo)
	if !demo.Created || demo.AccountID == "" || !strings.HasPrefix(demo.Keys["test"], "assay_test_") ||
		!strings.HasPrefix(demo.Keys["live"], "assay_live_") || !strings.HasPrefix(demo.URL, "http://") ||
		demo.Owner.Password == "" || demo.Reviewer.Token == "" || demo.Admin.Email == "" {
		t.Errorf("the demo is %+v", demo)
	}
	if again := serve(); again != `{"created":false}`+"\n" {
		t.Errorf("the second start prints %s", again)
	}
}

// TestKeysList: a key that has expired is neither active nor counted.
func TestKeysList(t *testing.T) {
	data := t.TempDir()
	for _, args := range []string{
		"accounts create --name A --owner a@a.example",
		"keys create --account A --env test --name first --scopes all",
		"keys create --account A --env test --name second --scopes all",
		"keys create --account A --env test --name third --scopes all",
	} {
		if code, _, stderr := run(t, data, nil, strings.Fields(args)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	target := filepath.Join(data, "assay.db")
	rawsql.Exec(t, target, "UPDATE api_keys SET expires_at = created_at + 1 WHERE name = 'second'")
	rawsql.Exec(t, target, "UPDATE api_keys SET expires_at = created_at + 1, revoked_at = created_at WHERE name = 'third'")
	_, stdout, _ := run(t, data, nil, "keys", "list", "--account", "A")
	for name, state := range map[string]string{"first": "active", "second": "expired", "third": "revoked"} {
		if !regexp.MustCompile(state + ` +` + name + ` `).MatchString(stdout) {
			t.Errorf("%s is not %s:\n%s", name, state, stdout)
		}
	}
	var list []map[string]any
	_, stdout, _ = run(t, data, nil, "accounts", "list", "--json")
	only(t, stdout, &list)
	if list[0]["active_keys"] != 1.0 {
		t.Errorf("the account is %v", list[0])
	}
}

// TestLists_CutOff: a list that goes on says so, apart from the list.
func TestLists_CutOff(t *testing.T) {
	data := t.TempDir()
	must.NoError(t, os.WriteFile(filepath.Join(data, "secret.key"), []byte(shop.SecretKey+"\n"), 0o600))
	s := shop.New(t, filepath.Join(data, "assay.db"), func(c *service.Config) {
		c.Guard = &netguard.Guard{Resolver: hostile.Resolver{}}
	})
	address, problem := webhook.CheckURL("url", "https://example.com/")
	if problem != nil {
		t.Fatal(problem)
	}
	_, _, err := s.Service.CreateEndpoint(t.Context(), s.Test.Actor(access.Origin{}), s.Test.ID,
		service.NewEndpoint{URL: address, Events: webhook.Events})
	must.NoError(t, err)
	for _, name := range []string{"B", "C"} {
		_, err := s.Service.CreateAccount(t.Context(), access.System, name, name+"@a.example", text.English)
		must.NoError(t, err)
		s.Order(t, s.Test, order.MockAuthentic)
	}
	s.Order(t, s.Test, order.MockAuthentic)
	for list, want := range map[string]string{
		"accounts":   "2 of 3 accounts; --limit-rows shows more\n",
		"deliveries": "the newest 2 deliveries of more; --limit-rows shows more\n",
	} {
		for rows, want := range map[string]string{"2": want, "3": ""} {
			code, stdout, stderr := run(t, data, nil, list, "list", "--limit-rows", rows)
			if code != 0 || strconv.Itoa(strings.Count(stdout, "\n")) != rows || stderr != want {
				t.Errorf("%s of %s: status %d, says %q and %q", rows, list, code, stdout, stderr)
			}
			var listed []map[string]any
			_, stdout, stderr = run(t, data, nil, list, "list", "--limit-rows", rows, "--json")
			only(t, stdout, &listed)
			if strconv.Itoa(len(listed)) != rows || stderr != want {
				t.Errorf("%s of %s: %q and %q", rows, list, stdout, stderr)
			}
		}
	}
}

// TestRemote_Messages: the program names itself once, and environments as everywhere.
func TestRemote_Messages(t *testing.T) {
	status := http.StatusForbidden
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, err := w.Write([]byte(`{"availableCredits":1}`))
		must.NoError(t, err)
	}))
	t.Cleanup(server.Close)
	set := map[string]string{
		"ASSAY_SERVER": server.URL, "ASSAY_KEY": "assay_test_x", "ASSAY_CONFIG": filepath.Join(t.TempDir(), "config.json"),
	}
	for command, want := range map[string]string{
		"balance": "assay balance: GET ", "login": "assay login: the key was not kept: GET ",
	} {
		if code, _, stderr := run(t, t.TempDir(), set, command); code != 1 || !strings.HasPrefix(stderr, want) {
			t.Errorf("%s: status %d, says %q", command, code, stderr)
		}
	}
	status = http.StatusOK
	bare := map[string]string{"ASSAY_KEY": "assay_test_x"} // neither a home nor a profile
	if code, _, stderr := run(t, t.TempDir(), bare, "balance"); strings.Contains(stderr, "HOME") {
		t.Errorf("without a home: status %d, says %q", code, stderr)
	}
	var kept struct{ Profile, Server, Environment string }
	code, stdout, stderr := run(t, t.TempDir(), set, "login", "--json")
	if code != 0 {
		t.Fatal(stderr)
	}
	only(t, stdout, &kept)
	if kept.Environment != "test" {
		t.Errorf("kept %+v", kept)
	}
}
