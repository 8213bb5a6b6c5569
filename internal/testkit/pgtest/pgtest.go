// Package pgtest gives tests real PostgreSQL: an empty database for each test on a throwaway server, or a server of
// one's own to stop and crash.
//
// The server is the one that ASSAY_TEST_POSTGRES names (a superuser's DSN; `make test` starts one for the whole
// run), or else one that each test process starts for itself when the first test asks.
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assayhq/assay/internal/testkit/need"
)

// Variable names a running server for all test processes.
const Variable = "ASSAY_TEST_POSTGRES"

const statementTimeout = time.Minute

// Database returns the DSN of a fresh, empty database, which is dropped when the test ends. It skips the test in
// the fast run and fails it when there is no PostgreSQL.
func Database(t testing.TB) string {
	t.Helper()
	need.Engine(t, "PostgreSQL")
	server, err := sharedServer()
	if err != nil {
		t.Fatal(err)
	}
	name := newDatabaseName()
	dsn, err := createDatabase(server, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return dsn
}

// Cluster starts a server that belongs to this test alone, for tests that stop or crash it. It ends with the test.
func Cluster(t testing.TB) *Instance {
	t.Helper()
	need.Engine(t, "PostgreSQL")
	instance, err := Launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := instance.Close(); err != nil {
			t.Errorf("close the test's PostgreSQL: %v", err)
		}
	})
	return instance
}

// Database makes a fresh, empty database on this server and returns its DSN. It goes with the server.
func (i *Instance) Database() (string, error) {
	return createDatabase(i.DSN(), newDatabaseName())
}

// sharedServer returns the superuser's DSN of the server that all tests of this process use. Nobody closes a server
// that it starts: it ends with the process.
var sharedServer = sync.OnceValues(func() (string, error) {
	if dsn := os.Getenv(Variable); dsn != "" {
		return dsn, nil
	}
	instance, err := Launch()
	if err != nil {
		return "", err
	}
	return instance.DSN(), nil
})

// newDatabaseName returns a name that no other test uses and that needs no quoting.
func newDatabaseName() string {
	return "assay_test_" + strings.ToLower(rand.Text())
}

func createDatabase(server, name string) (string, error) {
	address, err := url.Parse(server)
	if err != nil || address.Scheme == "" {
		return "", fmt.Errorf("%s must have the form postgres://user:password@host:port/database", Variable)
	}
	if err := execute(server, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		return "", fmt.Errorf("create a test database: %w", err)
	}
	address.Path = "/" + name
	return address.String(), nil
}

func execute(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	connection, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	_, err = connection.Exec(ctx, statement)
	return err
}
