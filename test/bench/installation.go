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

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/pgtest"
)

// engine is a database that the program is measured on.
type engine string

const (
	sqlite   engine = "SQLite"
	postgres engine = "PostgreSQL"
)

const (
	secretKey   = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	accountName = "Bench"
	credits     = "1000000000"
	limit       = "1000000000" // requests per minute, out of reach of these loads
)

// installation is the program on an empty database, with an account.
type installation struct {
	suite       *suite
	folder      string
	environment []string
	database    *pgtest.Instance // nil: SQLite
	dsn         string           // of PostgreSQL
	account     struct {
		ID       string `json:"account_id"`
		Email    string `json:"email"`
		Password string `json:"password"`
	}
	staff struct {
		Email    string `json:"email"`
		Password string `json:"password"`
		Token    string `json:"token"`
	}
	key struct {
		ID     string `json:"id"`
		Secret string `json:"key"`
	}
}

// install creates an installation with the demo catalog and a Live key. Durability is as in production:
// synchronous=FULL, fsync on.
func (s *suite) install(ctx context.Context, e engine) (*installation, error) {
	folder, err := os.MkdirTemp(s.folder, "installation-")
	if err != nil {
		return nil, err
	}
	i := &installation{
		suite:  s,
		folder: folder,
		environment: append(
			os.Environ(), "ASSAY_DATA="+filepath.Join(folder, "data"), "ASSAY_LISTEN=127.0.0.1:0", "ASSAY_TLS_LISTEN=",
			"ASSAY_OPS_LISTEN=127.0.0.1:0", "ASSAY_LOG_FORMAT=json",
		),
	}
	if e == postgres {
		if i.database, err = pgtest.Launch("fsync=on", "full_page_writes=on", "shared_buffers=256MB"); err != nil {
			return nil, err
		}
		if i.dsn, err = i.database.Database(); err != nil {
			return nil, errors.Join(err, i.remove())
		}
		i.environment = append(i.environment, "ASSAY_DATABASE="+i.dsn, "ASSAY_SECRET_KEY="+secretKey)
	}
	if err := i.fill(ctx); err != nil {
		return nil, errors.Join(err, i.remove())
	}
	return i, nil
}

func (i *installation) fill(ctx context.Context) error {
	catalog := filepath.Join(i.folder, "catalog.yaml")
	if err := os.WriteFile(catalog, demo.Catalog, 0o600); err != nil {
		return err
	}
	keys := []string{"keys", "create", "--account", accountName, "--env", "live", "--name", "bench", "--scopes", "all"}
	for _, category := range []string{"catalog", "read", "create", "update", "upload", "webhook"} {
		keys = append(keys, "--limit", category+"="+limit)
	}
	return errors.Join(
		i.command(ctx, new(any), "catalog", "import", catalog),
		i.command(ctx, &i.account, "accounts", "create", "--name", accountName, "--owner", "owner@bench.example"),
		i.command(ctx, &i.key, keys...),
		i.command(ctx, &i.staff, "staff", "create", "--email", "reviewer@bench.example", "--name", "Reviewer", "--role",
			"reviewer"),
		i.command(ctx, new(any), "credits", "grant", "--account", accountName, "--env", "live", "--amount", credits,
			"--note", "bench"),
	)
}

// command runs an administrative command and decodes its answer.
func (i *installation) command(ctx context.Context, answer any, arguments ...string) error {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, i.suite.binary, append(arguments, "--json")...)
	cmd.Env, cmd.Stderr = i.environment, &stderr
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

// remove ends the database and frees the disk space.
func (i *installation) remove() error {
	var err error
	if i.database != nil {
		err = i.database.Close()
	}
	return errors.Join(err, os.RemoveAll(i.folder))
}

func (i *installation) start(ctx context.Context) (*server, error) {
	cmd := exec.Command(i.suite.binary, "serve")
	cmd.Env = i.environment
	return startServer(ctx, cmd, filepath.Join(i.folder, "server.log"))
}

func (i *installation) header() http.Header {
	return http.Header{"Authorization": {"Bearer " + i.key.Secret}}
}

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
		case <-time.After(10 * time.Millisecond):
		}
	}
}
