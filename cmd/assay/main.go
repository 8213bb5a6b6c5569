// Command assay is the whole service: the server and its administrative commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // opening hours have time zones; the machine may have no database of them

	"github.com/assayhq/assay/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	program, err := os.Executable()
	if err != nil {
		program = "" // the system does not tell: there is a way without
	}
	code := cli.Run(ctx, os.Args[1:], cli.IO{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		LookupEnv: os.LookupEnv, Environ: os.Environ, Program: program,
	})
	stop()
	os.Exit(code)
}
