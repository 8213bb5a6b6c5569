// Package program runs the real binary for end-to-end tests: servers on free ports, which tests stop or kill, and
// administrative commands with the same settings.
package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const commandTimeout = 2 * time.Minute

// Settings are settings of the program by flag name without dashes: {"database": "postgres://…"}.
type Settings map[string]string

// Installation is a set of settings on which any number of servers and commands can run, also concurrently.
type Installation struct {
	launcher    []string // what starts the binary, with its arguments; empty: nothing
	binary      string
	environment []string
}

// New creates an installation with an empty data directory and every listener on a free port of 127.0.0.1,
// overridden by settings. ASSAY_ variables of the test's environment are ignored.
func New(t testing.TB, settings Settings) *Installation {
	t.Helper()
	all := Settings{
		"listen":     "127.0.0.1:0",
		"tls-listen": "127.0.0.1:0",
		"ops-listen": "127.0.0.1:0",

		"test-event-delay": "0s", // tests wait for events; that they can be delayed has a test of its own
	}
	if _, given := settings["data"]; !given {
		all["data"] = t.TempDir()
	}
	maps.Copy(all, settings)

	environment := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "ASSAY_")
	})
	for name, value := range all {
		variable := "ASSAY_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		environment = append(environment, variable+"="+value)
	}
	return &Installation{binary: Build(t), environment: environment}
}

// Through returns the installation with servers that are started by another program, such as `ip netns exec NAME`,
// which has to become the server.
func (i *Installation) Through(launcher ...string) *Installation {
	other := *i
	other.launcher = launcher
	return &other
}

// As returns the installation with servers of another binary, and further variables in their environment.
func (i *Installation) As(binary string, variables ...string) *Installation {
	other := *i
	other.binary = binary
	other.environment = append(slices.Clone(i.environment), variables...)
	return &other
}

// server returns the command that starts a server.
func (i *Installation) server(arguments ...string) *exec.Cmd {
	line := slices.Concat(i.launcher, []string{i.binary, "serve"}, arguments)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = i.environment
	return cmd
}

// Result is the result of a command.
type Result struct {
	Stdout, Stderr string
	ExitCode       int
}

// Run runs a command. A failing command does not fail the test.
func (i *Installation) Run(t testing.TB, arguments ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, i.binary, arguments...)
	cmd.Env = i.environment
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if ctx.Err() != nil || (err != nil && !errors.As(err, &exit)) {
		t.Fatalf("assay %s: %v\n%s", strings.Join(arguments, " "), err, &stderr)
	}
	return Result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// CLI runs a command with --json and decodes its output into answer, a pointer. The test fails if the command does,
// or if standard output is not exactly one JSON value.
func (i *Installation) CLI(t testing.TB, answer any, arguments ...string) {
	t.Helper()
	arguments = append(slices.Clone(arguments), "--json")
	command := "assay " + strings.Join(arguments, " ")
	result := i.Run(t, arguments...)
	if result.ExitCode != 0 {
		t.Fatalf("%s: exit code %d\n%s", command, result.ExitCode, result.Stderr)
	}
	if err := decodeOnly(result.Stdout, answer); err != nil {
		t.Fatalf("%s: %v; it printed:\n%s", command, err, result.Stdout)
	}
}

func decodeOnly(output string, answer any) error {
	decoder := json.NewDecoder(strings.NewReader(output))
	if err := decoder.Decode(answer); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return nil
}
