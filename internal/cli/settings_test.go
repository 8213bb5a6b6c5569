package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
)

// TestSettings checks flags, environment variables and their errors.
func TestSettings(t *testing.T) {
	t.Run("FlagWinsOverEnvironment", func(t *testing.T) {
		set := map[string]string{"ASSAY_LOG_FORMAT": "xml"}
		if code, _, stderr := run(t, t.TempDir(), set, "catalog", "export"); code == 0 ||
			!strings.Contains(stderr, "--log-format must be text or json") {
			t.Errorf("the environment does not count: status %d, %s", code, stderr)
		}
		if code, _, stderr := run(t, t.TempDir(), set, "staff", "create", "--email", "a@b.example", "--name", "A", "--role",
			"admin", "--log-format", "json"); code != 0 {
			t.Errorf("the flag does not win: status %d, %s", code, stderr)
		}
	})
	t.Run("BrokenEnvironment", func(t *testing.T) {
		set := map[string]string{"ASSAY_WEBHOOK_TIMEOUT": "soon"}
		if code, _, stderr := run(t, t.TempDir(), set, "catalog", "export"); code == 0 ||
			!strings.Contains(stderr, `ASSAY_WEBHOOK_TIMEOUT: "soon" is not a duration such as 90s`) {
			t.Errorf("status %d, %s", code, stderr)
		}
	})
	t.Run("FlagWinsOverBrokenEnvironment", func(t *testing.T) {
		key := filepath.Join(t.TempDir(), "key")
		must.NoError(t, os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600))
		set := map[string]string{
			"ASSAY_WEBHOOK_TIMEOUT": "soon", "ASSAY_SECRET_KEY_FILE": filepath.Join(t.TempDir(), "nothing"),
			"ASSAY_SECRET_KEY": "short",
		}
		begin := []string{"staff", "create", "--email", "a@b.example", "--name", "A", "--role", "admin"}
		begin = append(begin, "--webhook-timeout", "5s")
		if code, _, stderr := run(t, t.TempDir(), set, append(begin, "--secret-key-file", key)...); code != 0 {
			t.Errorf("status %d, %s", code, stderr)
		}
		if code, _, stderr := run(t, t.TempDir(), set, begin...); code != 2 ||
			!strings.Contains(stderr, "ASSAY_SECRET_KEY and ASSAY_SECRET_KEY_FILE are both set") {
			t.Errorf("both set: status %d, %s", code, stderr)
		}
		for _, plain := range []string{"version", "completion bash", "serve --help"} {
			if code, stdout, stderr := run(t, t.TempDir(), set, strings.Fields(plain)...); code != 0 || stdout == "" {
				t.Errorf("%s: status %d, %s", plain, code, stderr)
			}
		}
	})
	t.Run("EmptyEnvironment", func(t *testing.T) {
		key := filepath.Join(t.TempDir(), "key")
		must.NoError(t, os.WriteFile(key, []byte(strings.Repeat("k", 32)), 0o600))
		set := map[string]string{
			"ASSAY_PPROF": "", "ASSAY_WEBHOOK_TIMEOUT": "", "ASSAY_MAX_KEYS": "", "ASSAY_MAX_PHOTO_BYTES": "", "ASSAY_ROLES": "",
			"ASSAY_SECRET_KEY": "", "ASSAY_SECRET_KEY_FILE": key, "ASSAY_OPS_LISTEN": "",
		}
		begin := []string{"accounts", "create", "--name", "A", "--owner", "a@a.example"}
		if code, _, stderr := run(t, t.TempDir(), set, begin...); code != 0 {
			t.Errorf("status %d, %s", code, stderr)
		}
		if code, _, stderr := run(t, t.TempDir(), set, "healthcheck"); code != 1 ||
			!strings.Contains(stderr, "--ops-listen is off") {
			t.Errorf("a setting that can be empty: status %d, %s", code, stderr)
		}
	})
	t.Run("LargeSizes", func(t *testing.T) {
		for _, size := range []string{"3000GB", "3TB", "8000000TiB"} {
			if code, _, stderr := run(t, t.TempDir(), nil, "version", "--max-stored-bytes", size); code != 0 {
				t.Errorf("status %d, %s", code, stderr)
			}
		}
	})
	t.Run("TwoCertificates", func(t *testing.T) {
		both := []string{"serve", "--tls-domain", "a.example", "--tls-cert", "c", "--tls-key", "k"}
		if code, _, stderr := run(t, t.TempDir(), nil, both...); code != 1 ||
			!strings.Contains(stderr, "--tls-domain gets certificates by itself: give it, or --tls-cert and --tls-key") {
			t.Errorf("status %d, %s", code, stderr)
		}
	})
	t.Run("SecretKeyWithDatabase", func(t *testing.T) {
		if code, _, stderr := run(t, t.TempDir(), nil, "catalog", "export", "--database", "postgres://x"); code == 0 ||
			!strings.Contains(stderr, "--secret-key is required") {
			t.Errorf("status %d, %s", code, stderr)
		}
	})
	t.Run("MediaURLMustBeHTTPS", func(t *testing.T) {
		if code, _, stderr := run(t, t.TempDir(), nil, "catalog", "export", "--media-url", "http://x/"); code == 0 ||
			!strings.Contains(stderr, "--media-url") {
			t.Errorf("status %d, %s", code, stderr)
		}
	})
}
