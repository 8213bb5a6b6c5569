package sqltrace

import (
	"fmt"
	"regexp"
	"strings"
)

// PostgresSettings make a server log what ReadPostgres reads. LogAll and LogNone switch the log on and off.
const (
	PostgresSettings = "log_line_prefix=%p|"
	LogAll           = "ALTER SYSTEM SET log_statement = 'all'"
	LogNone          = "ALTER SYSTEM SET log_statement = 'none'"
	ReloadSettings   = "SELECT pg_reload_conf()"
)

var (
	logged     = regexp.MustCompile(`^(\d+)\|LOG: {2}(?:statement|execute [^:]*): (?s:(.*))$`)
	parameters = regexp.MustCompile(`(?i)^(\d+)\|DETAIL: {2}parameters: (?s:(.*))$`)
)

// ReadPostgres returns the transactions in the log of a server; a statement outside of one is a transaction of its own.
// All parameters are texts.
func ReadPostgres(log string) ([][]Statement, error) {
	type backend struct {
		open    []Statement
		inBlock bool
	}
	backends := map[string]*backend{}
	var all [][]Statement
	finish := func(b *backend) {
		if len(b.open) > 0 {
			all = append(all, b.open)
		}
		b.open, b.inBlock = nil, false
	}
	for _, entry := range entries(log) {
		if m := parameters.FindStringSubmatch(entry); m != nil {
			b := backends[m[1]]
			if b == nil || len(b.open) == 0 {
				continue
			}
			args, err := values(m[2])
			if err != nil {
				return nil, err
			}
			b.open[len(b.open)-1].Args = args
			continue
		}
		m := logged.FindStringSubmatch(entry)
		if m == nil {
			continue
		}
		b := backends[m[1]]
		if b == nil {
			b = new(backend)
			backends[m[1]] = b
		}
		word := firstWord(m[2])
		if !b.inBlock {
			finish(b) // the parameters of the last statement have been read by now
		}
		b.open = append(b.open, Statement{Text: m[2]})
		switch word {
		case "BEGIN":
			b.inBlock = true
		case "COMMIT", "ROLLBACK":
			if !strings.Contains(strings.ToUpper(m[2]), " TO ") {
				finish(b)
			}
		}
	}
	for _, b := range backends {
		if !b.inBlock {
			finish(b)
		}
	}
	return all, nil
}

// entries splits a log; the further lines of an entry begin with a tab.
func entries(log string) []string {
	var all []string
	for line := range strings.SplitSeq(log, "\n") {
		if strings.HasPrefix(line, "\t") && len(all) > 0 {
			all[len(all)-1] += "\n" + line[1:]
			continue
		}
		all = append(all, line)
	}
	return all
}

// values reads "$1 = 'a', $2 = NULL".
func values(text string) ([]any, error) {
	var args []any
	for text != "" {
		n, length := parameter(text)
		if length == 0 {
			return nil, fmt.Errorf("sqltrace: not a parameter: %.80s", text)
		}
		value, used, err := literal(strings.TrimPrefix(text[length:], " = "))
		if err != nil || n != len(args)+1 {
			return nil, fmt.Errorf("sqltrace: parameter %d: %w", n, err)
		}
		args = append(args, value)
		text = strings.TrimPrefix(text[length+len(" = ")+used:], ", ")
	}
	return args, nil
}
