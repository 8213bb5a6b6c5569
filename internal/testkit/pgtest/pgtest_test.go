package pgtest_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/requires"
)

// doomedRole makes this test binary act as a test process that is about to be killed.
const doomedRole = "ASSAY_PGTEST_DOOMED"

func TestMain(m *testing.M) { child.Main(m, doomedRole, actAsDoomed) }

// actAsDoomed starts a server, prints its DSN and folder, and waits to be killed.
func actAsDoomed() {
	instance, err := pgtest.Launch()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(instance.DSN())
	time.Sleep(time.Hour)
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close(context.Background()) })
	return connection
}

func execute(t *testing.T, connection *pgx.Conn, statement string) {
	t.Helper()
	if _, err := connection.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func query(t *testing.T, connection *pgx.Conn, statement string) string {
	t.Helper()
	var value string
	if err := connection.QueryRow(t.Context(), statement).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

func TestDatabase_EmptyAndSeparate(t *testing.T) {
	first := connect(t, pgtest.Database(t))
	second := connect(t, pgtest.Database(t))
	execute(t, first, "CREATE TABLE thing (id bigint)")
	const tables = "SELECT count(*)::text FROM pg_tables WHERE schemaname = 'public'"
	if got := query(t, second, tables); got != "0" {
		t.Errorf("a table of one database shows in the other: %s tables", got)
	}
}

// TestDatabase_SurvivesGarbageCollection checks that an unreferenced server is not cleaned up while the process
// lives.
func TestDatabase_SurvivesGarbageCollection(t *testing.T) {
	connection := connect(t, pgtest.Database(t))
	for range 3 {
		runtime.GC()
	}
	folder := query(t, connection, "SHOW data_directory")
	time.Sleep(100 * time.Millisecond) // time for the janitor to go wrong
	if _, err := os.Stat(folder); err != nil {
		t.Error(err)
	}
}

func TestDatabase_Settings(t *testing.T) {
	connection := connect(t, pgtest.Database(t))
	expect.Results(t, func(setting string) string { return query(t, connection, "SHOW "+setting) }, map[string]string{
		"server_encoding":    "UTF8",
		"timezone":           "Asia/Kolkata",
		"synchronous_commit": "on",
	})
	if got := query(t, connection, "SELECT datcollate FROM pg_database WHERE datname = current_database()"); got != "C" {
		t.Errorf("collation is %s, want C", got)
	}
}

func TestDatabase_DroppedAtTheEnd(t *testing.T) {
	requires.Engine(t, "PostgreSQL")
	var dsn string
	t.Run("Use", func(t *testing.T) {
		dsn = pgtest.Database(t)
		// A connection that is still open does not keep the database alive.
		connection, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		execute(t, connection, "CREATE TABLE thing (id bigint)")
	})
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(address.Path, "/")
	left := query(t, connect(t, pgtest.Database(t)), "SELECT count(*)::text FROM pg_database WHERE datname = '"+name+"'")
	if left != "0" {
		t.Errorf("database %s outlived its test", name)
	}
}

func TestInstance_KeepsAcknowledgedRows(t *testing.T) {
	instance, dsn := pgtest.ClusterDatabase(t)
	execute(t, connect(t, dsn), "CREATE TABLE thing (id bigint)")
	for _, end := range []struct {
		name string
		call func() error
	}{{"Stop", instance.Stop}, {"Crash", instance.Crash}} {
		t.Run(end.name, func(t *testing.T) {
			connection := connect(t, dsn)
			before := query(t, connection, "SELECT count(*)::text FROM thing")
			execute(t, connection, "INSERT INTO thing VALUES (1)")
			if err := end.call(); err != nil {
				t.Fatal(err)
			}
			if _, err := pgx.Connect(t.Context(), dsn); err == nil {
				t.Error("the server still answers")
			}
			if err := instance.Start(); err != nil {
				t.Fatal(err)
			}
			after := query(t, connect(t, dsn), "SELECT count(*)::text FROM thing")
			if before == after {
				t.Errorf("%s rows before and after an acknowledged insert", after)
			}
		})
	}
	if err := instance.Start(); err == nil {
		t.Error("a second Start of a running server succeeded")
	}
}

func TestLaunch_NothingIsLeftOfAKilledProcess(t *testing.T) {
	requires.Engine(t, "PostgreSQL")
	temporary := t.TempDir() // used unless the test runs as root
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), doomedRole+"=1", "TMPDIR="+temporary)
	dsn := must.Start(t, process)
	folder := dataFolder(t, dsn)
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait() // reports the kill

	must.Eventually(t, time.Minute, "the folder and the server are gone after the kill", func() bool {
		_, statErr := os.Stat(folder)
		_, connectErr := pgx.Connect(t.Context(), dsn)
		return os.IsNotExist(statErr) && connectErr != nil
	})
}

func dataFolder(t *testing.T, dsn string) string {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("the process printed %q: %v", dsn, err)
	}
	defer connection.Close(t.Context())
	return query(t, connection, "SHOW data_directory")
}
