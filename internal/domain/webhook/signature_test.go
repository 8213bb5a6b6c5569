package webhook

import (
	"regexp"
	"strings"
	"testing"
)

const vectorSecret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

// The expected values were made with another implementation of HMAC:
// printf '%s.%s' TIMESTAMP BODY | openssl dgst -sha256 -hmac SECRET
func TestSign(t *testing.T) {
	signer := NewSigner(vectorSecret) // used again for each
	for name, test := range map[string]struct {
		timestamp int64
		body      string
		want      string
	}{
		"JSON": {
			1700000000, `{"webhook_event":"order-outcome","delivery_id":"0190a5c0-0000-7000-8000-000000000001"}`,
			"v1=da60551bc0254705bd88d241c320d32f360d51eb30e17f9f5c05210fd12348ed",
		},
		"EmptyBody": {1700000000, ``, "v1=3cc578efa6313d5e5fa9f618f35f4440fe4e848240de06cfa1fdf71aed0002c9"},
		"Japanese": {
			1767225600, `{"outcome_locale":"正規品"}`, "v1=37fd9de6e35399a38b84fb8a174b07edd7f6e4110ba0bad9ed1f351a508dc1d3",
		},
		"OldTimestamp":    {0, `{}`, "v1=de53b8749e50a2fe18d8b45468dd08d8d37c6be2ecb6298bdb25963b6e4a14c7"},
		"NewlineAtTheEnd": {1700000000, "{}\n", "v1=fcda02fb7a45daebc7f1496fc65e128d140e0140faec9018c5730dcaff22b155"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := signer.Sign(test.timestamp, []byte(test.body)); got != test.want {
				t.Errorf("Sign = %s, want %s", got, test.want)
			}
		})
	}
}

// TestSign_Covers checks that the signature depends on everything that it should cover.
func TestSign_Covers(t *testing.T) {
	body := []byte(`{"webhook_event":"order-outcome"}`)
	signer := NewSigner(vectorSecret)
	signature := signer.Sign(1700000000, body)
	for name, other := range map[string]string{
		"Secret":    NewSigner(strings.Replace(vectorSecret, "0", "1", 1)).Sign(1700000000, body),
		"Timestamp": signer.Sign(1700000001, body),
		"Body":      signer.Sign(1700000000, append(body, '\n')),
	} {
		if other == signature {
			t.Errorf("%s: the signature is the same", name)
		}
	}
}

func TestNewSigningSecret(t *testing.T) {
	a, b := NewSigningSecret(), NewSigningSecret()
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(a) {
		t.Errorf("NewSigningSecret() = %q, want 64 lower-case hex characters", a)
	}
	if a == b {
		t.Error("two secrets are equal")
	}
}
