package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/sqltrace"
)

// engine is a database that the program is measured on.
type engine string

const (
	sqlite   engine = "SQLite"
	postgres engine = "PostgreSQL"
)

const (
	prefix    = "/v1/integrations"
	secretKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	credits   = "1000000000"
	limit     = "1000000000" // requests per minute, out of reach of these loads
)

// account is a customer with a Live and a Test key.
type account struct {
	Name     string
	ID       string `json:"account_id"`
	Email    string `json:"email"`
	Password string `json:"password"`
	Live     apiKey
	Test     apiKey
}

type apiKey struct {
	ID     string `json:"id"`
	Secret string `json:"key"`
}

func (k *apiKey) header() http.Header { return http.Header{"Authorization": {"Bearer " + k.Secret}} }

// installation is the program on a database, with accounts and a reviewer.
type installation struct {
	suite    *suite
	folder   string
	settings []string         // of the environment, in addition
	core     string           // the only one that the program may use; empty: all
	database *pgtest.Instance // nil: SQLite
	dsn      string           // of PostgreSQL
	known                     // what is kept with a filled database
}

type known struct {
	Accounts []account
	Staff    struct {
		Email    string `json:"email"`
		Password string `json:"password"`
		Token    string `json:"token"`
	}
	Orders   int      // of the first account
	Template []string // the ids of the orders that the others are copies of
	Judged   int      // how many of these have ended: the first ones
}

// install creates an installation with the demo catalog and accounts. Durability is as in production: synchronous=FULL,
// fsync on. It is removed at the end of the part.
func (s *suite) install(ctx context.Context, e engine, accounts int, settings ...string) (*installation, error) {
	folder, err := os.MkdirTemp(s.folder, "installation-")
	if err != nil {
		return nil, err
	}
	i := &installation{suite: s, folder: folder, settings: settings}
	s.later(i.remove)
	if e == postgres {
		if i.database, err = pgtest.Launch("fsync=on", "full_page_writes=on", "shared_buffers=256MB",
			sqltrace.PostgresSettings); err != nil {
			return nil, err
		}
		if i.dsn, err = i.database.Database(); err != nil {
			return nil, err
		}
	}
	return i, i.populate(ctx, accounts)
}

// environment returns the settings of the program.
func (i *installation) environment() []string {
	all := append(os.Environ(), "ASSAY_DATA="+filepath.Join(i.folder, "data"), "ASSAY_LISTEN=127.0.0.1:0",
		"ASSAY_TLS_LISTEN=", "ASSAY_OPS_LISTEN=127.0.0.1:0", "ASSAY_LOG_FORMAT=json", "ASSAY_PPROF=true",
		"ASSAY_REQUIRE_SECOND_FACTOR=none")
	if i.dsn != "" {
		all = append(all, "ASSAY_DATABASE="+i.dsn, "ASSAY_SECRET_KEY="+secretKey)
	}
	return append(all, i.settings...)
}

func (i *installation) populate(ctx context.Context, accounts int) error {
	catalog := filepath.Join(i.folder, "catalog.yaml")
	if err := os.WriteFile(catalog, demo.Catalog, 0o600); err != nil {
		return err
	}
	if err := errors.Join(
		i.command(ctx, new(any), "catalog", "import", catalog),
		i.command(ctx, &i.Staff, "staff", "create", "--email", "reviewer@bench.example", "--name", "Reviewer", "--role",
			"reviewer"),
	); err != nil {
		return err
	}
	i.Accounts = make([]account, accounts)
	for n := range i.Accounts {
		a := &i.Accounts[n]
		a.Name = fmt.Sprintf("Bench %d", n)
		if err := errors.Join(
			i.command(ctx, a, "accounts", "create", "--name", a.Name, "--owner", fmt.Sprintf("owner%d@bench.example", n)),
			i.command(ctx, &a.Live, keyArguments(a.Name, "live")...),
			i.command(ctx, &a.Test, keyArguments(a.Name, "test")...),
			i.command(ctx, new(any), "credits", "grant", "--account", a.Name, "--env", "live", "--amount", credits, "--note",
				"bench"),
		); err != nil {
			return err
		}
	}
	return nil
}

func keyArguments(account, environment string) []string {
	arguments := []string{
		"keys", "create", "--account", account, "--env", environment, "--name", "bench", "--scopes", "all",
	}
	for _, category := range []string{"catalog", "read", "create", "update", "upload", "webhook"} {
		arguments = append(arguments, "--limit", category+"="+limit)
	}
	return arguments
}

