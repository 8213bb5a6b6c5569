package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/program"
)

var uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// TestCommands runs every command with --json while the server runs, and checks the shape of its output.
func TestCommands(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		s := start(t, settings)

		var version map[string]string
		s.CLI(t, &version, "version")
		wantProperties(t, version, "version", "commit")

		var account map[string]string
		s.CLI(t, &account, "accounts", "create", "--name", "Acme & Söhne", "--owner", "Owner@Acme.example", "--locale", "ja")
		wantProperties(t, account, "account_id", "user_id", "email", "password")
		if !uuidPattern.MatchString(account["account_id"]) || !uuidPattern.MatchString(account["user_id"]) ||
			len(account["password"]) < 12 {
			t.Errorf("the account is %v", account)
		}

		made := commandKeys(t, s, account["account_id"])
		commandCredits(t, s, made.Key)
		commandCatalog(t, s)
		commandStaff(t, s)
		if proof := runCheck(t, s); proof.Accounts != 1 || proof.Orders != 0 {
			t.Errorf("the proof is %+v", proof)
		}
	})
}

func commandStaff(t *testing.T, s *site) {
	t.Helper()
	var made map[string]string
	s.CLI(t, &made, "staff", "create", "--email", "rei@desk.example", "--name", "Rei", "--role", "reviewer")
	wantProperties(t, made, "user_id", "email", "password", "token")
	if !uuidPattern.MatchString(made["user_id"]) || made["email"] != "rei@desk.example" || len(made["password"]) < 12 {
		t.Errorf("the reviewer is %v", made)
	}
	s.get(t, made["token"], "/v1/desk/orders").wantStatus(t, http.StatusOK)
	s.get(t, made["token"], prefix+"/balance").wantFailure(t, http.StatusUnauthorized, "unauthorized")
}

// checkReport is the output of `assay check`.
type checkReport struct {
	OK       bool  `json:"ok"`
	Accounts int   `json:"accounts"`
	Orders   int   `json:"orders"`
	Photos   int   `json:"photos"`
	Problems []any `json:"problems"`
}

// runCheck runs `assay check`, which must find no problem.
func runCheck(t *testing.T, s *site) checkReport {
	t.Helper()
	var p checkReport
	s.CLI(t, &p, "check")
	if !p.OK || len(p.Problems) != 0 {
		t.Errorf("the check found %+v", p)
	}
	return p
}

func commandKeys(t *testing.T, s *site, accountID string) key {
	t.Helper()
	var raw map[string]any
	s.CLI(t, &raw, "keys", "create", "--account", accountID, "--env", "live", "--name", "one", "--scopes",
		"orders:read,audit:read")
	wantProperties(t, raw, "id", "key", "environment", "scopes")

	var made key
	s.CLI(t, &made, "keys", "create", "--account", "Acme & Söhne", "--env", "test", "--name", "two", "--scopes", "all",
		"--limit", "read=3", "--limit=create=4")
	if made.Environment != "test" || len(made.Scopes) != 4 || !strings.HasPrefix(made.Key, "assay_test_") {
		t.Errorf("the key is %+v", made)
	}
	if got := s.get(t, made.Key, prefix+"/balance"); got.Header.Get("X-Ratelimit-Limit") != "3" ||
		got.Header.Get("X-Ratelimit-Remaining") != "2" {
		t.Errorf("the limit of the key is %q", got.Header.Get("X-Ratelimit-Limit"))
	}

	var listed []struct {
		ID        string
		Name      string
		RevokedAt *string `json:"revoked_at"`
	}
	s.CLI(t, &listed, "keys", "list", "--account", accountID)
	if len(listed) != 2 || listed[1].ID != made.ID || listed[1].Name != "two" || listed[1].RevokedAt != nil {
		t.Errorf("the keys are %+v", listed)
	}
	var revoked map[string]any
	first, _ := raw["id"].(string)
	s.CLI(t, &revoked, "keys", "revoke", first) // CLI puts --json behind the positional argument
	s.CLI(t, &revoked, "keys", "revoke", first)
	s.CLI(t, &listed, "keys", "list", "--account", accountID)
	if len(listed) != 2 || listed[0].RevokedAt == nil || listed[1].RevokedAt != nil {
		t.Errorf("after the revocation the keys are %+v", listed)
	}
	return made
}

func commandCredits(t *testing.T, s *site, apiKey string) {
	t.Helper()
	var balance map[string]int64
	for _, step := range []struct {
		amount string
		want   int64
	}{{"50", 100_050}, {"-100050", 0}, {"7", 7}} {
		s.CLI(t, &balance, "credits", "grant", "--account", "Acme & Söhne", "--env", "test", "--amount", step.amount,
			"--note", "a test")
		wantProperties(t, balance, "balance")
		if balance["balance"] != step.want {
			t.Errorf("after %s the balance is %d, want %d", step.amount, balance["balance"], step.want)
		}
	}
	if got := s.get(t, apiKey, prefix+"/balance"); string(got.body) != `{"availableCredits":7}` {
		t.Errorf("the balance over HTTP is %s", got.body)
	}
}

