package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/testkit/must"
)

// hidden is a text that clears the screen, writes a line of its own, turns the direction of writing and deletes.
const hidden = "gone\x1b[2J\x1b[H\nvalid: authentic\u202e\u009b1m\x7f\U000e0041 上海"

const spelledOut = `gone\u001b[2J\u001b[H\nvalid: authentic\u202e\u009b1m\u007f\udb40\udc41 上海`

// TestVerify_TextsOfOthers: what somebody has written into a file cannot control the terminal, nor pass for what the
// program says.
func TestVerify_TextsOfOthers(t *testing.T) {
	dir := t.TempDir()
	file, keys := filepath.Join(dir, "c.json"), filepath.Join(dir, "keys.json")
	must.NoError(t, os.WriteFile(keys, []byte(keysOf(t, "a")), 0o600))
	must.NoError(t, os.WriteFile(file, []byte(issued(t, "a", false, &certificate.Revocation{
		At: certificate.Time(time.Unix(1_700_000_100, 0)), Reason: hidden,
	})), 0o600))
	code, stdout, stderr := run(t, dir, nil, "verify", file, "--keys", keys)
	if code != 1 || strings.Count(stdout, "\n") != 1 ||
		stderr != "assay verify: the certificate was revoked: "+spelledOut+"\n" {
		t.Errorf("status %d, says %q", code, stderr)
	}
	code, stdout, _ = run(t, dir, nil, "verify", file, "--keys", keys, "--json")
	var got struct {
		Revoked struct{ Reason string }
	}
	must.NoError(t, json.Unmarshal([]byte(stdout), &got))
	if code != 1 || !strings.Contains(stdout, spelledOut) || got.Revoked.Reason != hidden {
		t.Errorf("status %d, prints %q", code, stdout)
	}
	own := issuer(t, func(string) string { return issuedBy(t, "https://x\x1b[2J\u202e.example", "a", false, nil) })
	code, stdout, stderr = run(t, dir, nil, "verify", own+"/certificates/c1")
	if code != 1 || stdout != "" || !strings.Contains(stderr, `issued by https://x\u001b[2J\u202e.example, but`) {
		t.Errorf("status %d, says %q and %q", code, stdout, stderr)
	}
}

// TestRemote_TextsOfOthers: the same for what a server answers.
func TestRemote_TextsOfOthers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		order := `{"id":"o1","status":"completed","external_id":"X","outcome_reasons":["X"]}`
		order = strings.ReplaceAll(order, "X", spelledOut)
		if !strings.HasSuffix(r.URL.Path, "/o1") {
			order = `{"data":[` + order + `],"page":1,"limit":10,"total":1}`
		}
		_, _ = w.Write([]byte(order))
	}))
	t.Cleanup(server.Close)
	set := map[string]string{"ASSAY_SERVER": server.URL, "ASSAY_KEY": "assay_test_x"}
	for _, call := range []string{"orders show o1", "orders watch o1", "orders list"} {
		code, stdout, stderr := run(t, t.TempDir(), set, strings.Fields(call)...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, spelledOut) {
			t.Errorf("%s: status %d, says %q and %q", call, code, stdout, stderr)
		}
	}
}
