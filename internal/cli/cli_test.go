package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/cli"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// run runs the program on a data directory and returns its output.
func run(t *testing.T, data string, environment map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	stdio := cli.IO{
		Stdin:  strings.NewReader(""),
		Stdout: &out,
		Stderr: &errors,
		LookupEnv: func(name string) (string, bool) {
			if name == "ASSAY_DATA" {
				return data, true
			}
			value, ok := environment[name]
			return value, ok
		},
	}
	code = cli.Run(t.Context(), args, stdio)
	return code, out.String(), errors.String()
}

// only decodes the single JSON value that a command may print.
func only(t *testing.T, stdout string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil || d.More() {
		t.Fatalf("the output is not one JSON value as promised: %v: %q", err, stdout)
	}
}

// TestUsage checks that wrong calls are reported on standard error with a non-zero status.
func TestUsage(t *testing.T) {
	for _, call := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{name: "NoCommand", code: 2, want: "Usage: assay COMMAND"},
		{name: "UnknownCommand", args: []string{"fly"}, code: 2, want: `unknown command "fly" (assay help lists all)`},
		{name: "Typo", args: []string{"acounts"}, code: 2, want: `unknown command "acounts"; did you mean "accounts"?`},
		{name: "TypoInTwo", args: []string{"key", "list"}, code: 2, want: `"key list"; did you mean "keys list"?`},
		{name: "HalfACommand", args: []string{"keys"}, code: 2, want: "assay keys: say what to do: create, list, revoke"},
		{name: "UnknownVerb", args: []string{"keys", "drop"}, code: 2, want: `unknown command "drop": it has create, list`},
		{name: "FlagFirst", args: []string{"--json"}, code: 2, want: "--json comes after the command"},
		{name: "UnknownFlag", args: []string{"version", "--colour"}, code: 2, want: "unknown flag --colour"},
		{name: "TypoInFlag", args: []string{"keys", "list", "--acount", "x"}, code: 2, want: "did you mean --account?"},
		{name: "FlagWithoutValue", args: []string{"keys", "list", "--account"}, code: 2, want: "--account needs a value"},
		{name: "UnknownHelp", args: []string{"help", "fly"}, code: 2, want: `unknown command "fly"`},
		{name: "UnknownShell", args: []string{"completion", "tcsh"}, code: 2, want: "bash, zsh or fish"},
		{name: "MissingArgument", args: []string{"keys", "revoke"}, code: 2, want: "takes 1 argument (KEY_ID), has 0"},
		{name: "TooManyArguments", args: []string{"version", "now"}, code: 2, want: "takes no arguments, has 1"},
		{name: "MissingFlag", args: []string{"accounts", "create"}, code: 2, want: "--name and --owner are required"},
		{
			name: "WrongEnvironment",
			args: []string{"credits", "grant", "--account", "a", "--env", "prod", "--amount", "1", "--note", "n"},
			code: 2,
			want: "--env must be test or live",
		},
		{
			name: "WrongScope",
			args: []string{"keys", "create", "--account", "a", "--env", "test", "--name", "n", "--scopes", "x"},
			code: 2,
			want: `unknown scope "x"`,
		},
		{name: "WrongLimit", args: []string{"keys", "create", "--limit", "read=0"}, code: 2, want: "N at least 1"},
		{
			name: "WrongCategory",
			args: []string{"keys", "create", "--limit", "reads=5"},
			code: 2,
			want: "catalog, read, create",
		},
		{
			name: "WrongNetwork",
			args: []string{"keys", "create", "--allow-network", "example.com"},
			code: 2,
			want: `"example.com" is no IPv4 or IPv6 address`,
		},
		{
			name: "WrongLocale",
			args: []string{"accounts", "create", "--name", "n", "--owner", "a@b.example", "--locale", "fr"},
			code: 2,
			want: "--locale must be en or ja",
		},
		{name: "WrongSize", args: []string{"version", "--max-photo-bytes", "big"}, code: 2, want: "10MiB"},
		{name: "TooLarge", args: []string{"version", "--max-stored-bytes", "9223372036854775808"}, code: 2, want: "10MiB"},
		{name: "LargePhotos", args: []string{"check", "--max-photo-bytes", "2TiB"}, code: 1, want: "from 1 to 1TiB"},
		{
			name: "WrongDuration", args: []string{"check", "--webhook-timeout", "soon"}, code: 2,
			want: `--webhook-timeout: "soon" is not a duration such as 90s`,
		},
		{name: "WrongNumber", args: []string{"check", "--max-keys", "x"}, code: 2, want: `"x" is not a whole number`},
		{name: "WrongSwitch", args: []string{"check", "--pprof=x"}, code: 2, want: `--pprof: "x" is not true or false`},
		{
			name: "WrongDemo", args: []string{"serve", "--demo=full"}, code: 2,
			want: "assay serve: --demo: must be --demo or --demo=empty (see assay serve --help)\n",
		},
		{name: "NoFiles", args: []string{"photos", "upload"}, code: 2, want: "takes 1 to 10 files"},
		{name: "NoDelivery", args: []string{"deliveries", "redeliver"}, code: 2, want: "one delivery id, or --failed-since"},
		{
			name: "WrongSince", args: []string{"deliveries", "redeliver", "--failed-since", "x"}, code: 2,
			want: "--failed-since must be a time",
		},
		{name: "WrongStatus", args: []string{"deliveries", "list", "--status", "x"}, code: 2, want: "--status must be"},
		{name: "WrongRows", args: []string{"accounts", "list", "--limit-rows", "0"}, code: 2, want: "--limit-rows must be"},
		{
			name: "NoAmount", args: []string{"credits", "grant", "--account", "a", "--env", "test", "--note", "n"}, code: 2,
			want: "--amount is required",
		},
		{
			name: "LargeAmount", code: 2,
			want: `--amount: "99999999999999999999" is not a whole number from -1000000000000 to 1000000000000`,
			args: []string{
				"credits", "grant", "--account", "a", "--env", "test", "--note", "n", "--amount", "99999999999999999999",
			},
		},
		{
			name: "WrongID", code: 2, want: "--id must be a UUID",
			args: []string{"credits", "grant", "--account", "a", "--env", "test", "--amount", "1", "--note", "n", "--id", "x"},
		},
		{
			name: "WrongRole", args: []string{"staff", "create", "--email", "a@b.example", "--name", "n", "--role", "x"},
			code: 2, want: "--role must be reviewer or admin",
		},
		{name: "NothingToErase", args: []string{"erase"}, code: 2, want: "either --account or --order"},
		{
			name: "NoPhoto", args: []string{"orders", "create", "--category", "c", "--brand", "b"}, code: 2,
			want: "--photo is required",
		},
		{name: "WrongState", args: []string{"trigger", "o", "x"}, code: 2, want: `"x" is not a state`},
		{name: "WrongInterval", args: []string{"orders", "watch", "o", "--interval", "1ms"}, code: 2, want: "at least 1s"},
		{name: "WrongTarget", args: []string{"listen", "--forward-to", "x"}, code: 2, want: "--forward-to must be"},
	} {
		t.Run(call.name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.TempDir(), nil, call.args...)
			if code != call.code || stdout != "" || !strings.Contains(stderr, call.want) {
				t.Errorf("status %d, out %q, err %q", code, stdout, stderr)
			}
			if call.name != "NoCommand" && strings.Count(stderr, "\n") > len(call.args) {
				t.Errorf("more lines than problems:\n%s", stderr)
			}
		})
	}
}

