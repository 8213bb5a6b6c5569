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
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// issued returns a signed certificate file.
func issued(t *testing.T, seed string, test bool, revoked *certificate.Revocation) string {
	t.Helper()
	return issuedBy(t, "https://assay.example", seed, test, revoked)
}

func issuedBy(t *testing.T, issuer, seed string, test bool, revoked *certificate.Revocation) string {
	t.Helper()
	signer := newSigner(t, seed, test)
	name := func(s string) certificate.Name { return certificate.Name{Code: s, Text: text.Text{EN: s}} }
	signed, err := signer.Sign(&certificate.Certificate{
		ID:          "c1",
		URL:         issuer + "/certificates/c1",
		Issuer:      issuer,
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
	keys := keysOf(t, "a")
	good := issued(t, "a", false, nil)
	revoked := issued(t, "a", true, &certificate.Revocation{
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
			[]string{
				"valid: authentic, prada bags, order AS-12345678, issued by https://assay.example (status unknown)",
			},
			[]string{"not known whether", "https://assay.example/certificates/c1"},
		},
		{
			"Test", issued(t, "a", true, nil), 1,
			[]string{"test: ", "(TEST: no item was examined)"},
			[]string{"--allow-test"},
		},
		{"Revoked", revoked, 1, []string{"revoked: authentic", "TEST"}, []string{"was revoked: exchanged"}},
		{
			"Changed", strings.Replace(good, "prada", "gucci", 1), 1, nil,
			[]string{"the signature is wrong: the certificate was changed"},
		},
		{
			"TestTakenAway", strings.Replace(issued(t, "a", true, nil), `"test": true`, `"test": false`, 1), 1, nil,
			[]string{"the signature is wrong"},
		},
		{"OtherKey", issued(t, "b", false, nil), 1, nil, []string{"a key that is not in the key set"}},
		{"NoCertificate", `{"hello": 1}`, 1, nil, []string{"this is not a certificate file"}},
		{
			"TwoReadings", strings.Replace(good, `"outcome"`, `"outcome": "x", "outcome"`, 1), 1, nil,
			[]string{"this is not a certificate file"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(c.name+".json", c.file)
			code, stdout, stderr := run(t, dir, nil, "verify", path, "--offline", "--keys", keyFile)
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
			Status      string                   `json:"status"`
			KeyID       string                   `json:"key_id"`
			Revoked     *certificate.Revocation  `json:"revoked"`
			Certificate *certificate.Certificate `json:"certificate"`
		}
		code, stdout, _ := run(t, dir, nil, "verify", write("r.json", revoked), "--keys", keyFile, "--json")
		only(t, stdout, &got)
		if code != 1 || got.OK || got.State != "revoked" || got.Status != "revoked" ||
			got.Revoked.Reason != "exchanged" || !got.Certificate.Test {
			t.Errorf("status %d, %+v", code, got)
		}
	})
	t.Run("AllowTest", func(t *testing.T) {
		path := write("test.json", issued(t, "a", true, nil))
		code, stdout, _ := run(t, dir, nil, "verify", path, "--keys", keyFile, "--offline", "--allow-test")
		if code != 0 || !strings.HasPrefix(stdout, "valid: ") || !strings.Contains(stdout, "TEST") {
			t.Errorf("status %d, says %q", code, stdout)
		}
	})
	t.Run("LiveWithTheTestKey", func(t *testing.T) {
		signer := newSigner(t, "a", false)
		set, err := json.Marshal(certificate.KeySet{{ID: signer.Key().ID, Public: signer.Key().Public, Test: true}})
		must.NoError(t, err)
		code, stdout, stderr := run(t, dir, nil, "verify", write("l.json", good), "--keys", write("t.json", string(set)))
		if code != 1 || stdout != "" || !strings.Contains(stderr, "the key of Live certificates") {
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

// issuer serves the certificate c1 of itself, and its keys.
func issuer(t *testing.T, file func(origin string) string) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/certificates/c1.json":
			_, _ = w.Write([]byte(file(server.URL)))
		case "/.well-known/assay-certificate-keys.json":
			_, _ = w.Write([]byte(keysOf(t, "a")))
		case "/certificates/away.json":
			http.Redirect(w, r, "https://assay.example/certificates/c1.json", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// TestVerifyURL checks whom verify believes.
func TestVerifyURL(t *testing.T) {
	dir := t.TempDir()
	var revoked *certificate.Revocation
	own := issuer(t, func(origin string) string { return issuedBy(t, origin, "a", false, revoked) })
	impostor := issuer(t, func(string) string { return issued(t, "a", false, nil) })
	failing := func(t *testing.T, want string, args ...string) {
		t.Helper()
		code, stdout, stderr := run(t, dir, nil, append([]string{"verify"}, args...)...)
		if code != 1 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("status %d, says %q and %q, want %q", code, stdout, stderr, want)
		}
	}
	for _, form := range []string{"", ".json", ".pdf"} {
		t.Run("Own"+form, func(t *testing.T) {
			code, stdout, stderr := run(t, dir, nil, "verify", own+"/certificates/c1"+form)
			if code != 0 || !strings.HasPrefix(stdout, "valid") || strings.Contains(stdout, "unknown") || stderr != "" {
				t.Errorf("status %d, says %q and %q", code, stdout, stderr)
			}
		})
	}
	t.Run("OtherIssuer", func(t *testing.T) {
		failing(t, "issued by https://assay.example, but it is from http://127.0.0.1", impostor+"/certificates/c1")
	})
	t.Run("Missing", func(t *testing.T) { failing(t, "404", own+"/certificates/c2") })
	t.Run("PlainHTTP", func(t *testing.T) { failing(t, "must be https", "http://assay.example/certificates/c1") })
	t.Run("LeadsElsewhere", func(t *testing.T) { failing(t, "another origin", own+"/certificates/away") })
	t.Run("KeysOfAnotherOrigin", func(t *testing.T) {
		failing(t, "one origin", own+"/certificates/c1", "--keys", "https://keys.example/keys.json")
	})
	t.Run("FileIsLookedUp", func(t *testing.T) {
		path, keys := filepath.Join(dir, "saved.json"), filepath.Join(dir, "keys.json")
		must.NoError(t, os.WriteFile(path, []byte(issuedBy(t, own, "a", false, nil)), 0o600))
		must.NoError(t, os.WriteFile(keys, []byte(keysOf(t, "a")), 0o600))
		code, stdout, stderr := run(t, dir, nil, "verify", path, "--keys", keys)
		if code != 0 || strings.Contains(stdout, "unknown") {
			t.Errorf("status %d, says %q and %q", code, stdout, stderr)
		}
		revoked = &certificate.Revocation{At: certificate.Time(time.Unix(1_700_000_100, 0)), Reason: "exchanged"}
		code, stdout, stderr = run(t, dir, nil, "verify", path, "--keys", keys)
		if code != 1 || !strings.HasPrefix(stdout, "revoked") || !strings.Contains(stderr, "exchanged") {
			t.Errorf("revoked since: status %d, says %q and %q", code, stdout, stderr)
		}
		must.NoError(t, os.WriteFile(path,
			[]byte(strings.ReplaceAll(issuedBy(t, own, "a", false, nil), "/certificates/c1", "/certificates/c2")), 0o600))
		failing(t, "the signature is wrong", path, "--keys", keys)
	})
}

// TestVerifyHere checks a file at the installation that has issued it.
func TestVerifyHere(t *testing.T) {
	data := t.TempDir()
	must.NoError(t, os.WriteFile(filepath.Join(data, "secret.key"), []byte(shop.SecretKey+"\n"), 0o600))
	s := shop.New(t, filepath.Join(data, "assay.db"))
	o, err := s.Store.Order(t.Context(), s.Order(t, s.Test, order.MockAuthentic))
	must.NoError(t, err)
	row, err := s.Service.Certificate(t.Context(), o.CertificateID)
	must.NoError(t, err)
	file, err := row.File()
	must.NoError(t, err)
	path := filepath.Join(t.TempDir(), "c.json")
	must.NoError(t, os.WriteFile(path, file, 0o600))
	code, stdout, stderr := run(t, data, nil, "verify", path, "--allow-test")
	if code != 0 || !strings.HasPrefix(stdout, "valid") || strings.Contains(stdout, "unknown") {
		t.Errorf("status %d, says %q and %q", code, stdout, stderr)
	}
	rawsql.Exec(t, s.Target, "UPDATE certificates SET revoked_at = 1, revoked_reason = 'swapped'")
	code, stdout, stderr = run(t, data, nil, "verify", path, "--allow-test")
	if code != 1 || !strings.HasPrefix(stdout, "revoked") || !strings.Contains(stderr, "swapped") {
		t.Errorf("revoked: status %d, says %q and %q", code, stdout, stderr)
	}
	rawsql.Exec(t, s.Target, "DELETE FROM certificates")
	if code, _, stderr := run(t, data, nil, "verify", path, "--allow-test"); code != 1 ||
		!strings.Contains(stderr, "no such certificate") {
		t.Errorf("unknown: status %d, says %q", code, stderr)
	}
}

func newSigner(t *testing.T, seed string, test bool) *certificate.Signer {
	t.Helper()
	if test {
		seed = strings.ToUpper(seed)
	}
	s, err := certificate.NewSigner([]byte(strings.Repeat(seed, 32)), test)
	must.NoError(t, err)
	return s
}

func keysOf(t *testing.T, seed string) string {
	t.Helper()
	keys, err := json.Marshal(certificate.KeySet{newSigner(t, seed, false).Key(), newSigner(t, seed, true).Key()})
	must.NoError(t, err)
	return string(keys)
}
