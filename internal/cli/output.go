package cli

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

// block is text for a terminal that the program has composed itself, with line ends and colors; the texts of others in
// it are visible.
type block string

// shown returns a text of others as it may go to a terminal: what controls the terminal, turns the direction of
// writing or does not show is spelled out, as in \u202e. So are line ends, because no text is to look like a line of
// the program.
func shown(text string) string { return spellOut(text, "") }

// shownLines is shown for what has lines of its own: messages of errors, and JSON, whose value stays the same.
func shownLines(text string) string { return spellOut(text, "\n\t") }

// spellOut escapes, as JSON does, the characters that do not show, except those to keep.
func spellOut(text, keep string) string {
	escaped := func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsGraphic(r) && !strings.ContainsRune(keep, r)
	}
	if !strings.ContainsFunc(text, escaped) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !escaped(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// sayf writes a message in which the texts and errors among the arguments are visible.
func sayf(w io.Writer, format string, args ...any) error {
	texts := make([]any, len(args))
	for i, arg := range args {
		texts[i] = arg
		if _, own := arg.(block); own {
			continue
		}
		if err, ok := arg.(error); ok {
			texts[i] = shown(messageOf(err))
		} else if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
			texts[i] = shown(v.String())
		}
	}
	_, err := fmt.Fprintf(w, format, texts...)
	return err
}

// table prints rows as aligned columns, with states in colors, or v with --json. Headers are for people: a pipe gets
// the rows alone. An empty list is said on standard error, so that a script reads nothing.
func (inv *invocation) table(v any, what string, headers []string, rows [][]string) error {
	if inv.json {
		return inv.print(v, "")
	}
	inv.progress.end()
	if len(rows) == 0 {
		_, err := fmt.Fprintf(inv.Stderr, "no %s\n", what)
		return err
	}
	if onTerminal(inv.Stdout) {
		rows = append([][]string{headers}, rows...)
	}
	widths := make([]int, len(headers))
	for _, row := range rows {
		for i := range row {
			row[i] = shown(row[i])
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var lines strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			if headers[i] == "STATE" || headers[i] == "STATUS" {
				cell = string(inv.paint(cell)) // whose codes take no room
			}
			if i == len(row)-1 {
				space = "\n"
			}
			lines.WriteString(cell + space)
		}
	}
	_, err := io.WriteString(inv.Stdout, lines.String())
	return err
}

// onTerminal reports whether a person reads what is written.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// count writes a number with its noun: 1 change, 2 changes.
func count[N int | int64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
