package e2e_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

var (
	secretPattern   = regexp.MustCompile(`assay_(test|live)_[0-9A-Za-z]{38}`)
	passwordPattern = regexp.MustCompile(`password\s+([0-9A-Za-z]{20})`)
	tokenPattern    = regexp.MustCompile(`desk token\s+(\S+)`)
)

// TestDemo starts the program like a first-time user: one command, an empty directory.
func TestDemo(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		first := start(t, settings, "--demo=empty")
		must.Eventually(t, time.Minute, "the demo is printed", func() bool {
			return strings.Contains(first.Stdout(), "curl")
		})
		printed := first.Stdout()
		keys := map[string]key{}
		for _, match := range secretPattern.FindAllStringSubmatch(printed, -1) {
			keys[match[1]] = key{Key: match[0]}
		}
		passwords, tokens := passwordPattern.FindAllStringSubmatch(printed, -1),
			tokenPattern.FindAllStringSubmatch(printed, -1)
		if len(keys) != 2 || len(passwords) != 3 || len(tokens) != 2 {
			t.Fatalf("a Test key, a Live key, three passwords and two desk tokens are not all in:\n%s", printed)
		}
		t.Run("CurlLine", func(t *testing.T) { runCurlLine(t, printed) })
		t.Run("Credits", func(t *testing.T) {
			for environment, want := range map[string]int64{"test": 100_000, "live": 1000} {
				if got := balance(t.Context(), t, first.client(t, keys[environment])); got != want {
					t.Errorf("the %s balance is %d, want %d", environment, got, want)
				}
			}
		})
		t.Run("Desk", func(t *testing.T) {
			for _, token := range tokens {
				first.get(t, token[1], "/v1/desk/orders").wantStatus(t, http.StatusOK)
			}
		})
		t.Run("Scopes", func(t *testing.T) {
			for _, k := range keys {
				c := first.client(t, k)
				_, auditErr := c.ListAuditEvents(t.Context(), client.AuditQuery{})
				_, ordersErr := c.ListOrders(t.Context(), client.OrdersQuery{})
				_, webhooksErr := c.ListWebhooks(t.Context())
				if auditErr != nil || ordersErr != nil || webhooksErr != nil {
					t.Errorf("audit %v, orders %v, webhooks %v", auditErr, ordersErr, webhooksErr)
				}
			}
		})
		if code := first.Stop(t); code != 0 {
			t.Fatalf("exit code %d", code)
		}

		second := first.again(t, "--demo")
		if info, err := os.Stat(filepath.Join(first.data, "demo.txt")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the kept credentials: %v, %v", info, err)
		}
		if got := balance(t.Context(), t, second.client(t, keys["live"])); got != 1000 {
			t.Errorf("after the second start the Live balance is %d, want 1000", got)
		}
		second.Stop(t) // all that it has printed is there
		if got := second.Stdout(); !strings.Contains(got, "demo.txt") || !strings.Contains(got, "assay keys create") {
			t.Errorf("the second start does not say where the credentials are and how to renew them:\n%s", got)
		}
		for _, output := range []string{second.Stdout(), first.Stderr(), second.Stderr()} {
			if secretPattern.MatchString(output) || passwordPattern.MatchString(output) || tokenPattern.MatchString(output) {
				t.Errorf("secrets are shown again or in the log:\n%s", output)
			}
		}
	})
}

