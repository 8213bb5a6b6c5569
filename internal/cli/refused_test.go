package cli_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/testkit/must"
)

// refusedCalls are calls of every command that works on an installation, each with something wrong.
var refusedCalls = map[string][]string{
	"serve": {
		"--listen nonsense", "--listen :nothing", "--tls-listen :70000", "--ops-listen 127.0.0.1", "--demo=full", "now",
		"--tls-cert FILE --tls-key FILE", "--webhook-ca-file FILE", "--public-url here", "--media-url http://a.example",
		"--smtp-url smtp://localhost --mail-from a@a.example --smtp-ca-file FILE", "--database mysql://a",
		"--database host=localhost",
		"--secret-key short", "--media s3://", "--redis nowhere",
	},
	"healthcheck":                  {"--ops-listen nonsense", "now"},
	"accounts create":              {"--name N --owner bad", "--name N --owner a@a.example --locale fr", "--name N"},
	"accounts list":                {"--limit-rows 0", "now"},
	"accounts reset-password":      {"", "--email notanemail"},
	"accounts reset-second-factor": {"", "--email notanemail"},
	"keys create": {
		"--account A --env prod --name n --scopes all", "--account A --env test --name n --scopes fly",
		"--account A --env test --name n --scopes all --limit read=0",
	},
	"keys list":                 {"", "--account A"},
	"keys revoke":               {"", "nothing"},
	"credits grant":             {"--account A --env test --amount 0 --note n", "--account A --env x --amount 1 --note n"},
	"staff create":              {"--email bad --name N --role admin", "--email a@a.example --name N --role owner"},
	"staff list":                {"now", ""},
	"staff reset-password":      {"", "--email bad"},
	"staff reset-second-factor": {"", "--email bad"},
	"catalog import": {
		"", "missing.yaml", "/dev/null", "FILE", "FILE --dry-run", "ACCOUNTS", "ACCOUNTS --dry-run",
	},
	"catalog export":       {"now", ""},
	"deliveries list":      {"--limit-rows 0", "--since never"},
	"deliveries show":      {"", "nothing"},
	"deliveries redeliver": {"", "nothing"},
	"check":                {"--heads FILE", "now"},
	"audit head":           {"now", ""},
	"secrets rotate":       {"now", "", "--secret-key short"},
	"export":               {"--account A", "--account A there"},
	"erase":                {"", "--account A --order O", "--order O", "--account A --dry-run"},
	"backup":               {"", "there"},
	"restore":              {"", "missing", "/dev/null"},
	"move":                 {"", "--to-database mysql://a", "--to-data there"},
	"verify":               {"", "missing", "FILE --offline"},
}

// remoteCommands need no installation.
var remoteCommands = regexp.MustCompile(
	`^(login|orders \w+|photos upload|balance|webhooks \w+|trigger|listen|completion|version)$`)