// TestHelp checks that help goes to standard output, is short and has what the command takes.
func TestHelp(t *testing.T) {
	for _, call := range []struct {
		args     string
		maxLines int
		want     []string
	}{
		{"help", 60, []string{"Usage: assay COMMAND", "keys create", "completion"}},
		{"--help", 60, []string{"Usage: assay COMMAND"}},
		{"help keys", 12, []string{"Usage: assay keys COMMAND", "keys revoke"}},
		{"help keys create", 30, []string{"Usage: assay keys create --account", "--scopes", "--data folder"}},
		{"keys create --help", 30, []string{"Example:", "--scopes", "--json"}},
		{"serve --help", 90, []string{"--webhook-timeout", "ASSAY_DATA", "(default 127.0.0.1:8080)"}},
	} {
		t.Run(call.args, func(t *testing.T) {
			code, stdout, stderr := run(t, t.TempDir(), nil, strings.Fields(call.args)...)
			if code != 0 || stderr != "" || strings.Count(stdout, "\n") > call.maxLines {
				t.Errorf("status %d, err %q, out:\n%s", code, stderr, stdout)
			}
			for _, want := range call.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("help lacks %q:\n%s", want, stdout)
				}
			}
		})
	}
}

// TestCompletion checks the words that the shell scripts get.
func TestCompletion(t *testing.T) {
	for _, call := range []struct {
		args []string
		want string
	}{
		{[]string{"ke"}, "keys\n"},
		{[]string{"keys", ""}, "create\nlist\nrevoke\n"},
		{[]string{"keys", "list", "--acc"}, "--account\n"},
		{[]string{"catalog", "import", ""}, ""},
		{[]string{"trigger", ""}, ""},
		{[]string{"trigger", "my-order", "u"}, "update-photos\nunable-to-verify\n"},
		{[]string{"trigger", "--profile", "shop", "--json", "my-order", "e"}, "error\n"},
		{[]string{"trigger", "my-order", "error", ""}, ""},
		{[]string{"serve", "--data", "x", "--webhook-t"}, "--webhook-timeout\n"},
	} {
		code, stdout, stderr := run(t, t.TempDir(), nil, append([]string{"complete"}, call.args...)...)
		if code != 0 || stdout != call.want || stderr != "" {
			t.Errorf("%q: status %d, err %q, out %q, want %q", call.args, code, stderr, stdout, call.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, stdout, _ := run(t, t.TempDir(), nil, "completion", shell); code != 0 ||
			!strings.Contains(stdout, "assay complete") {
			t.Errorf("%s: status %d, %s", shell, code, stdout)
		}
	}
	// In fpath the file is the body of _assay, and has to complete; sourced it has to register the function.
	for _, want := range []string{`$funcstack[1] == _assay`, `_assay "$@"`, "compdef _assay assay"} {
		if _, stdout, _ := run(t, t.TempDir(), nil, "completion", "zsh"); !strings.Contains(stdout, want) {
			t.Errorf("the script for zsh has no %s:\n%s", want, stdout)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Run("Flag", func(t *testing.T) {
		if code, stdout, stderr := run(t, t.TempDir(), nil, "--version"); code != 0 || stderr != "" ||
			!strings.HasPrefix(stdout, "assay ") {
			t.Errorf("status %d, %s%s", code, stdout, stderr)
		}
	})
	t.Run("JSON", func(t *testing.T) {
		code, stdout, _ := run(t, t.TempDir(), nil, "version", "--json")
		var v struct{ Version, Commit string }
		only(t, stdout, &v)
		if code != 0 || v.Version == "" || v.Commit == "" {
			t.Errorf("status %d: %s", code, stdout)
		}
	})
}

// TestCommands runs the administration commands against one installation.
func TestCommands(t *testing.T) {
	data := t.TempDir()
	type user struct {
		UserID   string `json:"user_id"`
		Email    string `json:"email"`
		Password string `json:"password"`
	}
	var account struct {
		AccountID string `json:"account_id"`
		user
	}
	var key struct {
		ID          string   `json:"id"`
		Key         string   `json:"key"`
		Environment string   `json:"environment"`
		Scopes      []string `json:"scopes"`
	}
	succeed := func(t *testing.T, v any, args ...string) {
		t.Helper()
		code, stdout, stderr := run(t, data, nil, append(args, "--json")...)
		if code != 0 {
			t.Fatalf("status %d: %s", code, stderr)
		}
		only(t, stdout, v)
	}
	fail := func(t *testing.T, want string, args ...string) {
		t.Helper()
		code, stdout, stderr := run(t, data, nil, args...)
		if code != 1 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("status %d, out %q, err %q", code, stdout, stderr)
		}
	}
	t.Run("AccountsCreate", func(t *testing.T) {
		succeed(t, &account, "accounts", "create", "--name", "Acme", "--owner", "Owner@acme.example", "--locale", "ja")
		if account.AccountID == "" || account.UserID == "" || account.Email != "owner@acme.example" ||
			account.Password == "" {
			t.Errorf("the account is %+v", account)
		}
		taken := func(told, name, owner string) {
			t.Helper()
			_, _, stderr := run(t, data, nil, "accounts", "create", "--name", name, "--owner", owner)
			// The refusal is all of it: what the database says about it is not for people.
			if want := "assay accounts create: The request is not valid: " + told + "\n"; stderr != want {
				t.Errorf("told %q, want %q", stderr, want)
			}
		}
		fail(t, `"Acme" exists already`, "accounts", "create", "--name", "Acme", "--owner", "other@acme.example")
		taken(`name "Acme" exists already`, "Acme", "other@acme.example")
		taken(`email "owner@acme.example" belongs to a user already`, "Other", "owner@acme.example")
		taken(`name "Acme" exists already; email "owner@acme.example" belongs to a user already`,
			"Acme", "owner@acme.example")
	})
	t.Run("StaffCreate", func(t *testing.T) {
		var staff struct {
			user
			Token string `json:"token"`
		}
		args := []string{"staff", "create", "--email", "Mika@desk.example", "--name", "Mika", "--role", "reviewer"}
		succeed(t, &staff, args...)
		if staff.UserID == "" || staff.Email != "mika@desk.example" || staff.Password == "" ||
			!strings.HasPrefix(staff.Token, "assay_staff_") {
			t.Errorf("the staff user is %+v", staff)
		}
		fail(t, "assay staff create: The request is not valid: email belongs to a staff user already\n", args...)
	})
	t.Run("KeysCreate", func(t *testing.T) {
		succeed(t, &key, "keys", "create", "--account", "Acme", "--env", "live", "--name", "shop", "--scopes",
			"orders:read,audit:read", "--limit", "read=5", "--limit", "catalog=6",
			"--allow-network", "192.0.2.9/24", "--allow-network", "2001:DB8::1")
		if !strings.HasPrefix(key.Key, "assay_live_") || key.Environment != "live" ||
			strings.Join(key.Scopes, " ") != "orders:read audit:read" {
			t.Errorf("the key is %+v", key)
		}
		fail(t, `"Nobody"`, "keys", "create", "--account", "Nobody", "--env", "live", "--name", "shop", "--scopes", "all")
	})
	t.Run("AccountsList", func(t *testing.T) {
		var list []map[string]any
		succeed(t, &list, "accounts", "list")
		if len(list) != 1 || list[0]["id"] != account.AccountID || list[0]["name"] != "Acme" {
			t.Errorf("the accounts are %v", list)
		}
		if code, stdout, stderr := run(t, data, nil, "accounts", "list", "--search", "nobody"); code != 0 || stdout != "" ||
			stderr != "no accounts\n" {
			t.Errorf("an empty list is status %d, out %q, err %q", code, stdout, stderr)
		}
	})
	t.Run("KeysList", func(t *testing.T) {
		var list []map[string]any
		succeed(t, &list, "keys", "list", "--account", account.AccountID)
		if len(list) != 1 || list[0]["id"] != key.ID || list[0]["revoked_at"] != nil {
			t.Errorf("the keys are %v", list)
		}
		if limits, _ := list[0]["limits"].(map[string]any); limits["read"] != 5.0 || limits["catalog"] != 6.0 {
			t.Errorf("the limits are %v", list[0]["limits"])
		}
		if networks := fmt.Sprint(list[0]["networks"]); networks != "[192.0.2.0/24 2001:db8::1]" {
			t.Errorf("the networks are %s", networks)
		}
		if code, stdout, _ := run(t, data, nil, "keys", "list", "--account", account.AccountID); code != 0 ||
			!strings.Contains(stdout, "  192.0.2.0/24 2001:db8::1\n") {
			t.Errorf("status %d, the list is %s", code, stdout)
		}
		if text, err := json.Marshal(list); err != nil || strings.Contains(string(text), key.Key) {
			t.Errorf("the list tells the key: %s", text)
		}
	})
	t.Run("KeysRevoke", func(t *testing.T) {
		var revoked map[string]any
		succeed(t, &revoked, "keys", "revoke", key.ID)
		if revoked["revoked_at"] == nil {
			t.Errorf("the key is %v", revoked)
		}
		fail(t, `there is no key with the id "x"`, "keys", "revoke", "x")
	})
	t.Run("CreditsGrant", func(t *testing.T) {
		var balance struct {
			Balance int64 `json:"balance"`
		}
		succeed(t, &balance, "credits", "grant", "--account", "Acme", "--env", "live", "--amount", "50", "--note", "start")
		succeed(t, &balance, "credits", "grant", "--account", "Acme", "--env", "live", "--amount", "-20", "--note",
			"correction")
		if balance.Balance != 30 {
			t.Errorf("the balance is %d", balance.Balance)
		}
		for amount, want := range map[string]string{
			"-31":            "--amount -31: the balance would become negative\n",
			"999999999971":   "--amount 999999999971: the balance would become larger than 1000000000000\n",
			"1000000000001":  "from -1000000000000 to 1000000000000, other than 0",
			"-1000000000001": "from -1000000000000 to 1000000000000, other than 0",
		} {
			fail(t, want, "credits", "grant", "--account", "Acme", "--env", "live", "--amount", amount, "--note", "too much")
		}
	})
	t.Run("CreditsGrantAgain", func(t *testing.T) {
		var balance struct {
			Balance int64 `json:"balance"`
		}
		grant := func(amount string, more ...string) []string {
			return append([]string{"credits", "grant", "--account", "Acme", "--env", "live", "--amount", amount, "--note", "n"},
				more...)
		}
		target := filepath.Join(data, "assay.db")
		rawsql.Exec(t, target, "CREATE TRIGGER failing BEFORE INSERT ON ledger_entries BEGIN SELECT RAISE(ABORT, 'x'); END")
		_, _, stderr := run(t, data, nil, grant("7")...)
		rawsql.Exec(t, target, "DROP TRIGGER failing")
		repeat := regexp.MustCompile("--id [0-9a-f-]{36}").FindString(stderr)
		if repeat == "" {
			t.Fatalf("a failure does not say how to repeat: %s", stderr)
		}
		for range 2 {
			succeed(t, &balance, grant("7", strings.Fields(repeat)...)...)
			if balance.Balance != 37 {
				t.Errorf("the balance is %d, want 37", balance.Balance)
			}
		}
		fail(t, "another ledger entry", grant("8", strings.Fields(repeat)...)...)
		fail(t, "another ledger entry", append(grant("7", strings.Fields(repeat)...), "--env", "test")...)
	})
	t.Run("CatalogImport", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "catalog.yaml")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("locales: [en, ja]\ncategories:\n  - code: Bags\n    name: {ja: バッグ}\n")
		fail(t, file+":3:", "catalog", "import", file)
		write("locales: [en, ja]\ncategories: [{code: bags, name: {en: Bags}}]\n")
		var result struct {
			DryRun  bool  `json:"dry_run"`
			Changes []any `json:"changes"`
		}
		succeed(t, &result, "catalog", "import", file, "--dry-run")
		if !result.DryRun || len(result.Changes) == 0 {
			t.Errorf("the dry run tells %+v", result)
		}
		succeed(t, &result, "catalog", "import", file)
		if result.DryRun || len(result.Changes) == 0 {
			t.Errorf("the import tells %+v", result)
		}
		var exported map[string]any
		succeed(t, &exported, "catalog", "export")
		if exported["categories"] == nil {
			t.Errorf("the export is %v", exported)
		}
	})
	t.Run("SecretsAreTheOwnersOnly", func(t *testing.T) {
		for _, name := range []string{"secret.key", "assay.db"} {
			if info, err := os.Stat(filepath.Join(data, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v (%v)", name, info, err)
			}
		}
	})
}
