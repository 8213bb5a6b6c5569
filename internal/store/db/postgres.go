package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/assayhq/assay/internal/store/admission"
)

// How long each side waits for the other. A node that is stopped, or cut off from the network, holds its locks until
// PostgreSQL gives up on it: in the middle of a transaction after sessionParameters' two seconds. A connection that
// breaks silently is noticed by the deadline of what is asked next, or when it is checked before its next use.
const (
	connectTimeout  = 5 * time.Second // the login included
	checkTimeout    = 2 * time.Second // of a connection that was idle for checkAfter
	checkAfter      = time.Second
	readTimeout     = 10 * time.Second
	writeTimeout    = 15 * time.Second // of a transaction and its repetitions
	userTimeout     = 10 * time.Second // of the kernel, for data that is not acknowledged
	maxConnLifetime = 30 * time.Minute
	maxConnIdle     = 5 * time.Minute
)

// errPostgresURL does not wrap its cause, which may contain the password.
var errPostgresURL = errors.New("the PostgreSQL URL cannot be read")

// sessionParameters are what PostgreSQL keeps to in our sessions, unless the URL has something else. Times are in
// milliseconds, those of keepalives in seconds.
//
// Our statements are made for an index. A plan that was made while a table was empty, as a queue often is, would read
// the whole of it, and goes on doing so until the table is analyzed the next time: so plans that read whole tables are
// for statements that cannot do without. PostgreSQL takes these for so expensive then that it would compile them.
var sessionParameters = map[string]string{
	"enable_seqscan":                      "off",
	"idle_in_transaction_session_timeout": "2000",
	"jit":                                 "off",
	"lock_timeout":                        "5000",
	"statement_timeout":                   "30000",
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "5",
	"tcp_keepalives_count":                "3",
	"tcp_user_timeout":                    "10000",
}

// ParsePostgres reads the URL and completes it. Its error does not wrap a cause, which may contain the password.
func ParsePostgres(target string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(target)
	if err != nil {
		return nil, errPostgresURL
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	dialer := net.Dialer{
		Timeout: config.ConnectTimeout, Control: limitUnacknowledged,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	config.DialFunc = dialer.DialContext
	if config.ValidateConnect == nil { // the URL has no target_session_attrs
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	config.OnPgError = func(_ *pgconn.PgConn, e *pgconn.PgError) bool { return !endsConnection(e) }
	return config, nil
}

// readOnly is the code for a write to a database that only reads, such as a primary that was demoted.
const readOnly = "25006"

// endsConnection reports whether the connection is of no more use after an error: PostgreSQL ends it, or it leads to a
// server that does not write anymore, while a new one may lead to another.
func endsConnection(e *pgconn.PgError) bool {
	return e.SeverityUnlocalized == "FATAL" || strings.EqualFold(e.Severity, "FATAL") || e.Code == readOnly
}

// OpenPostgres returns the database of a URL that was parsed. Nothing connects to it yet.
func OpenPostgres(config *pgx.ConnConfig) *DB {
	limitSessions(config)
	pool := openPool(config)
	n := max(16, 8*runtime.GOMAXPROCS(0)) // of the quota, where there is one
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)
	return &DB{
		Queries: Queries{c: newPool(pool), Dialect: &Postgres}, Gate: admission.NewGate(), sql: pool, config: config,
	}
}

// limitSessions sets sessionParameters.
func limitSessions(config *pgx.ConnConfig) {
	for name, value := range sessionParameters {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
}

// openPool returns a pool whose connections are checked before their use, where they were idle.
func openPool(config *pgx.ConnConfig) *sql.DB {
	var age connAge
	db := stdlib.OpenDB(*config,
		stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }),
		stdlib.OptionAfterConnect(age.opened),
		stdlib.OptionResetSession(age.check))
	db.SetConnMaxLifetime(maxConnLifetime)
	db.SetConnMaxIdleTime(maxConnIdle)
	return db
}

// connAge decides which of the pool's connections may be used. Where one does not answer, those that were opened
// before are not asked anymore: what has cut off one has usually cut off all, and each would cost a timeout.
type connAge struct {
	lost atomic.Int64 // when one did not answer, as the time since epoch; 0: all have
}

// epoch is when the program began. Times since it are those of the monotonic clock.
var epoch = time.Now()

const (
	openedKey = "assay.opened"
	usedKey   = "assay.used"
)

func (a *connAge) opened(_ context.Context, c *pgx.Conn) error {
	now := time.Now()
	data := c.PgConn().CustomData()
	data[openedKey], data[usedKey] = now, now
	return nil
}

// check is called before each use of a connection. An error of it makes the pool take another one, or open one.
func (a *connAge) check(ctx context.Context, c *pgx.Conn) error {
	now := time.Now()
	data := c.PgConn().CustomData()
	opened, _ := data[openedKey].(time.Time)
	used, _ := data[usedKey].(time.Time)
	if int64(opened.Sub(epoch)) <= a.lost.Load() {
		return driver.ErrBadConn
	}
	data[usedKey] = now
	if now.Sub(used) <= checkAfter {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := c.Ping(limited); err != nil {
		if ctx.Err() == nil { // else it is the caller who did not wait
			a.lost.Store(int64(now.Sub(epoch)))
		}
		return driver.ErrBadConn
	}
	return nil
}