func commandCatalog(t *testing.T, s *site) {
	t.Helper()
	var planned, imported, again struct {
		DryRun  bool  `json:"dry_run"`
		Changes []any `json:"changes"`
	}
	s.CLI(t, &planned, "catalog", "import", "--dry-run", catalogFile)
	s.CLI(t, &imported, "catalog", "import", catalogFile)
	if !planned.DryRun || imported.DryRun || len(planned.Changes) == 0 || len(planned.Changes) != len(imported.Changes) {
		t.Errorf("planned %+v, imported %+v; want the same changes, made once", planned, imported)
	}

	var document map[string]any
	s.CLI(t, &document, "catalog", "export")
	if brands, _ := document["brands"].([]any); len(brands) != 2 {
		t.Errorf("the exported document is %v", document)
	}
	for _, format := range []string{"yaml", "json"} {
		arguments := []string{"catalog", "export"}
		if format == "json" {
			arguments = append(arguments, "--json")
		}
		exported := filepath.Join(t.TempDir(), "catalog."+format)
		if err := os.WriteFile(exported, []byte(s.Installation().Run(t, arguments...).Stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		s.CLI(t, &again, "catalog", "import", exported, "--dry-run")
		if len(again.Changes) != 0 {
			t.Errorf("the exported %s, imported again, changes %v", format, again.Changes)
		}
	}
}

// wantProperties checks that a JSON object has exactly the properties.
func wantProperties[V any](t *testing.T, object map[string]V, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, there := object[name]; !there {
			t.Errorf("%s is missing in %v", name, object)
		}
	}
	for name := range object {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not documented, in %v", name, object)
		}
	}
}

// TestCommandErrors checks that errors go to standard error only, with a non-zero exit status.
func TestCommandErrors(t *testing.T) {
	t.Parallel()
	installation := program.New(t, nil)
	installation.CLI(t, new(any), "accounts", "create", "--name", "Acme", "--owner", "owner@acme.example")
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("brands:\n  - {code: UPPER, name: {en: Upper}, categories: [bags]}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name      string
		arguments string
		want      string // in standard error
	}{
		{"NoCommand", "", "Usage"},
		{"UnknownCommand", "accounts destroy", `unknown command "destroy": it has create`},
		{"UnknownFlag", "keys list --colour red", "unknown flag --colour"},
		{"MissingFlags", "accounts create", "--name and --owner are required"},
		{"TooManyArguments", "keys revoke one two", "takes 1 argument (KEY_ID), has 2"},
		{"NoArgument", "keys revoke", "takes 1 argument (KEY_ID), has 0"},
		{"NameTaken", "accounts create --name Acme --owner other@acme.example", "Acme"},
		{"BadEmail", "accounts create --name Bolt --owner nobody", "email"},
		{"BadLocale", "accounts create --name Bolt --owner o@bolt.example --locale fr", "--locale"},
		{"UnknownAccount", "keys create --account Nobody --env test --name n --scopes all", "Nobody"},
		{"BadEnvironment", "keys create --account Acme --env prod --name n --scopes all", "--env"},
		{"BadScope", "keys create --account Acme --env test --name n --scopes orders:delete", "orders:delete"},
		{"BadLimit", "keys create --account Acme --env test --name n --scopes all --limit reads=1", "CATEGORY=N"},
		{"LimitOfZero", "keys create --account Acme --env test --name n --scopes all --limit read=0", "CATEGORY=N"},
		{"BadKeyID", "keys revoke nonsense", "nonsense"},
		{"UnknownKeyID", "keys revoke 01890000-0000-7000-8000-000000000000", "01890000"},
		{"Overdraft", "credits grant --account Acme --env live --amount -1 --note n", "negative"},
		{"BadAmount", "credits grant --account Acme --env live --amount many --note n", "many"},
		{"BadRole", "staff create --email rei@desk.example --name Rei --role boss", "--role"},
		{"BackupWithoutFolder", "backup", "takes 1 argument (DIR), has"},
		{"RestoreIntoFullPlace", "restore " + filepath.Dir(broken), "restore"},
		{"RestoreOfNothing", "restore nowhere --data " + filepath.Join(filepath.Dir(broken), "empty"), "nowhere"},
		{"BrokenCatalog", "catalog import " + broken, broken + ":2:"},
		{"NoCatalogFile", "catalog import nowhere.yaml", "nowhere.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, arguments := range [][]string{strings.Fields(tt.arguments), append(strings.Fields(tt.arguments), "--json")} {
				got := installation.Run(t, arguments...)
				if got.ExitCode == 0 || got.Stdout != "" || !strings.Contains(got.Stderr, tt.want) {
					t.Errorf("%v: exit code %d, standard output %q, standard error %q; want %q in it", arguments, got.ExitCode,
						got.Stdout, got.Stderr, tt.want)
				}
			}
		})
	}
	t.Run("NothingChanged", func(t *testing.T) {
		var document map[string]json.RawMessage
		installation.CLI(t, &document, "catalog", "export")
		if strings.Contains(string(document["brands"]), "UPPER") {
			t.Error("the refused catalog was imported")
		}
	})
}

// TestHelp checks that help exits with 0 and goes to standard output, where a pager reads it.
func TestHelp(t *testing.T) {
	t.Parallel()
	installation := program.New(t, nil)
	for _, arguments := range [][]string{{"help"}, {"--help"}, {"serve", "--help"}, {"keys", "create", "-h"}} {
		got := installation.Run(t, arguments...)
		if got.ExitCode != 0 || !strings.Contains(got.Stdout, "Usage") || got.Stderr != "" {
			t.Errorf("%v: %+v", arguments, got)
		}
	}
}
