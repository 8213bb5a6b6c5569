package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/assayhq/assay/internal/server"
)

// installationSettings are the settings that matter to every command that opens an installation. The help of such a
// command shows only these; assay serve shows all.
var installationSettings = []string{"data", "database", "media", "secret-key", "log-format"}

// printHelp writes the help of the command. settings are the names of the flags that are settings of the server.
func (c *command) printHelp(w io.Writer, fs *flag.FlagSet, settings map[string]bool) {
	fmt.Fprintf(w, "Usage: %s\n\n%s.\n", strings.TrimSpace("assay "+c.name+" "+c.args), upperFirst(c.about))
	if c.example != "" {
		fmt.Fprintf(w, "\nExample:\n  %s\n", strings.ReplaceAll(c.example, "\n", "\n  "))
	}
	printFlags(w, "Flags", fs, func(name string) bool { return !settings[name] })
	if c.name == "serve" {
		printFlags(w, "Settings; each is also an environment variable: --data is ASSAY_DATA", fs,
			func(name string) bool { return settings[name] })
		return
	}
	printFlags(w, "Settings of the installation; assay serve --help lists all", fs,
		func(name string) bool { return settings[name] && slices.Contains(installationSettings, name) })
}

// printFlags writes the flags that the filter takes, one a line, and nothing when there is none.
func printFlags(w io.Writer, title string, fs *flag.FlagSet, take func(name string) bool) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fs.VisitAll(func(f *flag.Flag) {
		if !take(f.Name) {
			return
		}
		if title != "" {
			fmt.Fprintf(table, "\n%s:\n", title)
			title = ""
		}
		value, usage := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(table, "  --%s\t%s\n", strings.TrimSpace(f.Name+" "+value), usage)
	})
	_ = table.Flush() // an error of the terminal has nowhere to go
}

// usage writes the list of all commands, or of those whose name begins with the word.
func usage(w io.Writer, word string) {
	if word == "" {
		fmt.Fprintln(w, "Assay is an item authentication service.")
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "Usage: %s [flags]\n\nCommands:\n", strings.Join(strings.Fields("assay "+word+" COMMAND"), " "))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range visible() {
		if word == "" || strings.HasPrefix(c.name, word+" ") {
			fmt.Fprintf(table, "  %s\t%s\n", c.name, c.about)
		}
	}
	_ = table.Flush()
	fmt.Fprintln(w, "\nassay COMMAND --help shows the flags of a command, with an example.")
}

// visible returns the commands for people.
func visible() []*command {
	return slices.DeleteFunc(commands(), func(c *command) bool { return c.hidden })
}

// unknownCommand returns what to say about arguments that name no command: one line, with a suggestion.
func unknownCommand(args []string) string {
	words := args[:min(2, len(args))]
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }); i >= 0 {
		words = words[:i]
	}
	if len(words) == 0 {
		return fmt.Sprintf("assay: %s comes after the command. Usage: assay COMMAND [flags]; assay help lists them", args[0])
	}
	var names, groups []string
	for _, c := range visible() {
		group, _, _ := strings.Cut(c.name, " ")
		names, groups = append(names, c.name, group), append(groups, group)
	}
	if slices.Contains(groups, words[0]) {
		var verbs []string
		for _, c := range visible() {
			if verb, ok := strings.CutPrefix(c.name, words[0]+" "); ok {
				verbs = append(verbs, verb)
			}
		}
		list := strings.Join(verbs, ", ")
		if len(words) == 1 {
			return fmt.Sprintf("assay %s: say what to do: %s", words[0], list)
		}
		return fmt.Sprintf("assay %s: unknown command %q: it has %s", words[0], words[1], list)
	}
	given := strings.Join(words, " ")
	hint := ""
	if near := nearest(given, names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	} else if near := nearest(words[0], names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Sprintf("assay: unknown command %q%s (assay help lists all)", given, hint)
}

// badValue is how the flag package says that a flag does not take a value.
var badValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-([a-z0-9-]+): (.*)$`)

// flagProblem rewrites an error of the flag package as the rest of the program writes flags, with a suggestion.
func flagProblem(err error, fs *flag.FlagSet) string {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		name = strings.TrimPrefix(name, "-")
		var names []string
		fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
		if near := nearest(name, names); near != "" {
			return fmt.Sprintf("unknown flag --%s; did you mean --%s?", name, near)
		}
		return fmt.Sprintf("unknown flag --%s", name)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return fmt.Sprintf("--%s needs a value", strings.TrimPrefix(name, "-"))
	}
	if parts := badValue.FindStringSubmatch(text); parts != nil {
		value, err := strconv.Unquote(parts[1])
		if f := fs.Lookup(parts[2]); err == nil && f != nil {
			return fmt.Sprintf("--%s: %s", f.Name, server.FlagProblem(f, value, errors.New(parts[3])))
		}
	}
	return text
}

// nearest returns the name that is at most two keystrokes away, or a third of its length, or "".
func nearest(given string, names []string) string {
	best, distance := "", 1+max(2, len(given)/3)
	for _, name := range names {
		if d := editDistance(given, name); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// editDistance counts the letters to insert, delete or replace between two words.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
