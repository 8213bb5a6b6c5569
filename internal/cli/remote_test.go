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
