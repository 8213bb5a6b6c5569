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
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/server"
)

// IO is the environment of a command.
type IO struct {
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	LookupEnv func(string) (string, bool)
	Environ   func() []string // NAME=value of every variable, as os.Environ returns them; nil: there are none

	// Program is the path of this executable, which the server starts again as a helper process to decode images;
	// empty: no helper process.
	Program string
}

// command is a subcommand. run is called with flags and settings parsed.
type command struct {
	name    string // one or two words
	args    string // arguments in the usage line
	about   string
	example string
	flags   func(*flag.FlagSet, *invocation)
	needs   []string                // flags that must have a value
	check   func(*invocation) error // refuses other wrong calls, before anything is done; nil: there are none
	nargs   int                     // positional arguments; anyArgs: the command checks them itself
	choices map[int][]string        // words that a positional argument can be, for completion
	begins  bool                    // it may begin a new installation; others need one
	run     func(context.Context, *invocation) error
	hidden  bool // used by the program itself
	raw     bool // its arguments are not parsed: all are positional
	serves  bool // it goes on until something happens outside: there is no progress to show
	plain   bool // it works on no installation: settings are not read from the environment
	remote  bool // no setting of an installation matters to it, as to all that call the integration API

	// call is set instead of run in a command that calls the integration API.
	call func(context.Context, *invocation, *client.Client, *lastAnswer) error
}

// invocation is a call of a command.
type invocation struct {
	IO
	settings server.Settings
	begins   bool
	json     bool
	args     []string
	flags    *flag.FlagSet
	progress *progressLine
	options
}

// options are the flags of all commands.
type options struct {
	demo                             demoFlag
	dryRun, allowTest, offline, deep bool
	ready, newest                    bool

	account, name, owner, locale, env, scopes, note, email, role string
	keys, heads, endpoint, status, since, search, id             string

	// Of the commands that call the integration API.
	profile, server, url, events, key string

	eraseOrder string

	order    client.CreateOrder
	photos   photoFlags
	orders   client.OrdersQuery
	move     server.Move
	interval time.Duration

	amount   int64
	rows     int
	limits   limitFlags
	networks networkFlags
}

const anyArgs = -1

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Run runs the command that args name and returns the exit code.
func Run(ctx context.Context, args []string, stdio IO) int {
	if len(args) > 0 && slices.Contains([]string{"help", "--help", "-help", "-h"}, args[0]) {
		return help(ctx, args[1:], stdio)
	}
	if len(args) > 0 && slices.Contains([]string{"--version", "-version", "-v"}, args[0]) {
		args = append([]string{"version"}, args[1:]...)
	}
	c, rest := find(args)
	if c == nil {
		if len(args) == 0 {
			usage(stdio.Stderr, "")
		} else {
			fmt.Fprintln(stdio.Stderr, unknownCommand(args))
		}
		return exitUsage
	}
	inv := &invocation{IO: stdio, begins: c.begins, progress: newProgressLine(stdio.Stderr)}
	if err := c.parse(inv, rest); errors.Is(err, flag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return inv.refuse(c, usageError{err})
	}
	if !c.serves {
		ctx = inv.reporting(ctx, c.name)
	}
	err := c.start(ctx, inv)
	inv.progress.end()
	if err != nil {
		return inv.refuse(c, err)
	}
	return exitOK
}

// usageError is a wrong call.
type usageError struct{ error }

