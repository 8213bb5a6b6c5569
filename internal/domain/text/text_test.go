package text_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/text"
)

// TestIn checks that English is the fallback of every language.
func TestIn(t *testing.T) {
	for _, in := range []struct {
		name   string
		text   text.Text
		locale text.Locale
		want   string
	}{
		{name: "English", text: text.Text{EN: "Bags", JA: "バッグ"}, locale: text.English, want: "Bags"},
		{name: "Japanese", text: text.Text{EN: "Bags", JA: "バッグ"}, locale: text.Japanese, want: "バッグ"},
		{name: "Fallback", text: text.Text{EN: "Bags"}, locale: text.Japanese, want: "Bags"},
		{name: "UnknownLocale", text: text.Text{EN: "Bags", JA: "バッグ"}, locale: "fr", want: "Bags"},
	} {
		t.Run(in.name, func(t *testing.T) {
			if got := in.text.In(in.locale); got != in.want {
				t.Errorf("the text is %q, not %q", got, in.want)
			}
		})
	}
}

func TestParseLocale(t *testing.T) {
	t.Run("Supported", func(t *testing.T) {
		for name, want := range map[string]text.Locale{"": "en", "en": "en", "ja": "ja"} {
			if got, ok := text.ParseLocale(name); !ok || got != want {
				t.Errorf("%q is read as %q", name, got)
			}
		}
	})
	t.Run("Unsupported", func(t *testing.T) {
		for _, name := range []string{"fr", "EN", "ja-JP", "jp", " en"} {
			if got, ok := text.ParseLocale(name); ok || got != "" {
				t.Errorf("%q is read as %q", name, got)
			}
		}
	})
}

func TestClip(t *testing.T) {
	for s, want := range map[string]string{"": "", "abc": "abc", "abcd": "ab…", "日本語": "日本語", "日本語で": "日本…"} {
		if got := text.Clip(s, 3); got != want {
			t.Errorf("Clip(%q, 3) = %q, want %q", s, got, want)
		}
	}
}
