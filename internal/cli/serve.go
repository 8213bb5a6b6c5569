package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/assayhq/assay/internal/buildinfo"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/jsonlog"
	"github.com/assayhq/assay/internal/server"
)

func serveFlags(fs *flag.FlagSet, inv *invocation) {
	fs.Var(&inv.demo, "demo", "on an empty database, create a demo catalog, account, keys, credits and staff, print "+
		"them once, and make 60 days of past work; --demo=empty: without the past work")
}

func serve(ctx context.Context, inv *invocation) (err error) {
	defer func() {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil // it was told to stop before it had begun to listen
		}
	}()
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // it would end the program
	signal.Ignore(syscall.SIGPIPE)         // so would this one, once nobody reads the pipe that the log goes to
	defer func() {
		signal.Stop(hangUps)
		close(hangUps)
	}()
	if inv.settings.Demo = inv.demo != demoOff; inv.settings.Demo && inv.settings.IssuerName == "" {
		inv.settings.IssuerName = demoIssuer
	}
	defer runtime.KeepAlive(server.QuietHeap())
	log := inv.logger()
	inv.warnVariables(ctx, log)
	app, err := server.Start(ctx, inv.settings, log)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, app.Close())
		jsonlog.Flush(app.Log)
	}()
	if inv.Program != "" {
		app.DecodeApart = []string{inv.Program, imagesCommand}
	}
	s, err := server.New(ctx, app)
	if err != nil {
		return err
	}
	go func() {
		for range hangUps {
			s.RereadCertificate()
		}
	}()
	if inv.demo != demoOff || demoHalfMade(app.Settings.Data) {
		err := inv.createDemo(inv.reporting(ctx, "demo"), app, s)
		inv.progress.end()
		if err != nil {
			return err
		}
	}
	return s.Run(ctx, inv.Stderr)
}

// warnVariables tells of variables that are named like settings but are none, without their values: most are misspelt.
func (inv *invocation) warnVariables(ctx context.Context, log *slog.Logger) {
	if inv.Environ == nil {
		return
	}
	unknown := server.UnknownVariables(inv.Environ())
	if len(unknown) == 0 {
		return
	}
	var flags []string
	inv.flags.VisitAll(func(f *flag.Flag) { flags = append(flags, f.Name) })
	for i, name := range unknown {
		asFlag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "ASSAY_"), "_", "-"))
		if near := nearest(asFlag, flags); near != "" {
			unknown[i] = fmt.Sprintf("%s (--%s?)", name, near)
		}
	}
	log.WarnContext(ctx, "UNKNOWN VARIABLES: no setting has these names, so they change nothing", "names", unknown)
}

// imagesCommand is the command of the helper process in which the server decodes photos.
const imagesCommand = "derive-images"

func deriveImages(_ context.Context, inv *invocation) error {
	signal.Ignore(syscall.SIGHUP) // which goes to all processes of a service; this one ends with its standard input
	return imaging.ServeHelper(inv.Stdin, inv.Stdout, imaging.HelperMemory)
}

// logger logs to standard error: text on a terminal, otherwise JSON.
func (inv *invocation) logger() *slog.Logger {
	format := inv.settings.LogFormat
	if format == "" {
		format = "json"
		if onTerminal(inv.Stderr) {
			format = "text"
		}
	}
	if format == "text" {
		return slog.New(slog.NewTextHandler(inv.progress, jsonlog.Options()))
	}
	return jsonlog.New(inv.progress)
}

func version(_ context.Context, inv *invocation) error {
	return inv.print(map[string]string{"version": buildinfo.Version, "commit": buildinfo.Commit},
		"assay %s (commit %s)\n", buildinfo.Version, buildinfo.Commit)
}
