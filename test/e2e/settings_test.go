package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// TestListening checks the line that announces the addresses of the server.
func TestListening(t *testing.T) {
	t.Parallel()
	const free = "127.0.0.1:0"
	for _, format := range []string{"json", "text"} {
		for _, on := range [][3]bool{{true, true, true}, {true, false, false}, {false, true, false}, {false, false, true}} {
			t.Run(fmt.Sprintf("%s/%v", format, on), func(t *testing.T) {
				t.Parallel()
				settings := program.Settings{"log-format": format, "listen": "", "tls-listen": "", "ops-listen": ""}
				for i, name := range []string{"listen", "tls-listen", "ops-listen"} {
					if on[i] {
						settings[name] = free
					}
				}
				s := start(t, settings)
				s.Stop(t)
				var bare []string
				for _, line := range lines(s.Stderr()) {
					if strings.Contains(line, "listening") {
						bare = append(bare, line)
					}
				}
				want := fmt.Sprintf("listening http=%s tls=%s ops=%s", orOff(s.HTTP), orOff(s.TLS), orOff(s.Ops))
				if !slices.Equal(bare, []string{want}) {
					t.Errorf("lines are %q, want only %q", bare, want)
				}
				for i, address := range []string{s.HTTP, s.TLS, s.Ops} {
					if (address != "") != on[i] || strings.HasSuffix(address, ":0") {
						t.Errorf("listener %d is at %q, on: %t", i, address, on[i])
					}
				}
			})
		}
	}
}

func orOff(address string) string {
	if address == "" {
		return "-"
	}
	return address
}

// TestFlagWins checks that a flag overrides the environment.
func TestFlagWins(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		arguments []string
		want      int64
	}{
		{"Environment", nil, 2 << 10},
		{"Flag", []string{"--max-photo-bytes", "3KiB"}, 3 << 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, program.Settings{"max-photo-bytes": "2KiB"}, tt.arguments...)
			c := s.client(t, s.open(t).Test)
			_, err := c.UploadPhotos(t.Context(), client.File{
				Name: "large.png", Content: bytes.NewReader(newPhoto(int(tt.want) + 1)),
			})
			if !client.IsCode(err, client.CodeFileTooLarge) {
				t.Fatalf("one byte too many: %v", err)
			}
			if _, err := c.UploadPhotos(t.Context(), client.File{
				Name: "fits.png", Content: bytes.NewReader(newPhoto(int(tt.want))),
			}); err != nil {
				t.Errorf("a photo that fits: %v", err)
			}
		})
	}
}

// TestFlagWins_Command checks the same for a command and its data directory.
func TestFlagWins_Command(t *testing.T) {
	t.Parallel()
	installation := program.New(t, nil)
	other := filepath.Join(t.TempDir(), "not", "there", "yet")
	installation.CLI(t, new(any), "accounts", "create", "--name", "Acme", "--owner", "owner@acme.example", "--data", other)
	if got := installation.Run(t, "keys", "list", "--account", "Acme"); got.ExitCode == 0 {
		t.Errorf("the account is also in the folder of the environment: %+v", got)
	}
	installation.CLI(t, new([]any), "keys", "list", "--data="+other, "--account", "Acme")
}

// TestRefusedSettings checks that invalid settings are refused by name.
func TestRefusedSettings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, value, want string
	}{
		{"media-url", "http://localhost:8080/media", "--media-url"},
		{"public-url", "localhost", "--public-url"},
		{"listen", "127.0.0.1:99999", "--listen"},
		{"log-format", "xml", "--log-format"},
		{"webhook-retry-delays", "soon", "ASSAY_WEBHOOK_RETRY_DELAYS"},
		{"max-photo-bytes", "lots", "ASSAY_MAX_PHOTO_BYTES"},
		{"tls-cert", "/nowhere.pem", "--tls-cert"},
		{"smtp-url", "smtp://assay:hush-hush@mail.example/inbox", "--smtp-url"},
		{"database", "postgres://assay:hush-hush@127.0.0.1:1/assay", "--secret-key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := program.New(t, program.Settings{tt.name: tt.value}).Run(t, "serve")
			if got.ExitCode == 0 || !strings.Contains(got.Stderr, tt.want) {
				t.Errorf("exit code %d, standard error lacks %s:\n%s", got.ExitCode, tt.want, got.Stderr)
			}
			if strings.Contains(got.Stderr, "hush-hush") || got.Stdout != "" {
				t.Errorf("the password is shown, or something is on standard output: %+v", got)
			}
		})
	}
}

// TestUnreachableDatabase checks that the error does not contain the password.
func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://assay:hush-hush@127.0.0.1:1/assay", "postgres://assay:hush-hush@127.0.0.1:not-a-port/assay",
		"postgres://assay:hush-hush@127.0.0.1:1/assay?sslmode=perhaps",
	} {
		got := program.New(t, program.Settings{"database": url, "secret-key": secretKey}).Run(t, "serve")
		if got.ExitCode == 0 || got.Stderr == "" || strings.Contains(got.Stderr, "hush-hush") {
			t.Errorf("%s: exit code %d, standard error:\n%s", url, got.ExitCode, got.Stderr)
		}
	}
}

// TestSecondServer checks that a second server on the same directory does not start, and does not disturb the
// first.
func TestSecondServer(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	a := s.open(t)
	got := s.Installation().Run(t, "serve")
	if got.ExitCode == 0 || !strings.Contains(got.Stderr, "another server is running on the data folder") ||
		strings.Contains(got.Stderr, "listening") {
		t.Errorf("the second server: %+v", got)
	}
	s.get(t, a.Test.Key, prefix+"/balance").wantStatus(t, http.StatusOK)
}

// TestNewerDatabase checks that a database of a later version is refused.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		s := start(t, settings)
		s.Stop(t)
		target := settings["database"]
		if target == "" {
			target = filepath.Join(s.data, "assay.db")
		}
		rawsql.Exec(t, target, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)")
		rawsql.Exec(t, target, "UPDATE schema_support SET oldest = 99999") // and has taken something away
		for _, command := range [][]string{{"serve"}, {"keys", "list", "--account", "Acme", "--json"}} {
			got := s.Installation().Run(t, command...)
			if got.ExitCode == 0 || !strings.Contains(got.Stderr, "newer version of this program") || got.Stdout != "" {
				t.Errorf("%v: %+v", command, got)
			}
		}
	})
}