func wrongCall(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// refuse says why a command has failed and returns the exit code.
func (inv *invocation) refuse(c *command, err error) int {
	message := shownLines(messageOf(err))
	if _, wrong := errors.AsType[usageError](err); wrong {
		fmt.Fprintf(inv.Stderr, "assay %s: %s (see assay %s --help)\n", c.name, message, c.name)
		return exitUsage
	}
	fmt.Fprintf(inv.Stderr, "assay %s: %s\n", c.name, message)
	return exitFailed
}

// start runs what the command does.
func (c *command) start(ctx context.Context, inv *invocation) error {
	if c.call == nil {
		return c.run(ctx, inv)
	}
	api, answer, err := inv.remote()
	if err != nil {
		return err
	}
	progress.Step(ctx, "waiting for the server")
	return c.call(ctx, inv, api, answer)
}

// messageOf is what an error says to people: the message of a refusal, without its code. Of a database or a media store
// that cannot be used it says why, because whoever runs a command has to mend that.
func messageOf(err error) string {
	message := err.Error()
	if f, ok := errors.AsType[*fault.Error](err); ok {
		told := f.Message
		if f.Kind == fault.Unavailable && f.Unwrap() != nil {
			told = server.Reason(f)
		}
		message = strings.Replace(message, f.Error(), told, 1)
	}
	return strings.TrimPrefix(message, "assay: ") // which the client says: it is said before every message here
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

// help shows the commands, or the help of the one that args name.
func help(ctx context.Context, args []string, stdio IO) int {
	if c, _ := find(args); c != nil {
		return Run(ctx, append(strings.Fields(c.name), "--help"), stdio)
	}
	if len(args) == 0 {
		usage(stdio.Stdout, "")
		return exitOK
	}
	if len(args) == 1 && slices.ContainsFunc(visible(), func(c *command) bool {
		return strings.HasPrefix(c.name, args[0]+" ")
	}) {
		usage(stdio.Stdout, args[0])
		return exitOK
	}
	fmt.Fprintln(stdio.Stderr, unknownCommand(args))
	return exitUsage
}

// bind adds the settings and the flags of the command to its flag set, and returns the names of the settings.
func (c *command) bind(inv *invocation) (settings map[string]bool) {
	settings = map[string]bool{}
	if !c.remote && c.call == nil {
		inv.settings.Bind(inv.flags)
	}
	inv.flags.VisitAll(func(f *flag.Flag) { settings[f.Name] = true })
	inv.flags.BoolVar(&inv.json, "json", false, "print one JSON value")
	if c.call != nil {
		remoteFlags(inv.flags, inv)
	}
	if c.flags != nil {
		c.flags(inv.flags, inv)
	}
	return settings
}

// parse reads flags, which may come before and after positional arguments, then settings from the environment.
func (c *command) parse(inv *invocation, args []string) error {
	fs := flag.NewFlagSet("assay "+c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	inv.flags = fs
	if c.raw {
		inv.args = args
		return nil
	}
	settings := c.bind(inv)
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				c.printHelp(inv.Stdout, fs, settings)
				return err
			}
			return errors.New(flagProblem(err, fs))
		}
		if fs.NArg() == 0 {
			break
		}
		if read := len(args) - fs.NArg(); read > 0 && args[read-1] == "--" { // all that follows is positional
			inv.args = append(inv.args, fs.Args()...)
			break
		}
		inv.args = append(inv.args, fs.Arg(0))
		args = fs.Args()[1:]
	}
	if err := server.CheckFlags(fs); err != nil {
		return err
	}
	if !c.plain {
		if err := server.FromEnvironment(fs, settings, inv.LookupEnv); err != nil {
			return err
		}
	}
	if c.nargs != anyArgs && len(inv.args) != c.nargs {
		if c.nargs > 0 {
			return fmt.Errorf("takes %s (%s), has %d", count(c.nargs, "argument"), c.args, len(inv.args))
		}
		return fmt.Errorf("takes no arguments, has %d", len(inv.args))
	}
	if err := inv.missing(c.needs); err != nil {
		return err
	}
	if c.check != nil {
		return c.check(inv)
	}
	return nil
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
	progress.Step(ctx, "opening the installation")
	app, err := inv.app(ctx)
	if err != nil {
		return err
	}
	progress.Step(ctx, "working")
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

// print writes v as JSON with --json, otherwise the formatted text, in which the texts of others are visible.
func (inv *invocation) print(v any, format string, args ...any) error {
	inv.progress.end()
	if inv.json {
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return err
		}
		_, err := io.WriteString(inv.Stdout, shownLines(text.String()))
		return err
	}
	return sayf(inv.Stdout, format, args...)
}

// missing returns an error when some of the flags have no value.
func (inv *invocation) missing(flags []string) error {
	var names []string
	for _, name := range flags {
		if inv.flags.Lookup(name).Value.String() == "" {
			names = append(names, "--"+name)
		}
	}
	switch n := len(names); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s is required", names[0])
	default:
		return fmt.Errorf("%s and %s are required", strings.Join(names[:n-1], ", "), names[n-1])
	}
}
