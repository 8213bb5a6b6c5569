package webhook

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAcknowledged(t *testing.T) {
	for status, want := range map[int]bool{
		0:   false,
		100: false,
		199: false,
		200: true,
		204: true,
		299: true,
		300: false,
		302: false,
		400: false,
		500: false,
	} {
		if got := (Attempt{HTTPStatus: status}).Acknowledged(); got != want {
			t.Errorf("status %d: Acknowledged() = %v", status, got)
		}
	}
}

func TestExcerpt(t *testing.T) {
	for name, test := range map[string]struct{ answer, want string }{
		"Empty":              {"", ""},
		"Short":              {"ok\n", "ok\n"},
		"Exact":              {strings.Repeat("a", 1024), strings.Repeat("a", 1024)},
		"Long":               {strings.Repeat("a", 5000), strings.Repeat("a", 1024)},
		"NUL":                {"a\x00b", "a\ufffdb"},
		"NotUTF8":            {"a\xff\xfeb", "a\ufffd\ufffdb"},
		"Surrogate":          {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		"UnfinishedAtTheEnd": {"a\xe3\x81", "a\ufffd\ufffd"},
		"CharacterCutInTwo":  {strings.Repeat("a", 1023) + "é", strings.Repeat("a", 1023)},
		"CharacterJustFits":  {strings.Repeat("a", 1022) + "éb", strings.Repeat("a", 1022) + "é"},
		"LongCharacterCut":   {strings.Repeat("a", 1021) + "😀", strings.Repeat("a", 1021)},
		"Binary":             {strings.Repeat("\xff", 5000), strings.Repeat("\ufffd", 341)},
	} {
		t.Run(name, func(t *testing.T) {
			got := Excerpt([]byte(test.answer))
			if got != test.want {
				t.Errorf("Excerpt = %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("a\x00\xffé"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		got := Excerpt(answer)
		if !utf8.ValidString(got) || strings.Contains(got, "\x00") || len(got) > MaxAnswer {
			t.Errorf("Excerpt(%q) = %q", answer, got)
		}
		if len(answer) <= MaxAnswer && utf8.Valid(answer) && !strings.Contains(string(answer), "\x00") &&
			got != string(answer) {
			t.Errorf("Excerpt(%q) = %q changes good text", answer, got)
		}
	})
}

func TestHeaderExcerpt(t *testing.T) {
	got := HeaderExcerpt(map[string][]string{
		"Retry-After": {"120"}, "Set-Cookie": {"a=1", "b=2"}, "Content-Type": {"text/plain"},
	})
	if want := "Content-Type: text/plain\nRetry-After: 120\nSet-Cookie: ••••••\nSet-Cookie: ••••••"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	long := HeaderExcerpt(map[string][]string{"A": {strings.Repeat("あ", 5000)}, "B": {"\x00\xff"}})
	if len(long) > MaxAnswer || !utf8.ValidString(long) {
		t.Errorf("%d bytes: %q", len(long), long)
	}
	if got := HeaderExcerpt(map[string][]string{"B": {"\x00\xff"}}); got != "B: \uFFFD\uFFFD" {
		t.Errorf("%q", got)
	}
}