// TestDemo_Alive checks that a demo has something to show, keeps its promises and holds every check, although starts
// are killed while they make it.
func TestDemo_Alive(t *testing.T) {
	t.Parallel()
	settings := program.Settings{"data": t.TempDir()}
	in := func(name string) string { return filepath.Join(settings["data"], name) }
	installation := program.New(t, settings)
	for _, moment := range []struct {
		command, file string
		photos        int
	}{
		{"serve --demo", "demo.unfinished", 0},
		{"serve --demo=empty", "demo.txt", 0}, // what was begun is completed
		{"serve", "demo.txt", 1},
		{"serve --demo", "demo.txt", 200},
		{"serve --demo", "demo.txt", 500},
	} {
		making := installation.Begin(t, strings.Fields(moment.command)...)
		must.Eventually(t, 2*time.Minute, moment.command, func() bool {
			_, err := os.Stat(in(moment.file))
			return err == nil && photosIn(in("media")) >= moment.photos || strings.Contains(making.Stderr(), "listening")
		})
		making.Kill(t)
		if strings.Contains(making.Stderr(), "listening") {
			t.Fatalf("%+v: the demo was complete before", moment)
		}
	}
	s := start(t, settings, "--demo")
	printed := s.Stdout()
	token := tokenPattern.FindStringSubmatch(printed)
	if token == nil {
		t.Fatalf("no desk token in:\n%s", printed)
	}
	for status, least := range map[string]int{"queued": 5, "processing": 3, "update-photos": 2, "completed": 100} {
		var page struct{ Total int }
		answer := s.get(t, token[1], "/v1/desk/orders?status="+status)
		answer.wantStatus(t, http.StatusOK)
		if err := json.Unmarshal(answer.body, &page); err != nil || page.Total < least {
			t.Errorf("%d orders are %s, want at least %d: %v", page.Total, status, least, err)
		}
	}
	for _, match := range secretPattern.FindAllStringSubmatch(printed, -1) {
		want := map[string]int64{"test": 100_000, "live": 1000}[match[1]]
		if got := balance(t.Context(), t, s.client(t, key{Key: match[0]})); got != want {
			t.Errorf("the %s balance is %d, want %d", match[1], got, want)
		}
	}
	var report struct {
		OK     bool
		Orders int
	}
	s.CLI(t, &report, "check")
	if !report.OK || report.Orders < 200 || report.Orders > 350 {
		t.Errorf("assay check finds %+v", report)
	}
	s.Stop(t)
	again := s.again(t, "--demo")
	again.Stop(t)
	if got := again.Stdout(); !strings.Contains(got, "There is data already") {
		t.Errorf("a complete demo is made again:\n%s", got)
	}
}

// photosIn counts the files of the media folder while they are made.
func photosIn(folder string) (n int) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			n++
		}
		return nil
	})
	return n
}

// TestDemo_NotEmpty: a demo is made in an empty database only.
func TestDemo_NotEmpty(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"Catalog": {"catalog", "import", catalogFile},
		"Staff":   {"staff", "create", "--email", "admin@demo.example", "--name", "A", "--role", "admin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := program.Settings{"data": t.TempDir()}
			installation := program.New(t, settings)
			installation.CLI(t, new(any), command...)
			before := installation.Run(t, "catalog", "export")
			s := start(t, settings, "--demo=empty")
			s.Stop(t)
			if !strings.Contains(s.Stdout(), "There is data already") {
				t.Errorf("the demo says %s", s.Stdout())
			}
			if after := installation.Run(t, "catalog", "export"); after != before {
				t.Errorf("the catalog was %+v, is %+v", before, after)
			}
		})
	}
}

// TestDemo_TLSOnly checks that the printed curl command trusts the self-signed certificate.
func TestDemo_TLSOnly(t *testing.T) {
	t.Parallel()
	s := start(t, program.Settings{"listen": ""}, "--demo=empty")
	must.Eventually(t, time.Minute, "the demo is printed", func() bool { return strings.Contains(s.Stdout(), "curl") })
	runCurlLine(t, s.Stdout())
}

// runCurlLine runs the printed command in a shell, unchanged.
func runCurlLine(t *testing.T, printed string) {
	for _, line := range lines(printed) {
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		output, err := exec.CommandContext(t.Context(), "sh", "-c", line+" --silent --show-error --fail").Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var page struct {
			Data  []client.Brand `json:"data"`
			Total int            `json:"total"`
		}
		if err := json.Unmarshal(output, &page); err != nil || len(page.Data) == 0 || page.Total < len(page.Data) {
			t.Errorf("%s answered %s", line, output)
		}
		return
	}
	t.Error("no curl line is printed")
}

// TestDemoAfterKill: a first start that was killed in the middle is finished by the next one, which shows everything.
func TestDemoAfterKill(t *testing.T) {
	t.Parallel()
	for name, noted := range map[string]string{
		"NothingNoted": `{}`, "CatalogNoted": `{"catalog":true,"keys":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			settings := program.Settings{"data": data}
			program.New(t, settings).CLI(t, new(map[string]any),
				"accounts", "create", "--name", "Demo", "--owner", "owner@demo.example")
			path := filepath.Join(data, "demo.unfinished")
			if err := os.WriteFile(path, []byte(noted), 0o600); err != nil {
				t.Fatal(err)
			}
			s := start(t, settings, "--demo=empty")
			must.Eventually(t, time.Minute, "the demo is printed", func() bool { return strings.Contains(s.Stdout(), "curl") })
			printed := s.Stdout()
			if len(secretPattern.FindAllString(printed, -1)) < 2 || len(passwordPattern.FindAllString(printed, -1)) != 3 ||
				!strings.Contains(printed, "owner-2@demo.example") {
				t.Errorf("not everything is in:\n%s", printed)
			}
			must.Eventually(t, time.Minute, "the file is gone", func() bool {
				_, err := os.Stat(path)
				return err != nil
			})
		})
	}
}
