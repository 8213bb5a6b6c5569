// Package pgtest provides PostgreSQL for tests: an empty database per test on a throwaway server, or a separate
// server to stop and crash.
//
// The server is the one named by ASSAY_TEST_POSTGRES (a superuser's DSN; `make test` starts one for the run),
// otherwise each test process starts its own on first use.
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

	"github.com/assayhq/assay/internal/testkit/requires"
)

// Variable is the environment variable with the DSN of a running server.
const Variable = "ASSAY_TEST_POSTGRES"

const statementTimeout = time.Minute

// Database returns the DSN of a new, empty database, which is dropped when the test ends. It skips the test in the
// fast run and fails it if PostgreSQL is not installed.
func Database(t testing.TB) string {
	t.Helper()
	requires.Engine(t, "PostgreSQL")
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

// Cluster starts a server for this test only, to stop or crash it. It ends with the test.
func Cluster(t testing.TB) *Instance {
	t.Helper()
	requires.Engine(t, "PostgreSQL")
	instance, err := Launch()
	if err != nil {
		t.Fatal(err)
	}
	return instance.until(t)
}

// ClusterDatabase is Cluster with an empty database, whose DSN it returns.
func ClusterDatabase(t testing.TB) (*Instance, string) {
	t.Helper()
	instance := Cluster(t)
	dsn, err := instance.Database()
	if err != nil {
		t.Fatal(err)
	}
	return instance, dsn
}

// until has the server end with the test.
func (i *Instance) until(t testing.TB) *Instance {
	t.Helper()
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Errorf("close the test's PostgreSQL: %v", err)
		}
	})
	return i
}

// Database creates an empty database on this server and returns its DSN.
func (i *Instance) Database() (string, error) {
	return createDatabase(i.DSN(), newDatabaseName())
}

// sharedServer returns the superuser's DSN of the server that all tests of this process share. It ends with the
// process.
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

// newDatabaseName returns a unique name that needs no quoting.
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
