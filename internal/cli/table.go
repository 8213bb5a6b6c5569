package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"
)

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
	w := tabwriter.NewWriter(inv.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			if row[i] = shown(row[i]); headers[i] == "STATE" || headers[i] == "STATUS" {
				row[i] = string(inv.paint(row[i]))
			}
		}
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
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
