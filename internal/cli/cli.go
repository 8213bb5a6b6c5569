// Package cli implements the command line: it parses flags, calls a use case and prints the result. Data goes to
// standard output, everything else to standard error; with --json a command prints exactly one JSON value.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/server"
)

// IO is the environment of a command.
type IO struct {
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	LookupEnv func(string) (string, bool)

	// Program is the path of this executable, which the server starts again as a helper process to decode images;
	// empty: no helper process.
	Program string
}

// command is a subcommand. run is called with flags and settings parsed.
type command struct {
	name   string // one or two words
	args   string // arguments in the usage line
	about  string
	flags  func(*flag.FlagSet, *invocation)
	needs  []string // flags that must have a value
	nargs  int      // positional arguments; anyArgs: the command checks them itself
	begins bool     // it may begin a new installation; others need one
	run    func(context.Context, *invocation) error
	hidden bool // used by the program itself
}

// invocation is a call of a command.
type invocation struct {
	IO
	settings server.Settings
	begins   bool
	json     bool
	args     []string
	flags    *flag.FlagSet
	options
}

// options are the flags of all commands.
type options struct {
	demo, dryRun, allowTest, offline, deep bool

	account, name, owner, locale, env, scopes, note, email, role string
	keys, heads, endpoint, status, since                         string

	amount   int64
	rows     int
	limits   limitFlags
	networks networkFlags
}

const anyArgs = -1

// errUsage is returned for a wrong call after the usage was printed.
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
		checkCommand(), auditHead(), secretsRotate(), backupCommand(), restoreCommand(), verifyCommand(), versionCommand(), imagesCommand(),
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
	inv := &invocation{IO: stdio, begins: c.begins}
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
	err = inv.missing(c.needs)
	if err == nil {
		err = c.run(ctx, inv)
	}
	if err != nil {
		fmt.Fprintf(stdio.Stderr, "assay %s: %s\n", c.name, messageOf(err))
		return exitFailed
	}
	return exitOK
}

// messageOf is what an error says to people: the message of a refusal, without its code.
func messageOf(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Message
	}
	return err.Error()
}

// find returns the command with the longest name that args start with.
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

// parse reads settings from the environment, then flags, which may come before and after positional arguments.
func (c *command) parse(inv *invocation, args []string) error {
	fs := flag.NewFlagSet("assay "+c.name, flag.ContinueOnError)
	fs.SetOutput(inv.Stderr)
	fs.Usage = func() {
		fmt.Fprintf(inv.Stderr, "Usage: assay %s %s\n\n%s\n\nFlags:\n", c.name, c.args, c.about)
		fs.PrintDefaults()
	}
	inv.flags = fs
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
	if err := server.CheckFlags(fs); err != nil {
		return err
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
		if c.hidden {
			continue
		}
		line := strings.TrimSpace(c.name + " " + c.args)
		fmt.Fprintf(w, "  %s\n        %s\n", line, c.about)
	}
	fmt.Fprint(w, "\nRun assay COMMAND --help for the flags of a command.\n"+
		"Every setting is also an environment variable: --data is ASSAY_DATA.\n")
}

// app opens the installation, or begins one if the command may.
func (inv *invocation) app(ctx context.Context) (*server.App, error) {
	if inv.begins {
		return server.Begin(ctx, inv.settings, inv.logger())
	}
	return server.Open(ctx, inv.settings, inv.logger())
}

// open opens the installation while f runs.
func (inv *invocation) open(ctx context.Context, f func(*server.App) error) (err error) {
	app, err := inv.app(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	return f(app)
}

// withApp returns f as the run function of a command that opens the installation first.
func withApp(
	f func(context.Context, *invocation, *server.App) error,
) func(context.Context, *invocation) error {
	return func(ctx context.Context, inv *invocation) error {
		return inv.open(ctx, func(app *server.App) error { return f(ctx, inv, app) })
	}
}

// print writes v as JSON with --json, otherwise the formatted text.
func (inv *invocation) print(v any, format string, args ...any) error {
	if inv.json {
		e := json.NewEncoder(inv.Stdout)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
	_, err := fmt.Fprintf(inv.Stdout, format, args...)
	return err
}

// missing returns an error for each of the flags that has no value.
func (inv *invocation) missing(flags []string) error {
	var problems []error
	for _, name := range flags {
		if inv.flags.Lookup(name).Value.String() == "" {
			problems = append(problems, fmt.Errorf("--%s is required", name))
		}
	}
	return errors.Join(problems...)
}
