package pgtest

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
)

// Replica starts a streaming replica of the server, for this test only. It ends with the test.
func (i *Instance) Replica(t testing.TB) *Instance {
	t.Helper()
	replica, err := i.launchReplica()
	if err != nil {
		t.Fatal(err)
	}
	return replica.until(t)
}

func (i *Instance) launchReplica() (*Instance, error) {
	r := &Instance{settings: i.settings, binaries: i.binaries, owner: i.owner, password: i.password}
	if err := r.makeFolder(); err != nil {
		return nil, err
	}
	backup := i.owner.command(r.folder, filepath.Join(i.binaries, "pg_basebackup"), "--pgdata="+r.data(),
		"--host=127.0.0.1", "--port="+strconv.Itoa(i.port), "--username="+superuser, "--write-recovery-conf",
		"--wal-method=stream", "--checkpoint=fast", "--no-sync", "--no-password")
	backup.Env = append(backup.Env, "PGPASSWORD="+i.password)
	if output, err := backup.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("pg_basebackup: %w\n%s", err, output), r.Close())
	}
	if err := r.startOnFreePort(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Same returns the DSN of the database on this server that another DSN names on another.
func (i *Instance) Same(t testing.TB, dsn string) string {
	t.Helper()
	here, err := url.Parse(i.DSN())
	if err != nil {
		t.Fatal(err)
	}
	there, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	here.Path = there.Path
	return here.String()
}
