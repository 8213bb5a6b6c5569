package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assayhq/assay/internal/testkit/child"
)

const (
	superuser    = "assay"
	startTimeout = 60 * time.Second
	portAttempts = 5
)

// serverSettings make a throwaway server fast. synchronous_commit stays on: without it Crash could lose
// acknowledged transactions, and with fsync off it costs nothing.
var serverSettings = []string{
	"listen_addresses=127.0.0.1",
	"unix_socket_directories=",
	"fsync=off",
	"full_page_writes=off",
	"max_connections=200",
	"shared_buffers=32MB",
	"timezone=Asia/Kolkata", // with an offset of half an hour, to detect times interpreted by the server
	"log_timezone=UTC",
}

// Instance is a PostgreSQL server in a temporary directory. Its methods are not safe for concurrent use, except DSN
// and Database.
type Instance struct {
	settings []string
	binaries string
	owner    owner
	folder   string
	password string
	port     int
	server   *child.Process // nil: not running
	janitor  *child.Janitor
}

// Launch initialises and starts a server. If this process ends without Close, however that happens, the server
// stops and its directory is removed. Tests use Cluster or Database; Launch is for programs. settings, such as
// "fsync=on", override those of a throwaway server.
func Launch(settings ...string) (*Instance, error) {
	binaries, err := findBinaries()
	if err != nil {
		return nil, err
	}
	owner, err := findOwner()
	if err != nil {
		return nil, err
	}
	i := &Instance{
		settings: append(slices.Clone(serverSettings), settings...), binaries: binaries, owner: owner, password: rand.Text(),
	}
	if err := i.makeFolder(); err != nil {
		return nil, err
	}
	if err := i.initialise(); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	if err := i.startOnFreePort(); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// makeFolder makes the server's folder, which is removed with the end of this process at the latest.
func (i *Instance) makeFolder() (err error) {
	if i.folder, err = i.owner.newFolder(); err != nil {
		return fmt.Errorf("make the server's folder: %w", err)
	}
	if i.janitor, err = child.StartJanitor(i.folder); err != nil {
		return errors.Join(err, os.RemoveAll(i.folder))
	}
	return nil
}

func (i *Instance) initialise() error {
	// The password keeps other users of the machine out, and detects another server that took the port first.
	passwordFile := filepath.Join(i.folder, "password")
	if err := i.owner.writeFile(passwordFile, i.password); err != nil {
		return fmt.Errorf("write the superuser's password: %w", err)
	}
	initdb := i.owner.command(i.folder, filepath.Join(i.binaries, "initdb"),
		"--pgdata="+i.data(), "--username="+superuser, "--auth=scram-sha-256", "--pwfile="+passwordFile,
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if output, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, output)
	}
	return nil
}

func (i *Instance) data() string { return filepath.Join(i.folder, "data") }

// LogFile is the path of the server's log.
func (i *Instance) LogFile() string { return filepath.Join(i.folder, "server.log") }

// startOnFreePort starts the server for the first time; later starts keep the port.
func (i *Instance) startOnFreePort() error {
	var err error
	for range portAttempts {
		if i.port, err = child.FreePort(); err != nil {
			return err
		}
		if err = i.Start(); err == nil {
			return nil
		}
	}
	return err
}

// Start restarts the server after Stop or Crash, on the same port with the same data, and returns once it accepts
// connections.
func (i *Instance) Start() error {
	if i.server != nil {
		return errors.New("start PostgreSQL: it is running")
	}
	log, err := os.OpenFile(i.LogFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own handle
	arguments := []string{"-D", i.data(), "-p", strconv.Itoa(i.port)}
	for _, setting := range i.settings { // the last one of a name counts
		arguments = append(arguments, "-c", setting)
	}
	cmd := i.owner.command(i.folder, filepath.Join(i.binaries, "postgres"), arguments...)
	cmd.Stdout, cmd.Stderr = log, log
	if i.server, err = child.Start(cmd, syscall.SIGQUIT); err != nil {
		return err
	}
	if err := i.waitUntilReady(); err != nil {
		output, _ := os.ReadFile(i.LogFile())
		return errors.Join(fmt.Errorf("start PostgreSQL on port %d: %w\n%s", i.port, err, output), i.Crash())
	}
	return nil
}

func (i *Instance) waitUntilReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		connection, err := pgx.Connect(ctx, i.DSN())
		if err == nil {
			return connection.Close(ctx)
		}
		select {
		case <-i.server.Done():
			return fmt.Errorf("the server ended: %w", i.server.Wait())
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w", startTimeout, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop shuts the server down: open transactions are rolled back and clients are disconnected.
func (i *Instance) Stop() error { return i.end(syscall.SIGINT) }

// Crash ends the server immediately, without a checkpoint. The next Start recovers; acknowledged transactions
// survive.
func (i *Instance) Crash() error { return i.end(syscall.SIGQUIT) }

// Kill ends the server with SIGKILL. Its processes notice by themselves, so that the next Start may fail for a moment.
func (i *Instance) Kill() error { return i.end(syscall.SIGKILL) }

// Execute runs a statement in the maintenance database as superuser. It may write also where the server says that
// transactions are read-only.
func (i *Instance) Execute(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	connection, err := pgx.Connect(ctx, i.DSN())
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	if _, err := connection.Exec(ctx, "SET default_transaction_read_only = off"); err != nil {
		return err
	}
	_, err = connection.Exec(ctx, statement)
	return err
}

func (i *Instance) end(signal syscall.Signal) error {
	if i.server == nil {
		return nil
	}
	server := i.server
	i.server = nil
	if err := server.Signal(signal); err != nil {
		return err
	}
	<-server.Done()
	return nil
}

// Close ends the server if it runs and removes its directory. It may be called again.
func (i *Instance) Close() error {
	return errors.Join(i.Crash(), i.janitor.Clean())
}

// DSN returns the DSN of the maintenance database for the superuser.
func (i *Instance) DSN() string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/postgres?sslmode=disable", superuser, i.password, i.port)
}
