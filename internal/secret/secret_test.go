package secret_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/secret"
)

const key = "0123456789abcdef0123456789abcdef"

func box(t *testing.T, key string) *secret.Box {
	t.Helper()
	b, err := secret.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWeak(t *testing.T) {
	for key, want := range map[string]bool{
		strings.Repeat("k", 31): true,
		strings.Repeat("鍵", 31): true,
		strings.Repeat("k", 32): false,
		strings.Repeat("鍵", 32): false,
		secret.Generate():       false,
	} {
		if secret.Weak(key) != want {
			t.Errorf("a key of %d bytes: weak is %v, want %v", len(key), !want, want)
		}
	}
}

func TestNew(t *testing.T) {
	for name, test := range map[string]struct {
		key  string
		good bool
	}{
		"Empty":     {"", false},
		"Short":     {"k", true},
		"Japanese":  {strings.Repeat("鍵", 32), true},
		"Generated": {secret.Generate(), true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := secret.New(test.key)
			if (err == nil) != test.good {
				t.Fatalf("New: %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "must not be empty") {
				t.Errorf("the error does not say the rule: %v", err)
			}
		})
	}
}

func TestGenerate(t *testing.T) {
	a, b := secret.Generate(), secret.Generate()
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(a) {
		t.Errorf("Generate() = %q, want 64 lower-case hex characters", a)
	}
	if a == b {
		t.Error("two generated keys are equal")
	}
}

func TestSealOpen(t *testing.T) {
	b := box(t, key)
	for _, plaintext := range []string{"", "s3cret", strings.Repeat("x", 2048), "秘密\x00\xff"} {
		sealed := b.Seal(plaintext, "endpoint-1")
		if !strings.HasPrefix(sealed, "v2:") {
			t.Fatalf("sealed %q has no version", sealed)
		}
		if plaintext != "" && strings.Contains(sealed, plaintext) {
			t.Fatal("the sealed text shows the plaintext")
		}
		if sealed == b.Seal(plaintext, "endpoint-1") {
			t.Error("two seals are equal: the nonce is not fresh")
		}
		got, err := box(t, key).Open(sealed, "endpoint-1")
		if err != nil || got != plaintext {
			t.Errorf("Open = %q, %v, want %q", got, err, plaintext)
		}
	}
}

// TestRotation: what a previous key has sealed opens, and can be sealed with the current one.
func TestRotation(t *testing.T) {
	old, err := secret.New(key)
	if err != nil {
		t.Fatal(err)
	}
	both, err := secret.New(secret.Generate(), key, "")
	if err != nil {
		t.Fatal(err)
	}
	sealed := old.Seal("s3cret", "endpoint-1")
	if got, err := both.Open(sealed, "endpoint-1"); err != nil || got != "s3cret" {
		t.Fatalf("Open = %q, %v", got, err)
	}
	fresh, err := both.Reseal(sealed, "endpoint-1")
	if err != nil || !strings.HasPrefix(fresh, both.Prefix()) || strings.HasPrefix(sealed, both.Prefix()) {
		t.Fatalf("Reseal = %q, %v", fresh, err)
	}
	if got, err := both.Open(fresh, "endpoint-1"); err != nil || got != "s3cret" {
		t.Errorf("Open = %q, %v", got, err)
	}
	if _, err := old.Open(fresh, "endpoint-1"); !errors.Is(err, secret.ErrOpen) {
		t.Errorf("the replaced key opens what the new one has sealed: %v", err)
	}
	if _, err := both.Reseal(sealed, "endpoint-2"); !errors.Is(err, secret.ErrOpen) {
		t.Errorf("Reseal of another row's value: %v", err)
	}
}

// TestKeep: kept keys do not depend on the secret key.
func TestKeep(t *testing.T) {
	kept := map[string][]byte{secret.RootLabel: secret.NewKey(), "signing": secret.NewKey()}
	one, two := box(t, key).Keep(kept), box(t, secret.Generate()).Keep(kept)
	if !bytes.Equal(one.Derive("signing"), kept["signing"]) {
		t.Error("a kept key is not the one that was kept")
	}
	if !bytes.Equal(one.Derive("cookies"), two.Derive("cookies")) || bytes.Equal(one.Derive("cookies"), one.Derive("x")) {
		t.Error("derived keys do not depend on the kept root and the label alone")
	}
	if bytes.Equal(one.Derive("cookies"), box(t, key).Derive("cookies")) {
		t.Error("derived keys depend on the secret key")
	}
	if _, err := one.Open(box(t, key).Seal("x", "y"), "y"); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	b := box(t, key)
	sealed := b.Seal("s3cret", "endpoint-1")
	changed := []byte(sealed)
	changed[len(changed)-10] ^= 1
	for name, open := range map[string]func() (string, error){
		"AnotherKey":      func() (string, error) { return box(t, key+"x").Open(sealed, "endpoint-1") },
		"AnotherContext":  func() (string, error) { return b.Open(sealed, "endpoint-2") },
		"EmptyContext":    func() (string, error) { return b.Open(sealed, "") },
		"Changed":         func() (string, error) { return b.Open(string(changed), "endpoint-1") },
		"Cut":             func() (string, error) { return b.Open(sealed[:len(sealed)-4], "endpoint-1") },
		"Empty":           func() (string, error) { return b.Open("", "endpoint-1") },
		"OnlyVersion":     func() (string, error) { return b.Open("v2:", "endpoint-1") },
		"AnotherVersion":  func() (string, error) { return b.Open("v1:"+sealed[3:], "endpoint-1") },
		"NotBase64":       func() (string, error) { return b.Open(b.Prefix()+"%%%%", "endpoint-1") },
		"ShorterThanATag": func() (string, error) { return b.Open(b.Prefix()+"AAAA", "endpoint-1") },
		"Plaintext":       func() (string, error) { return b.Open("s3cret", "endpoint-1") },
	} {
		t.Run(name, func(t *testing.T) {
			got, err := open()
			if !errors.Is(err, secret.ErrOpen) || got != "" {
				t.Errorf("Open = %q, %v, want ErrOpen", got, err)
			}
		})
	}
}

func TestDerive(t *testing.T) {
	b := box(t, key)
	session := b.Derive("session")
	if len(session) != 32 {
		t.Fatalf("Derive gives %d bytes, want 32", len(session))
	}
	if !bytes.Equal(session, box(t, key).Derive("session")) {
		t.Error("the same key and label give different bytes")
	}
	if bytes.Equal(session, b.Derive("certificate")) {
		t.Error("two labels give the same bytes")
	}
	if bytes.Equal(session, box(t, key+"x").Derive("session")) {
		t.Error("two keys give the same bytes")
	}
	const want = "ae025c7dfb2780e985881c1a076b60a8e10e137704838c71412a0b7a74d24830"
	if got := hex.EncodeToString(session); got != want {
		t.Errorf("Derive(session) = %s, want %s: certificates and sessions signed before would not verify", got, want)
	}
}

func TestPrintingShowsNoKey(t *testing.T) {
	b := box(t, key)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(format, b); got != "secret.Box" {
			t.Errorf("%s prints %q", format, got)
		}
	}
}
