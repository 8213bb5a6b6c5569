package photo

import (
	"strings"
	"testing"
)

func TestNewName(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Formats {
		for range 200 {
			name := NewName(f)
			if got, ok := ParseName(name); !ok || got != f {
				t.Fatalf("ParseName(%q) = %v, %v", name, got, ok)
			}
			if seen[name] {
				t.Fatalf("%q made twice", name)
			}
			seen[name] = true
		}
	}
}

func TestParseName(t *testing.T) {
	const random = "abcdefghijklmnopqrstuvwxyz234567"
	for _, c := range []struct {
		name string
		want Format
	}{
		{random + ".jpg", JPEG},
		{random + ".png", PNG},
		{random + ".webp", WebP},
		{random + ".heic", HEIC},
		{random + ".heif", HEIF},
		{random + ".avif", AVIF},
		{"", ""},
		{random, ""},
		{random + ".", ""},
		{random + ".jpeg", ""},
		{random + ".JPG", ""},
		{random + ".jpg ", ""},
		{random + ".jpg\n", ""},
		{random + ".jpg\x00", ""},
		{random + ".jpg/", ""},
		{random + ".jpg.png", ""},
		{random + "a.jpg", ""},
		{random[1:] + ".jpg", ""},
		{strings.ToUpper(random) + ".jpg", ""},
		{"0" + random[1:] + ".jpg", ""},
		{"../" + random[3:] + ".jpg", ""},
		{random[:16] + "/" + random[17:] + ".jpg", ""},
		{random[:16] + `\` + random[17:] + ".jpg", ""},
		{random[:16] + "\x00" + random[17:] + ".jpg", ""},
		{"%2e" + random[3:] + ".jpg", ""},
		{"é" + random[2:] + ".jpg", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := ParseName(c.name); got != c.want || ok != (c.want != "") {
				t.Errorf("got %q, %v; want %q", got, ok, c.want)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	for f, want := range map[Format][2]string{
		JPEG: {"image/jpeg", "jpg"}, PNG: {"image/png", "png"}, WebP: {"image/webp", "webp"},
		HEIC: {"image/heic", "heic"}, HEIF: {"image/heif", "heif"}, AVIF: {"image/avif", "avif"},
	} {
		if got := [2]string{f.ContentType(), f.Ext()}; got != want {
			t.Errorf("%s: got %v, want %v", f, got, want)
		}
	}
}

func TestOriginalName(t *testing.T) {
	for _, c := range []struct{ filename, want string }{
		{"front.jpg", "front.jpg"},
		{"dir/front.jpg", "front.jpg"},
		{"/a/b/front.jpg", "front.jpg"},
		{`C:\Users\me\front.jpg`, "front.jpg"},
		{`a\b/c.png`, "c.png"},
		{`a/b\c.png`, "c.png"},
		{"../../etc/passwd", "passwd"},
		{"folder/", "folder"},
		{"", "photo"},
		{"/", "photo"},
		{`\\`, "photo"},
		{"\x00\x01", "photo"},
		{"a\x00b\r\nc\x7f\u0085.jpg", "abc.jpg"},
		{"a\xff\xfeb.jpg", "a\uFFFDb.jpg"},
		{"\x93\xfa\x96{.jpg", "\uFFFD{.jpg"}, // Shift JIS
		{"a\u202Egpj.exe\u2066\u200F.png", "agpj.exe.png"},
		{"写真 1.heic", "写真 1.heic"},
		{"dir/写\xe5真.heic", "写\uFFFD真.heic"},
		{" spaced name .jpg ", " spaced name .jpg "},
		{strings.Repeat("x", 255), strings.Repeat("x", 255)},
		{strings.Repeat("写", 256), strings.Repeat("写", 255)},
	} {
		if got := OriginalName(c.filename); got != c.want {
			t.Errorf("OriginalName(%q) = %q, want %q", c.filename, got, c.want)
		}
	}
}
