package photo

import (
	"strings"
	"unicode"
)

const (
	maxOriginalName = 255 // code points
	unnamedOriginal = "photo"
)

// OriginalName returns what an uploaded file is called towards its sender: the last element of the file name that came
// with it, whichever separator the sender's system uses, without control characters, those of writing direction
// included, and invalid UTF-8, cut to 255 code points. A file without a name is called photo. It is for display only;
// nothing is stored under it.
func OriginalName(filename string) string {
	isSeparator := func(r rune) bool { return r == '/' || r == '\\' }
	s := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(filename, ""))
	s = strings.TrimRightFunc(s, isSeparator)
	s = s[strings.LastIndexFunc(s, isSeparator)+1:]
	if s == "" {
		return unnamedOriginal
	}
	count := 0
	for i := range s {
		if count == maxOriginalName {
			return s[:i]
		}
		count++
	}
	return s
}
