// Package cli is the command line: it parses, calls a use case and prints. Data goes to standard output, everything
// else to standard error; with --json a command prints one JSON value and nothing else.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/service"
)

// IO is what a command reads and writes.
type IO struct {
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	LookupEnv func(string) (string, bool)

	// Program is the file of this program, which starts itself for what needs a process of its own; empty: it does not.
	Program string
}

// command is one subcommand. Its run is called with flags parsed and settings complete.
type command struct {
	name  string // one or two words
	args  string // what follows the name in the usage line
	about string
	flags func(*flag.FlagSet, *invocation)
	nargs int // positional arguments; anyArgs: the command checks them itself
	run   func(context.Context, *invocation) error
	inner bool // for the program itself: not listed
}

// invocation is one call of a command.
type invocation struct {
	IO
	settings server.Settings
	json     bool
	args     []string
	options
}

// options are the flags of single commands.
type options struct {
	demo, dryRun                                                                                bool
	account, name, owner, locale, env, scopes, note, email, role, keys, endpoint, status, since string
	amount                                                                                      int64
	rows                                                                                        int
	limits                                                                                      limitFlags
	networks                                                                                    networkFlags
}

const anyArgs = -1

// errUsage says that the call was wrong; how it should be was printed.
var errUsage = errors.New("usage")

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func commands() []*command {
	return []*command{
		serveCommand(), accountsCreate(), accountsResetPassword(), keysCreate(), keysList(), keysRevoke(), creditsGrant(),
		staffCreate(), catalogImport(), catalogExport(), deliveriesList(), deliveriesShow(), deliveriesRedeliver(),
		checkCommand(), backupCommand(), restoreCommand(), verifyCommand(), versionCommand(), imagesCommand(),
	}
}

// Run runs the command that args name and returns the exit code.
func Run(ctx context.Context, args []string, stdio IO) int {
	c, rest := find(args)
	if c == nil {
		usage(stdio.Stderr)
		if len(args) > 0 && (args[0] == "help" || args[0] == "--help" || args[0] == "-h") {
			return exitOK
		}
		return exitUsage
	}
	inv := &invocation{IO: stdio}
	err := c.parse(inv, rest)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		if !errors.Is(err, errUsage) {
			fmt.Fprintf(stdio.Stderr, "assay %s: %v\n", c.name, err)
		}
		return exitUsage
	}
	if err := c.run(service.ByOperator(ctx), inv); err != nil {
		fmt.Fprintf(stdio.Stderr, "assay %s: %v\n", c.name, err)
		return exitFailed
	}
	return exitOK
}

// find returns the command with the longest name that args begin with.
func find(args []string) (*command, []string) {
	for words := 2; words >= 1; words-- {
		if len(args) < words {
			continue
		}
		name := strings.Join(args[:words], " ")
		for _, c := range commands() {
			if c.name == name {
				return c, args[words:]
			}
		}
	}
	return nil, nil
}

// parse reads settings from the environment, then flags, which may stand before and after positional arguments.
func (c *command) parse(inv *invocation, args []string) error {
	fs := flag.NewFlagSet("assay "+c.name, flag.ContinueOnError)
	fs.SetOutput(inv.Stderr)
	fs.Usage = func() {
		fmt.Fprintf(inv.Stderr, "Usage: assay %s %s\n\n%s\n\nFlags:\n", c.name, c.args, c.about)
		fs.PrintDefaults()
	}
	inv.settings.Bind(fs)
	if err := server.FromEnvironment(fs, inv.LookupEnv); err != nil {
		return err
	}
	fs.BoolVar(&inv.json, "json", false, "print one JSON value")
	if c.flags != nil {
		c.flags(fs, inv)
	}
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return err
			}
			return errUsage // the flag set has printed what is wrong
		}
		if fs.NArg() == 0 {
			break
		}
		inv.args = append(inv.args, fs.Arg(0))
		args = fs.Args()[1:]
	}
	if c.nargs != anyArgs && len(inv.args) != c.nargs {
		fs.Usage()
		return fmt.Errorf("takes %d arguments, has %d", c.nargs, len(inv.args))
	}
	return nil
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Assay is an item authentication service.\n\nUsage: assay COMMAND [flags]\n\nCommands:\n")
	for _, c := range commands() {
		if c.inner {
			continue
		}
		line := strings.TrimSpace(c.name + " " + c.args)
		fmt.Fprintf(w, "  %s\n        %s\n", line, c.about)
	}
	fmt.Fprint(w, "\nassay COMMAND --help lists the flags of a command. Every setting is also an environment "+
		"variable: --data is ASSAY_DATA.\n")
}

// open opens what the settings name for the time of a command.
func (inv *invocation) open(ctx context.Context, f func(*server.App) error) (err error) {
	app, err := server.Open(ctx, inv.settings, inv.logger())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	return f(app)
}

// print writes v as JSON with --json, else the text.
func (inv *invocation) print(v any, format string, args ...any) error {
	if inv.json {
		e := json.NewEncoder(inv.Stdout)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
	_, err := fmt.Fprintf(inv.Stdout, format, args...)
	return err
}

func required(flags map[string]string) error {
	var problems []error
	for name, value := range flags {
		if value == "" {
			problems = append(problems, fmt.Errorf("--%s is required", name))
		}
	}
	return errors.Join(problems...)
}
