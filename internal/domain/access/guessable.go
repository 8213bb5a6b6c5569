package access

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// commonWords are what passwords are mostly made of, one a line: words, names, keyboard walks.
//
//go:embed common_words.txt
var commonWords string

var commonByLength = sync.OnceValue(func() []string {
	words := strings.Fields(commonWords)
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) }) // the longest first
	return slices.Compact(words)
})

const (
	minDistinct = 5 // different characters
	minOwn      = 5 // characters that are neither common nor about the person
	minContext  = 4 // characters of a word about the person to count
)

// Guessable reports whether a password is among the first that somebody would try: few different characters, a run of
// the alphabet or the keyboard, or nothing but common words and what is known of the person, whatever digits and signs
// stand between them. context is what is known: their email, name, account.
func Guessable(password string, context ...string) bool {
	distinct := make(map[rune]bool)
	for _, r := range strings.ToLower(password) {
		distinct[r] = true
	}
	if len(distinct) < minDistinct {
		return true
	}
	rest := plainLetters(password)
	for _, text := range append(context, "assay") {
		for _, word := range strings.FieldsFunc(strings.ToLower(text), notLetter) {
			if len(word) >= minContext {
				rest = strings.ReplaceAll(rest, plainLetters(word), " ")
			}
		}
	}
	rest = withoutRuns(rest)
	for _, word := range commonByLength() {
		rest = strings.ReplaceAll(rest, word, " ")
	}
	return len([]rune(strings.ReplaceAll(rest, " ", ""))) < minOwn
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// written is how letters are hidden in digits and signs.
var written = map[rune]rune{'0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', '$': 's', '!': 'i'}

// plainLetters returns the letters of a password, also those that are written as digits inside of words. Other digits
// and signs are left out: they are what is added to a word to please a rule.
func plainLetters(s string) string {
	runes := []rune(strings.ToLower(s))
	letter := func(i int) bool { return i >= 0 && i < len(runes) && unicode.IsLetter(runes[i]) }
	var b strings.Builder
	for i, r := range runes {
		switch as, hidden := written[r]; {
		case unicode.IsLetter(r):
			b.WriteRune(r)
		case hidden && letter(i-1) && letter(i+1):
			b.WriteRune(as)
		}
	}
	return b.String()
}

// runs are what fingers and children know by heart, both ways.
var runs = []string{
	"abcdefghijklmnopqrstuvwxyz", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop", "qsdfghjklm", "wxcvbn",
	"qazwsxedcrfvtgbyhnujmikolp",
}

const minRun = 4

// withoutRuns takes out runs of at least four characters, and repetitions of one.
func withoutRuns(s string) string {
	runes := []rune(s)
	var out []rune
	for i := 0; i < len(runes); {
		if n := runAt(runes[i:]); n >= minRun {
			out = append(out, ' ')
			i += n
			continue
		}
		out = append(out, runes[i])
		i++
	}
	return string(out)
}

// runAt returns how long the run at the beginning is.
func runAt(s []rune) int {
	longest := 1
	for longest < len(s) && s[longest] == s[0] {
		longest++
	}
	for _, run := range runs {
		at := strings.IndexRune(run, s[0])
		if at < 0 {
			continue
		}
		for _, step := range []int{1, -1} {
			n := 1
			for n < len(s) && at+n*step >= 0 && at+n*step < len(run) && rune(run[at+n*step]) == s[n] {
				n++
			}
			longest = max(longest, n)
		}
	}
	return longest
}
