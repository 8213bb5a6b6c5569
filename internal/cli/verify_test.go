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
	"github.com/assayhq/assay/internal/domain/text"
)

// issued returns a signed certificate file.
func issued(t *testing.T, signer *certificate.Signer, test bool, revoked *certificate.Revocation) string {
	t.Helper()
	name := func(s string) certificate.Name { return certificate.Name{Code: s, Text: text.Text{EN: s}} }
	signed, err := signer.Sign(&certificate.Certificate{
		ID:          "c1",
		URL:         "https://assay.example/certificates/c1",
		Issuer:      "https://assay.example",
		IssuedAt:    certificate.Time(time.Unix(1_700_000_000, 0)),
		OrderNumber: "AS-12345678",
		Outcome:     "authentic",
		Test:        test,
		Item:        certificate.Item{Category: name("bags"), Brand: name("prada")},
		Photos:      []certificate.Photo{},
	})
	if err != nil {
		t.Fatal(err)
	}
	signed.Revoked = revoked
	file, err := signed.File()
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}

// TestVerify checks the text, the JSON and the exit status of verify.
func TestVerify(t *testing.T) {
	signer, otherSigner := newSigner(t, "a"), newSigner(t, "b")
	keys := keysOf(t, signer)
	good := issued(t, signer, false, nil)
	revoked := issued(t, signer, true, &certificate.Revocation{
		At:     certificate.Time(time.Unix(1_700_000_100, 0)),
		Reason: "exchanged",
	})
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keyFile := write("keys.json", keys)
	for _, c := range []struct {
		name, file     string
		code           int
		stdout, stderr []string
	}{
		{
			"Valid", good, 0,
			[]string{"valid: authentic, prada bags, order AS-12345678, issued by https://assay.example"},
			[]string{"offline", "https://assay.example/certificates/c1"},
		},
		{"Test", issued(t, signer, true, nil), 0, []string{"valid", "(TEST: no item was examined)"}, nil},
		{"Revoked", revoked, 1, []string{"revoked: authentic", "TEST"}, []string{"was revoked: exchanged"}},
		{
			"Changed", strings.Replace(good, "prada", "gucci", 1), 1, nil,
			[]string{"the signature is wrong: the certificate was changed"},
		},
		{
			"TestTakenAway", strings.Replace(issued(t, signer, true, nil), `"test": true`, `"test": false`, 1), 1, nil,
			[]string{"the signature is wrong"},
		},
		{"OtherKey", issued(t, otherSigner, false, nil), 1, nil, []string{"a key that is not in the key set"}},
		{"NoCertificate", `{"hello": 1}`, 1, nil, []string{"this is not a certificate file"}},
		{
			"TwoReadings", strings.Replace(good, `"outcome"`, `"outcome": "x", "outcome"`, 1), 1, nil,
			[]string{"this is not a certificate file"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(c.name+".json", c.file)
			code, stdout, stderr := run(t, dir, nil, "verify", path, "--keys", keyFile)
			if code != c.code || (len(c.stdout) == 0) != (stdout == "") {
				t.Errorf("status %d, says %q and %q", code, stdout, stderr)
			}
			for _, want := range c.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("standard output lacks %q: %q", want, stdout)
				}
			}
			for _, want := range c.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("standard error lacks %q: %q", want, stderr)
				}
			}
		})
	}
	t.Run("JSON", func(t *testing.T) {
		var got struct {
			OK          bool                     `json:"ok"`
			State       string                   `json:"state"`
			KeyID       string                   `json:"key_id"`
			Revoked     *certificate.Revocation  `json:"revoked"`
			Certificate *certificate.Certificate `json:"certificate"`
		}
		code, stdout, _ := run(t, dir, nil, "verify", write("r.json", revoked), "--keys", keyFile, "--json")
		only(t, stdout, &got)
		if code != 1 || got.OK || got.State != "revoked" || got.Revoked.Reason != "exchanged" || !got.Certificate.Test {
			t.Errorf("status %d, %+v", code, got)
		}
	})
	t.Run("URL", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/certificates/c1.json":
				_, _ = w.Write([]byte(good))
			case "/.well-known/assay-certificate-keys.json":
				_, _ = w.Write([]byte(keys))
			default:
				http.NotFound(w, r)
			}
		}))
		t.Cleanup(server.Close)
		for _, form := range []string{"", ".json", ".pdf"} {
			if code, stdout, stderr := run(t, dir, nil, "verify", server.URL+"/certificates/c1"+form); code != 0 ||
				!strings.HasPrefix(stdout, "valid") || stderr != "" {
				t.Errorf("%q: status %d, says %q and %q", form, code, stdout, stderr)
			}
		}
		if code, stdout, stderr := run(t, dir, nil, "verify", server.URL+"/certificates/c2"); code != 1 || stdout != "" ||
			!strings.Contains(stderr, "404") {
			t.Errorf("status %d, says %q and %q", code, stdout, stderr)
		}
	})
	t.Run("NoFile", func(t *testing.T) {
		if code, _, stderr := run(t, dir, nil, "verify", filepath.Join(dir, "nothing"), "--keys", keyFile); code != 1 ||
			!strings.Contains(stderr, "no such file") {
			t.Errorf("status %d, says %q", code, stderr)
		}
	})
}

func newSigner(t *testing.T, seed string) *certificate.Signer {
	t.Helper()
	s, err := certificate.NewSigner([]byte(strings.Repeat(seed, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keysOf(t *testing.T, s *certificate.Signer) string {
	t.Helper()
	keys, err := json.Marshal(certificate.KeySet{s.Key()})
	if err != nil {
		t.Fatal(err)
	}
	return string(keys)
}