// command runs an administrative command and decodes its answer.
func (i *installation) command(ctx context.Context, answer any, arguments ...string) error {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, i.suite.binary, append(arguments, "--json")...)
	cmd.Env, cmd.Stderr = i.environment(), &stderr
	output, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("assay %s: %w\n%s", strings.Join(arguments[:2], " "), err, &stderr)
	}
	return json.Unmarshal(output, answer)
}

// target returns the store's target.
func (i *installation) target() string {
	if i.dsn != "" {
		return i.dsn
	}
	return filepath.Join(i.folder, "data", "assay.db")
}

// remove ends the database and frees the disk space, unless it is kept in the cache.
func (i *installation) remove() error {
	var err error
	if i.database != nil {
		err = i.database.Close()
	}
	if strings.HasPrefix(i.folder, i.suite.cache) {
		return err
	}
	return errors.Join(err, os.RemoveAll(i.folder))
}

// shop is a running installation.
type shop struct {
	*installation
	server *server
}

// start starts the program.
func (i *installation) start(ctx context.Context) (*shop, error) {
	cmd := exec.Command(i.suite.binary, "serve")
	if i.core != "" {
		cmd = exec.Command("taskset", "--cpu-list", i.core, i.suite.binary, "serve")
	}
	cmd.Env = i.environment()
	running, err := startServer(ctx, cmd, filepath.Join(i.folder, "server.log"))
	if err != nil {
		return nil, err
	}
	return &shop{i, running}, nil
}

// launch starts the program until the end of the part.
func (i *installation) launch(ctx context.Context) (*shop, error) {
	running, err := i.start(ctx)
	if err != nil {
		return nil, err
	}
	i.suite.later(running.server.close)
	return running, nil
}

// launchFresh starts the program on an installation of its own.
func (s *suite) launchFresh(ctx context.Context, e engine, settings ...string) (*shop, error) {
	i, err := s.install(ctx, e, 1, settings...)
	if err != nil {
		return nil, err
	}
	return i.launch(ctx)
}

// launchFilled starts the program on an installation with a stock of orders and returns it when it is idle.
func (s *suite) launchFilled(ctx context.Context, e engine, w stock) (*shop, error) {
	i, err := s.filled(ctx, e, w)
	if err != nil {
		return nil, err
	}
	launched, err := i.launch(ctx)
	if err != nil {
		return nil, err
	}
	return launched, launched.server.untilIdle()
}

// catchUp runs the program until it is idle.
func (i *installation) catchUp(ctx context.Context) (err error) {
	s, err := i.start(ctx)
	if err != nil {
		return err
	}
	return errors.Join(s.server.untilIdle(), s.server.close())
}

const (
	idleSample = time.Second // without work: nothing is left to do
	idleWait   = 10 * time.Minute
)

// untilIdle waits until the program has nothing to do. The orders of a filled database ended over the last two months,
// while nothing ran: housekeeping counts them, once, and deletes what is too old.
func (s *server) untilIdle() error {
	for began := time.Now(); time.Since(began) < idleWait; {
		before, err := processorTime(s.process.PID())
		if err != nil {
			return err
		}
		time.Sleep(idleSample)
		after, err := processorTime(s.process.PID())
		if err != nil {
			return err
		}
		if after-before <= idleSample/20 {
			return nil
		}
	}
	return fmt.Errorf("the program is not idle after %s", idleWait)
}

func (s *shop) url(path string) string { return "http://" + s.server.http + path }

// client returns a client over plain HTTP.
func (s *shop) client(k apiKey) (*client.Client, error) {
	return client.New(s.url(prefix), k.Secret, client.WithoutRetry())
}

func (i *installation) staffHeader() http.Header {
	return http.Header{"Authorization": {"Bearer " + i.Staff.Token}, "Content-Type": {"application/json"}}
}

// header is that of the Live key of the first account.
func (i *installation) header() http.Header { return i.Accounts[0].Live.header() }

var listening = regexp.MustCompile(`(?m)^listening http=(\S+) tls=\S+ ops=(\S+)\n`)

// startServer starts a server that logs to a file, and returns when it is listening.
func startServer(ctx context.Context, cmd *exec.Cmd, logFile string) (*server, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the server has its own handle
	cmd.Stderr = log
	process, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return nil, err
	}
	for {
		text, err := os.ReadFile(logFile)
		if err != nil {
			return nil, err
		}
		if match := listening.FindSubmatch(text); match != nil {
			return &server{http: string(match[1]), ops: string(match[2]), process: process}, nil
		}
		select {
		case <-process.Done():
			text, _ = os.ReadFile(logFile) // its last words
			return nil, fmt.Errorf("the server ended with %d:\n%s", process.ExitCode(), text)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
