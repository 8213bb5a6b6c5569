package cli_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayhq/assay/internal/cli"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestRemote_NoAnswer checks that a command does not wait for ever for a server that takes requests and answers none.
func TestRemote_NoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }()
			return near, nil
		}}
		useTransport(t, silent)
		set := map[string]string{"ASSAY_SERVER": "http://assay.example", "ASSAY_KEY": "assay_test_x"}
		began := time.Now()
		code, _, stderr := run(t, t.TempDir(), set, "balance")
		if waited := time.Since(began); code != 1 || !strings.Contains(stderr, "timeout") || waited > 5*time.Minute {
			t.Errorf("status %d after %s, says %q", code, waited, stderr)
		}
	})
}

// TestRemote_Server checks that a server may be named with the prefix of the API.
func TestRemote_Server(t *testing.T) {
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		_, _ = io.WriteString(w, `{"availableCredits":1}`)
	}))
	t.Cleanup(server.Close)
	for _, suffix := range []string{"", "/", "/v1/integrations", "/v1/integrations/"} {
		set := map[string]string{"ASSAY_SERVER": server.URL + suffix, "ASSAY_KEY": "assay_test_x"}
		code, _, stderr := run(t, t.TempDir(), set, "balance")
		if code != 0 || path != "/v1/integrations/balance" {
			t.Errorf("%q: status %d, asks for %s, says %q", suffix, code, path, stderr)
		}
	}
}

// TestUpload_Files checks that all arguments after -- are files, and that refused ones are named.
func TestUpload_Files(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"s.jpg", "-x.jpg"} {
		must.NoError(t, os.WriteFile(filepath.Clean(name), []byte("photo"), 0o600))
	}
	const refusal = `{"statusCode":400,"code":"INVALID_FILE_TYPE","message":"The file is not an image."`
	stored := 0 // files that the server takes
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		must.NoError(t, r.ParseMultipartForm(1<<20))
		var results []string
		for i, file := range r.MultipartForm.File["photos"] {
			result := fmt.Sprintf(`"status":"failed","error":%s}`, refusal)
			if i < stored {
				result = `"status":"uploaded","url":"https://assay.example/p.jpg"`
			}
			results = append(results, fmt.Sprintf(`{"original_name":%q,%s}`, file.Filename, result))
		}
		data := `"data":[` + strings.Join(results, ",") + `]}`
		w.Header().Set("Content-Type", "application/json")
		if stored == 0 {
			w.WriteHeader(http.StatusBadRequest)
			data = refusal + `,"details":{` + data + `}`
		} else {
			data = "{" + data
		}
		_, _ = io.WriteString(w, data)
	}))
	t.Cleanup(server.Close)
	set := map[string]string{"ASSAY_SERVER": server.URL, "ASSAY_KEY": "assay_test_x"}
	for stored = range 3 {
		code, stdout, stderr := run(t, t.TempDir(), set, "photos", "upload", "--profile", "p", "--", "s.jpg", "-x.jpg")
		if strings.Count(stdout, "https://assay.example/p.jpg") != stored || (code == 0) != (stored == 2) {
			t.Errorf("of %d stored files: status %d, says %q and %q", stored, code, stdout, stderr)
		}
		for i, name := range []string{"s.jpg", "-x.jpg"} {
			if want := name + ": 400 INVALID_FILE_TYPE"; strings.Contains(stderr, want) != (i >= stored) {
				t.Errorf("of %d stored files it says %q", stored, stderr)
			}
		}
	}
	stored = 0
	create := strings.Fields("orders create --category c --brand b --photo p=s.jpg")
	code, _, stderr := run(t, t.TempDir(), set, create...)
	if code != 1 || !strings.Contains(stderr, "s.jpg: 400 INVALID_FILE_TYPE") {
		t.Errorf("status %d, says %q", code, stderr)
	}
}

// TestLogin_NoProfiles checks that a file of no profiles is one like any other.
func TestLogin_NoProfiles(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"availableCredits":1}`)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "config.json")
	must.NoError(t, os.WriteFile(file, []byte(`{"profiles":null}`), 0o600))
	set := map[string]string{"ASSAY_SERVER": server.URL, "ASSAY_KEY": "assay_test_x", "ASSAY_CONFIG": file}
	if code, _, stderr := run(t, t.TempDir(), set, "login"); code != 0 {
		t.Errorf("status %d, says %q", code, stderr)
	}
}

// TestLogin_Key checks which key is kept: that of a file on standard input, then that of ASSAY_KEY. What else is on
// standard input may never end, and is read only where there is no variable.
func TestLogin_Key(t *testing.T) {
	var used string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		used = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		_, _ = io.WriteString(w, `{"availableCredits":1}`)
	}))
	t.Cleanup(server.Close)
	const input, variable = "assay_live_x", "assay_test_x"
	written := filepath.Join(t.TempDir(), "live.key")
	must.NoError(t, os.WriteFile(written, []byte(input+"\n"), 0o600))
	file, err := os.Open(filepath.Clean(written))
	must.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	other := filepath.Join(t.TempDir(), "script.sh")
	must.NoError(t, os.WriteFile(other, []byte("assay login\n"), 0o600))
	script, err := os.Open(filepath.Clean(other))
	must.NoError(t, err)
	t.Cleanup(func() { _ = script.Close() })
	endless, _ := io.Pipe()
	for _, c := range []struct {
		name     string
		stdin    io.Reader
		variable string
		want     string
		hint     bool
	}{
		{name: "Input", stdin: strings.NewReader(input + "\n"), want: input},
		{name: "File", stdin: file, variable: variable, want: input, hint: true},
		{name: "Script", stdin: script, variable: variable, want: variable},
		{name: "Endless", stdin: endless, variable: variable, want: variable},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.json")
			set := map[string]string{"ASSAY_SERVER": server.URL, "ASSAY_KEY": c.variable, "ASSAY_CONFIG": file}
			var said strings.Builder
			code := cli.Run(t.Context(), []string{"login"}, cli.IO{
				Stdin: c.stdin, Stdout: io.Discard, Stderr: &said,
				LookupEnv: func(name string) (string, bool) { return set[name], set[name] != "" },
			})
			kept, err := os.ReadFile(filepath.Clean(file))
			must.NoError(t, err)
			if code != 0 || used != c.want || !strings.Contains(string(kept), c.want) {
				t.Errorf("status %d, tried %q, kept %s, says %q", code, used, kept, said.String())
			}
			if strings.Contains(said.String(), "ASSAY_KEY is set to another key") != c.hint {
				t.Errorf("says %q", said.String())
			}
		})
	}
}
