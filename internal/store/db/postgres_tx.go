package db

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const maxTries = 8

// commitPostgres runs the group in one transaction, and each job in its own when that fails for another reason than
// that the database is away: until it is, and without the jobs that are given up before their turn.
func (d *DB) commitPostgres(group []*job) {
	if len(group) > 1 {
		err := d.tryTogether(group)
		if err == nil || outage(err) {
			reply(group, err)
			return
		}
		group = slices.DeleteFunc(group, (*job).undone)
	}
	for i, j := range group {
		if j.abandoned() {
			continue
		}
		err := d.updatePostgres(j)
		j.result <- err
		if outage(err) && !j.late() && !j.abandoned() { // where it is one of these, that is all the error says
			reply(group[i+1:], err)
			return
		}
	}
}

func (d *DB) tryTogether(group []*job) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return d.tryPostgres(ctx, func(tx *Tx) error { return runWithoutSavepoints(tx, group) })
}

// updatePostgres runs a job in a transaction of its own, again where it loses against another one. The transaction ends
// by the deadline of the job's context at the latest, not when that is canceled.
func (d *DB) updatePostgres(j *job) error {
	end := time.Now().Add(writeTimeout)
	if at, ok := j.ctx.Deadline(); ok && at.Before(end) {
		end = at
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(j.ctx), end)
	defer cancel()
	alone := []*job{j}
	for try := 1; ; try++ {
		err := d.tryPostgres(ctx, func(tx *Tx) error { return runWithoutSavepoints(tx, alone) })
		if err == nil {
			return j.err
		}
		if try == maxTries || !retryable(err) {
			return err
		}
	}
}

func (d *DB) tryPostgres(ctx context.Context, f func(*Tx) error) error {
	c, err := d.sql.Conn(ctx)
	if err != nil {
		return err
	}
	p := &pgTx{Conn: c}
	if err := f(newTx(ctx, p, d.Dialect)); err != nil {
		return errors.Join(err, p.rollback(ctx), c.Close())
	}
	return errors.Join(p.commit(ctx), c.Close())
}

// pgTx is a transaction on a connection of PostgreSQL. It begins with its first statement, so that a batch can carry
// its beginning and its end.
type pgTx struct {
	*sql.Conn
	open bool
}

func (p *pgTx) query(ctx context.Context, q string, args []any) (*sql.Rows, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	return p.QueryContext(ctx, q, args...)
}

func (p *pgTx) exec(ctx context.Context, q string, args []any) (sql.Result, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	return p.ExecContext(ctx, q, args...)
}

func (p *pgTx) records(ctx context.Context, q string, args []any, r *Record, each func() error) error {
	rows, err := p.query(ctx, q, args)
	if err != nil {
		return err
	}
	return scanRecords(rows, r, each)
}

func (p *pgTx) begin(ctx context.Context) error {
	if p.open {
		return nil
	}
	_, err := p.ExecContext(ctx, "BEGIN")
	p.open = err == nil
	return err
}

// batch sends all statements in one round trip. One that fails keeps those after it from running, the COMMIT included.
// Where the caller looks at results, which it may find wrong, the COMMIT follows in a second one.
func (p *pgTx) batch(ctx context.Context, commands []Command, commit bool) error {
	if commit && slices.ContainsFunc(commands, func(c Command) bool { return c.Each != nil || c.Changed != nil }) {
		if err := p.batch(ctx, commands, false); err != nil {
			return err
		}
		commands = nil
	}
	b := new(pgx.Batch)
	if !p.open {
		b.Queue("BEGIN")
	}
	for _, cmd := range commands {
		queued := b.Queue(cmd.Text, cmd.Args...)
		switch {
		case cmd.Each != nil:
			queued.Query(func(rows pgx.Rows) error {
				r := new(Record)
				return rawRecords(rows, r, func() error { return cmp.Or(cmd.Each(r), r.err) })
			})
		case cmd.Changed != nil:
			queued.Exec(func(tag pgconn.CommandTag) error { return cmd.Changed(tag.RowsAffected()) })
		}
	}
	if commit {
		b.Queue("COMMIT").Exec(committed)
	}
	p.open = true // if the connection is not lost
	err := p.Raw(func(c any) error { return c.(*stdlib.Conn).Conn().SendBatch(ctx, b).Close() })
	p.open = err != nil || !commit
	return err
}

var errRolledBack = errors.New("the transaction was rolled back by the database")

// committed checks that a COMMIT was one: after an error PostgreSQL answers it with a ROLLBACK.
func committed(tag pgconn.CommandTag) error {
	if tag.String() != "COMMIT" {
		return errRolledBack
	}
	return nil
}

func (p *pgTx) commit(ctx context.Context) error {
	if !p.open {
		return nil
	}
	return p.batch(ctx, nil, true)
}

// rollback ends the transaction. A connection on which that fails is not used again.
func (p *pgTx) rollback(ctx context.Context) error {
	if !p.open {
		return nil
	}
	limit := writeTimeout
	if ctx.Err() != nil { // nobody waits for it anymore
		limit = checkTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if _, err := p.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = p.Raw(func(any) error { return driver.ErrBadConn }) // drops the connection
	}
	return nil
}
