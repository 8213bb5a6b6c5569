// Command with-postgres runs a command while a throwaway PostgreSQL server is up, so that one server serves a whole
// test run instead of one for each test process:
//
//	with-postgres -- go test ./...
//
// The command finds the server's DSN in ASSAY_TEST_POSTGRES. The exit code is the command's.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/pgtest"
)

func main() {
	arguments := os.Args[1:]
	if len(arguments) > 0 && arguments[0] == "--" {
		arguments = arguments[1:]
	}
	if len(arguments) == 0 {
		fmt.Fprintln(os.Stderr, "usage: with-postgres -- COMMAND [ARGUMENT…]")
		os.Exit(2)
	}
	code, err := run(arguments)
	if err != nil {
		fmt.Fprintln(os.Stderr, "with-postgres:", err)
	}
	os.Exit(code)
}

func run(arguments []string) (code int, err error) {
	// Forward signals to the command. This program ends only after the command, so that the server is always cleaned
	// up.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)

	server, err := pgtest.Launch()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()

	cmd := exec.Command(arguments[0], arguments[1:]...)
	cmd.Env = append(os.Environ(), pgtest.Variable+"="+server.DSN())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	process, err := child.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return 127, err
	}
	for {
		select {
		case received := <-signals:
			if err := process.Signal(received); err != nil {
				return 1, err
			}
		case <-process.Done():
			if code := process.ExitCode(); code >= 0 {
				return code, nil
			}
			return 1, process.Wait()
		}
	}
}
