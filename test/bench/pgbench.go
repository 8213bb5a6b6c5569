package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/sqltrace"
)

const pgbenchClients = 16

// watch returns the transactions that the database runs while f is called.
func (i *installation) watch(ctx context.Context, f func() error) ([][]sqltrace.Statement, error) {
	if err := errors.Join(rawsql.Run(ctx, i.database.DSN(), sqltrace.LogAll),
		rawsql.Run(ctx, i.database.DSN(), sqltrace.ReloadSettings)); err != nil {
		return nil, err
	}
	time.Sleep(500 * time.Millisecond) // until every backend has noticed
	before, err := os.Stat(i.database.LogFile())
	if err != nil {
		return nil, err
	}
	err = f()
	if err := errors.Join(err, rawsql.Run(ctx, i.database.DSN(), sqltrace.LogNone),
		rawsql.Run(ctx, i.database.DSN(), sqltrace.ReloadSettings)); err != nil {
		return nil, err
	}
	log, err := os.ReadFile(i.database.LogFile())
	if err != nil {
		return nil, err
	}
	return sqltrace.ReadPostgres(string(log[before.Size():]))
}

// replayOf returns a transaction that can be run again: of those that were recorded and fit, two of the same statements
// are compared.
func replayOf(recorded [][]sqltrace.Statement, fits func([]sqltrace.Statement) bool) (*sqltrace.Replay, error) {
	fitting := slices.DeleteFunc(slices.Clone(recorded), func(t []sqltrace.Statement) bool { return !fits(t) })
	for i := 1; i < len(fitting); i++ {
		if replay, err := sqltrace.NewReplay(fitting[i-1], fitting[i], fitting); err == nil {
			return replay, nil
		}
	}
	return nil, errors.New("no two recorded transactions have the same statements")
}

// mentions reports whether a statement begins so and has a text in its parameters.
func mentions(transaction []sqltrace.Statement, begin, text string) bool {
	for _, s := range transaction {
		if !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(s.Text)), begin) {
			continue
		}
		for _, arg := range s.Args {
			if value, ok := arg.(string); ok && strings.Contains(value, text) {
				return true
			}
		}
	}
	return false
}

// counting makes a script count its turns, differently for each client: in all runs, if they have a number each.
const counting = "\\set k :k + 1\n\\set n :run * 100000000 + :client_id * 1000000 + :k\n\\set a random(1, :all)\n"

// pgbenchSide runs a script on a database. The variable all is how many variants it chooses from.
func (s *suite) pgbenchSide(name, dsn, script string, all int) (*side, error) {
	program, err := exec.LookPath("pgbench")
	if err != nil {
		return nil, fmt.Errorf("pgbench belongs to PostgreSQL, but it is not installed: %w", err)
	}
	address, err := url.Parse(dsn)
	if err != nil {
		return nil, errors.New("the DSN cannot be read")
	}
	folder, err := os.MkdirTemp(s.folder, "pgbench-")
	if err != nil {
		return nil, err
	}
	arguments := []string{
		"-n", "-M", "prepared", "-c", strconv.Itoa(pgbenchClients), "-j", "2", "-h", address.Hostname(), "-p", address.Port(),
		"-U", address.User.Username(), "-D", "k=0", "-D", fmt.Sprintf("all=%d", all), "-f",
		filepath.Join(folder, "script.sql"),
	}
	if err := os.WriteFile(filepath.Join(folder, "script.sql"), []byte(script), 0o600); err != nil {
		return nil, err
	}
	password, _ := address.User.Password()
	return &side{name: name, round: func(ctx context.Context, d time.Duration) (sample, error) {
		s.pgbenchRuns++
		seconds := max(1, int(d.Round(time.Second).Seconds())) // it counts whole ones
		cmd := exec.CommandContext(ctx, program, append(arguments, "-T", strconv.Itoa(seconds), "-D",
			fmt.Sprintf("run=%d", s.pgbenchRuns), strings.TrimPrefix(address.Path, "/"))...)
		cmd.Env = append(os.Environ(), "PGPASSWORD="+password)
		output, err := cmd.CombinedOutput()
		if err != nil {
			return sample{}, fmt.Errorf("pgbench: %w\n%s", err, output)
		}
		return readPgbench(string(output), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}}, nil
}

var (
	pgbenchRate      = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)
	pgbenchProcessed = regexp.MustCompile(`(?m)^number of transactions actually processed: ([0-9]+)`)
	pgbenchFailed    = regexp.MustCompile(`(?m)^number of failed transactions: ([0-9]+)`)
)

func readPgbench(output string, processor time.Duration) (sample, error) {
	rate, processed := pgbenchRate.FindStringSubmatch(output), pgbenchProcessed.FindStringSubmatch(output)
	if rate == nil || processed == nil {
		return sample{}, fmt.Errorf("pgbench says:\n%s", output)
	}
	if failed := pgbenchFailed.FindStringSubmatch(output); failed != nil && failed[1] != "0" {
		return sample{}, fmt.Errorf("transactions of pgbench failed:\n%s", output)
	}
	perSecond, err := strconv.ParseFloat(rate[1], 64)
	if err != nil {
		return sample{}, err
	}
	n, err := strconv.Atoi(processed[1])
	if err != nil || n == 0 {
		return sample{}, fmt.Errorf("pgbench says:\n%s", output)
	}
	return sample{rate: perSecond, work: processor / time.Duration(n)}, nil
}
