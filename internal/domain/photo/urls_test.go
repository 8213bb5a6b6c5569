package photo

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
)

func TestNewURLs(t *testing.T) {
	const name = "abcdefghijklmnopqrstuvwxyz234567.jpg"
	for _, c := range []struct{ base, want string }{
		{"https://localhost:8443/media", "https://localhost:8443/media/" + name},
		{"https://localhost:8443/media/", "https://localhost:8443/media/" + name},
		{"https://media.example.com", "https://media.example.com/" + name},
		{"https://media.example.com/", "https://media.example.com/" + name},
		{"HTTPS://Media.Example.com/Media", "https://media.example.com/Media/" + name},
		{"https://media.example.com:443/a/b", "https://media.example.com/a/b/" + name},
		{"https://[::1]:8443/media", "https://[::1]:8443/media/" + name},
	} {
		t.Run(c.base, func(t *testing.T) {
			u, err := NewURLs(c.base)
			if err != nil {
				t.Fatal(err)
			}
			got := u.URL(name)
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if parsed, ok := u.Parse(got); !ok || parsed != name {
				t.Errorf("Parse(%s) = %q, %v", got, parsed, ok)
			}
		})
	}
	for _, base := range []string{
		"", "media", "/media", "localhost:8443/media", "https:", "https:media", "https://",
		"https:///media", "https://:8443/media",
		"http://localhost:8080/media", "ftp://localhost/media",
		"https://user@localhost/media", "https://user:secret@localhost/media", "https://user:secret@local host/media",
		"https://localhost/media?a=b", "https://localhost/media?", "https://localhost/media#a",
		"https://localhost/media#",
		"https://localhost:/media", "https://localhost/a/../media", "https://localhost/./media",
		"https://localhost//media", "https://localhost/media//",
		"https://localhost/me%64ia", "https://localhost/a b", "https://bücher.example/media", "https://localhost/\x7f",
		"https://localhost/" + strings.Repeat("m", 2048),
	} {
		t.Run("Refused/"+base, func(t *testing.T) {
			u, err := NewURLs(base)
			if err == nil {
				t.Fatalf("%q taken as %v", base, u)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("credentials in %q", err)
			}
		})
	}
}

func TestURLs_Parse(t *testing.T) {
	u, err := NewURLs("https://localhost:8443/media")
	if err != nil {
		t.Fatal(err)
	}
	const name = "abcdefghijklmnopqrstuvwxyz234567.jpg"
	for _, raw := range []string{
		"", name, "/media/" + name, "//localhost:8443/media/" + name,
		"https://localhost:8443/media", "https://localhost:8443/media/",
		"http://localhost:8443/media/" + name,
		"HTTPS://localhost:8443/media/" + name,
		"https://LOCALHOST:8443/media/" + name,
		"https://localhost/media/" + name,
		"https://localhost:8444/media/" + name,
		"https://localhost:08443/media/" + name,
		"https://localhost.:8443/media/" + name,
		"https://evil.example/media/" + name,
		"https://localhost:8443.evil.example/media/" + name,
		"https://localhost:8443@evil.example/media/" + name,
		"https://user@localhost:8443/media/" + name,
		"https://user:pass@localhost:8443/media/" + name,
		"https://localhost:8443/Media/" + name,
		"https://localhost:8443/media//" + name,
		"https://localhost:8443/media/../media/" + name,
		"https://localhost:8443/media/./" + name,
		"https://localhost:8443/other/" + name,
		"https://localhost:8443/media/x/" + name,
		"https://localhost:8443/media/" + name + "/",
		"https://localhost:8443/media/" + name + "?",
		"https://localhost:8443/media/" + name + "?a=b",
		"https://localhost:8443/media/" + name + "#",
		"https://localhost:8443/media/" + name + "#a",
		"https://localhost:8443/media/%61" + name[1:],
		"https://localhost:8443/%6dedia/" + name,
		"https://localhost:8443/media/" + strings.ToUpper(name),
		"https://localhost:8443/media/" + strings.Replace(name, ".jpg", ".gif", 1),
		`https://localhost:8443\media\` + name,
		" https://localhost:8443/media/" + name,
		"https://localhost:8443/media/" + name + " ",
		"https://localhost:8443/media/" + name + "\n",
	} {
		t.Run(raw, func(t *testing.T) {
			if got, ok := u.Parse(raw); ok || got != "" {
				t.Errorf("taken as %q", got)
			}
		})
	}
	t.Run("ZeroValue", func(t *testing.T) {
		if _, ok := (URLs{}).Parse(name); ok {
			t.Error("a bare name is no URL")
		}
	})
}

func TestUnsupported(t *testing.T) {
	for raw, reason := range map[string]string{
		"https://evil.example/a.jpg": "not-managed", "https://user:secret@localhost/a.jpg": "credentials",
		"https://localhost/a.jpg?token=secret": "query", "https://localhost/a.jpg?": "query",
		"https://localhost/a.jpg#secret": "fragment", "https://user:secret@local host/a.jpg\n": "not-managed",
	} {
		got := Unsupported("photos[3].url", raw)
		want := map[string]any{"field": "photos[3].url", "reason": reason}
		if got.Kind != fault.Invalid || got.Code != "unsupported-photo-url" || !reflect.DeepEqual(got.Details, want) {
			t.Errorf("%s: got %+v", raw, got)
		}
		if strings.Contains(got.Error(), "secret") || errors.Unwrap(got) != nil {
			t.Errorf("%s: the URL shows in %v", raw, got)
		}
	}
}

func TestFileTooLarge(t *testing.T) {
	got := FileTooLarge(10 << 20)
	if got.Kind != fault.TooLarge || got.Code != "FILE_TOO_LARGE" || got.Details["max_bytes"] != int64(10<<20) {
		t.Errorf("got %+v", got)
	}
}
