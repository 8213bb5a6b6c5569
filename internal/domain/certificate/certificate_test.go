package certificate_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/text"
)

func signer(t *testing.T, seed byte) *certificate.Signer {
	t.Helper()
	s, err := certificate.NewSigner(bytes.Repeat([]byte{seed}, 32), false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func example() *certificate.Certificate {
	return &certificate.Certificate{
		ID:          "abc",
		URL:         "https://assay.test/certificates/abc",
		Issuer:      "https://assay.test",
		IssuedAt:    certificate.Time(time.Date(2025, 3, 1, 9, 0, 0, 0, time.UTC)),
		OrderNumber: "AS-12345678",
		Outcome:     "authentic",
		Item: certificate.Item{
			Category: certificate.Name{Code: "bags", Text: text.Text{EN: "Bags", JA: "バッグ"}},
			Brand:    certificate.Name{Code: "x", Text: text.Text{EN: `"X" & <Y>`}},
			Model:    &certificate.Name{Code: "m", Text: text.Text{EN: "Model", JA: "モデル"}},
		},
		Photos: []certificate.Photo{{IndexCode: "front", Name: text.Text{EN: "Front"}, SHA256: strings.Repeat("a", 64)}},
	}
}

func file(t *testing.T, s *certificate.Signed) []byte {
	t.Helper()
	b, err := s.File()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestVerify(t *testing.T) {
	s := signer(t, 1)
	keys := certificate.KeySet{signer(t, 9).Key(), s.Key()}
	signed, err := s.Sign(example())
	if err != nil {
		t.Fatal(err)
	}
	good := file(t, signed)

	t.Run("Good", func(t *testing.T) {
		r, err := certificate.Verify(good, keys)
		if err != nil {
			t.Fatal(err)
		}
		if r.Certificate.OrderNumber != "AS-12345678" || r.Certificate.Item.Brand.EN != `"X" & <Y>` ||
			r.KeyID != s.Key().ID || r.Revoked != nil {
			t.Errorf("result = %+v", r)
		}
		if got := r.Certificate.Item.Title(text.Japanese); got != `"X" & <Y> モデル` {
			t.Errorf("title %q", got)
		}
	})
	t.Run("ReformattedIsTheSame", func(t *testing.T) {
		var any map[string]any
		if err := json.Unmarshal(good, &any); err != nil {
			t.Fatal(err)
		}
		again, err := json.MarshalIndent(any, "\t", "   ")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := certificate.Verify(again, keys); err != nil {
			t.Error(err)
		}
	})
	t.Run("Revoked", func(t *testing.T) {
		revoked := *signed
		revoked.Revoked = &certificate.Revocation{At: certificate.Time(time.Unix(0, 0)), Reason: "mistake"}
		r, err := certificate.Verify(file(t, &revoked), keys)
		if err != nil || r.Revoked == nil || r.Revoked.Reason != "mistake" {
			t.Errorf("Verify = %+v, %v", r, err)
		}
	})
	t.Run("EveryChangeIsFound", func(t *testing.T) {
		document := string(signed.Document)
		for i := range document {
			if document[i] == 'x' {
				continue
			}
			changed := *signed
			changed.Document = []byte(document[:i] + "x" + document[i+1:])
			b, err := changed.File()
			if err != nil {
				continue // no longer JSON
			}
			if _, err := certificate.Verify(b, keys); err == nil {
				t.Fatalf("a change at %d is not found: %s", i, changed.Document)
			}
		}
	})
	t.Run("OtherKey", func(t *testing.T) {
		if _, err := certificate.Verify(good, certificate.KeySet{signer(t, 9).Key()}); !errors.Is(err,
			certificate.ErrUnknownKey) {
			t.Errorf("Verify = %v", err)
		}
		forged, err := signer(t, 9).Sign(example())
		if err != nil {
			t.Fatal(err)
		}
		forged.KeyID = s.Key().ID
		if _, err := certificate.Verify(file(t, forged), keys); !errors.Is(err, certificate.ErrSignature) {
			t.Errorf("Verify = %v", err)
		}
	})
	t.Run("Malformed", func(t *testing.T) {
		double := strings.Replace(string(good), `"test": false`, `"test": false, "test": false`, 1)
		for name, bad := range map[string]string{
			"empty":   "",
			"null":    "null",
			"array":   "[]",
			"object":  "{}",
			"half":    string(good[:len(good)/2]),
			"two":     string(good) + string(good),
			"double":  double,
			"unknown": strings.Replace(string(good), `"revoked"`, `"more": 1, "revoked"`, 1),
			"float":   strings.Replace(string(good), `"version": 1`, `"version": 1.0`, 1),
			"deep":    strings.Repeat("[", 100),
			"utf8":    "\xff",
			"large":   strings.Repeat(" ", 2<<20),
		} {
			if _, err := certificate.Verify([]byte(bad), keys); !errors.Is(err, certificate.ErrMalformed) {
				t.Errorf("%s: Verify = %v, want ErrMalformed", name, err)
			}
		}
	})
	t.Run("OtherVersion", func(t *testing.T) {
		seed := bytes.Repeat([]byte{1}, 32)
		document := []byte(`{"type":"assay-certificate","version":2}`)
		later := &certificate.Signed{
			Document: document, KeyID: s.Key().ID, Signature: ed25519.Sign(ed25519.NewKeyFromSeed(seed), document),
		}
		if _, err := certificate.Verify(file(t, later), keys); !errors.Is(err, certificate.ErrMalformed) {
			t.Errorf("Verify = %v", err)
		}
	})
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : 1 , "a" : [ true , null , "x" ] } `: `{"a":[true,null,"x"],"b":1}`,
		`"\u00e9\u0000\n\/\u2028<&>"`:                 "\"é\\u0000\\n/\u2028<&>\"",
		`{"\ue000":1,"\ud83d\ude00":2}`:               "{\"\U0001F600\":2,\"\ue000\":1}", // by UTF-16, not by code point
		`-12`:                                         "-12",
		`{}`:                                          "{}",
		`[]`:                                          "[]",
	} {
		got, err := certificate.Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("Canonical(%s) = %s, %v; want %s", in, got, err, want)
		}
		again, err := certificate.Canonical(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("canonical form of %s is not stable: %s, %v", got, again, err)
		}
	}
	for _, in := range []string{
		"", "1.5", "1e3", "-0", "9007199254740993", `{"a":1,"a":1}`, "1 2", `{"a"}`, "{1:2}", "[1,]", "\"\xff\"",
	} {
		if got, err := certificate.Canonical([]byte(in)); err == nil {
			t.Errorf("Canonical(%q) = %s, want an error", in, got)
		}
	}
}

func TestKeySet(t *testing.T) {
	keys := certificate.KeySet{signer(t, 1).Key(), signer(t, 2).Key()}
	b, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	again, err := certificate.ParseKeys(b)
	if err != nil || len(again) != 2 || again[1].ID != keys[1].ID || !again[0].Public.Equal(keys[0].Public) {
		t.Errorf("ParseKeys = %v, %v", again, err)
	}
	// The example of RFC 8037, appendix A.3.
	rfc := `{"keys":[{"kty":"EC","crv":"P-256"},{"kty":"OKP","crv":"Ed25519",` +
		`"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"}]}`
	if got, err := certificate.ParseKeys([]byte(rfc)); err != nil || len(got) != 1 {
		t.Errorf("the thumbprint is not that of the RFC: %v, %v", got, err)
	}
	for _, bad := range []string{
		"", "{}", `{"keys":[]}`, strings.Replace(rfc, "kPrK", "kPrX", 1), strings.Replace(rfc, "11qY", "", 1),
	} {
		if _, err := certificate.ParseKeys([]byte(bad)); err == nil {
			t.Errorf("ParseKeys(%s) succeeds", bad)
		}
	}
}

func FuzzVerify(f *testing.F) {
	s, err := certificate.NewSigner(make([]byte, 32), false)
	if err != nil {
		f.Fatal(err)
	}
	signed, err := s.Sign(example())
	if err != nil {
		f.Fatal(err)
	}
	good, err := signed.File()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := certificate.Verify(b, certificate.KeySet{s.Key()})
		if err != nil {
			return
		}
		again, err := json.Marshal(r.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if document, err := certificate.Canonical(again); err != nil || !bytes.Equal(document, signed.Document) {
			t.Errorf("another document passes: %s", document)
		}
	})
}