// TestRefusedCalls: a command that is refused has made nothing.
func TestRefusedCalls(t *testing.T) {
	_, help, _ := run(t, t.TempDir(), nil, "help")
	for _, found := range regexp.MustCompile(`(?m)^  ([a-z-]+( [a-z-]+)?)  `).FindAllStringSubmatch(help, -1) {
		if name := found[1]; refusedCalls[name] == nil && !remoteCommands.MatchString(name) {
			t.Errorf("%s has no refused call here", name)
		}
	}
	files := t.TempDir()
	file, accounts := filepath.Join(files, "file"), filepath.Join(files, "accounts.yaml")
	must.NoError(t, os.WriteFile(file, []byte("nothing: useful\n"), 0o600))
	catalog, err := os.ReadFile("../demo/catalog.yaml")
	must.NoError(t, err)
	catalog = append(catalog, "account_prices:\n  - {account: Acme, code: 30, price: 1}\n"...)
	must.NoError(t, os.WriteFile(accounts, catalog, 0o600))
	words := strings.NewReplacer("FILE", file, "ACCOUNTS", accounts)
	for name, calls := range refusedCalls {
		for _, call := range calls {
			t.Run(name+" "+call, func(t *testing.T) {
				home := t.TempDir()
				data := filepath.Join(home, "data")
				args := strings.Fields(name)
				for _, word := range strings.Fields(call) {
					args = append(args, words.Replace(word))
				}
				if name == "move" {
					args = append(args, "--from-data", data)
				}
				if i := len(args) - 1; args[i] == "there" || args[i] == "missing" {
					args[i] = filepath.Join(home, args[i])
				}
				code, stdout, stderr := run(t, data, nil, args...)
				if code == 0 || stdout != "" || stderr == "" {
					t.Errorf("status %d, says %q and %q", code, stdout, stderr)
				}
				if left := listed(t, home); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

// TestDryImport: what a first import would bring is shown, and nothing is made.
func TestDryImport(t *testing.T) {
	home := t.TempDir()
	code, stdout, stderr := run(t, filepath.Join(home, "data"), nil,
		"catalog", "import", "../demo/catalog.yaml", "--dry-run", "--json")
	var planned struct {
		DryRun  bool                `json:"dry_run"`
		Changes []map[string]string `json:"changes"`
	}
	if err := json.Unmarshal([]byte(stdout), &planned); code != 0 || err != nil || !planned.DryRun {
		t.Fatalf("status %d, %v, says %s", code, err, stderr)
	}
	if len(planned.Changes) == 0 {
		t.Error("nothing would change")
	}
	for _, c := range planned.Changes {
		if c["kind"] != "added" {
			t.Errorf("%v", c)
		}
	}
	if left := listed(t, home); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestRefusedMove: a move that is refused leaves the new place as it was.
func TestRefusedMove(t *testing.T) {
	data, home := t.TempDir(), t.TempDir()
	if code, _, stderr := run(t, data, nil, "accounts", "create", "--name", "A", "--owner", "a@a.example"); code != 0 {
		t.Fatal(stderr)
	}
	code, _, stderr := run(t, data, nil, "move", "--from-data", data, "--to-data", filepath.Join(home, "a", "b"),
		"--from-secret-key", secret.Generate())
	if code != 1 || !strings.Contains(stderr, "not the one") {
		t.Errorf("status %d, %s", code, stderr)
	}
	if left := listed(t, home); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestFoldersOfTheirOwn: a backup is not restored into itself, nor made among the photos, and one that has not ended is
// named.
func TestFoldersOfTheirOwn(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	copied, half := filepath.Join(dir, "backup"), filepath.Join(dir, "half")
	for _, args := range [][]string{
		{"accounts", "create", "--name", "A", "--owner", "a@a.example"}, {"backup", copied}, {"backup", half},
	} {
		if code, _, stderr := run(t, data, nil, args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	must.NoError(t, os.Remove(filepath.Join(half, "manifest.json")))
	before := strings.Join(listed(t, copied), " ")
	for _, call := range []struct{ data, command, dir, want string }{
		{copied, "restore", copied, "is in the backup"},
		{filepath.Join(copied, "new"), "restore", copied, "is in the backup"},
		{data, "backup", filepath.Join(data, "media", "b"), "folder of the photos"},
		{data, "backup", half, "has not ended"},
		{"", "check", "", "--data must name a folder"},
	} {
		args := strings.Fields(call.command + " " + call.dir)
		code, stdout, stderr := run(t, call.data, nil, args...)
		if code != 1 || stdout != "" || !strings.Contains(stderr, call.want) {
			t.Errorf("%v: status %d, says %q and %q", args, code, stdout, stderr)
		}
	}
	if after := strings.Join(listed(t, copied), " "); after != before {
		t.Errorf("the backup has changed: %s", after)
	}
	if left := listed(t, filepath.Join(data, "media")); len(left) > 0 {
		t.Errorf("among the photos: %v", left)
	}
}

// TestServe_AddressTaken: no installation is begun by a server that could not serve it.
func TestServe_AddressTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must.NoError(t, err)
	defer func() { must.NoError(t, taken.Close()) }()
	for _, flag := range []string{"listen", "ops-listen"} {
		home := t.TempDir()
		args := []string{"serve", "--demo", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--tls-listen", ""}
		code, stdout, stderr := run(t, filepath.Join(home, "data"), nil, append(args, "--"+flag, taken.Addr().String())...)
		if code != 1 || stdout != "" || !strings.Contains(stderr, "--"+flag+": ") {
			t.Errorf("--%s: status %d, says %q and %q", flag, code, stdout, stderr)
		}
		if left := listed(t, home); left != nil {
			t.Errorf("--%s: left behind: %q", flag, left)
		}
	}
}
