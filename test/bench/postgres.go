package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/sqltrace"
)

const (
	postgresName = "PostgreSQL: "
	networkDelay = time.Millisecond
	samePgbench  = "pgbench with the same statements"
)

// postgresFigures measures what PostgreSQL adds: creations over a network with a delay, and reads, against pgbench with
// the statements that the program itself runs.
func postgresFigures(ctx context.Context, s *suite) error {
	for _, f := range []struct {
		names []string
		run   func(context.Context, *suite) error
	}{
		{[]string{postgresName + "POST"}, postgresCreations},
		{[]string{postgresName + "GET"}, postgresReads},
	} {
		if !s.anyWanted(f.names) {
			continue
		}
		if err := s.thenClose(func() error { return f.run(ctx, s) }); err != nil {
			return err
		}
	}
	return nil
}

// postgresCreations compares creations for one account and for many, with a delay of the network.
func postgresCreations(ctx context.Context, s *suite) error {
	i, err := s.install(ctx, postgres, s.accounts)
	if err != nil {
		return err
	}
	replays, err := i.creationReplays(ctx)
	if err != nil {
		return err
	}
	base, err := i.copyDatabase(ctx)
	if err != nil {
		return err
	}
	proxy, err := startProxy(ctx, i.dsn, networkDelay)
	if err != nil {
		return err
	}
	s.later(proxy.close)
	if base, err = proxy.dsn(base); err != nil {
		return err
	}
	direct := i.dsn
	if i.dsn, err = proxy.dsn(direct); err != nil {
		return err
	}
	running, err := i.launch(ctx)
	if err != nil {
		return err
	}

	for _, f := range []struct {
		accounts int
		goal     goal
	}{{1, atLeast(2)}, {s.accounts, atLeast(1)}} {
		name := fmt.Sprintf("%sPOST /orders, 1 ms away, %d account%s", postgresName, f.accounts, plural(f.accounts))
		if !s.wanted(name) {
			continue
		}
		load, err := running.creation(ctx, f.accounts)
		if err != nil {
			return err
		}
		a := load.side(name)
		var trips []float64
		a.round = func(ctx context.Context, d time.Duration) (sample, error) {
			before := proxy.trips.Load()
			one, err := load.load(ctx, d)
			trips = append(trips, float64(proxy.trips.Load()-before)/float64(max(1, len(one.latencies))))
			return one, err
		}
		text, err := sqltrace.Script(replays[:f.accounts])
		if err != nil {
			return err
		}
		b, err := s.pgbenchSide(samePgbench+", 1 ms away", base, counting+text, f.accounts)
		if err != nil {
			return err
		}
		if err := s.interleave(ctx, a, b); err != nil {
			return err
		}
		s.rates(name, "orders/s", f.goal, a, b)
		s.report.add(value(name+": round trips", "round trips an order", "with groups, 64 connections", trips[1:], atMost(3)))
		if err := s.saveProfile(ctx, load, name); err != nil {
			return err
		}
	}
	return nil
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// creationReplays records some creations, one after the other, for each account.
func (i *installation) creationReplays(ctx context.Context) (_ []*sqltrace.Replay, err error) {
	s, err := i.start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.server.close()) }()
	replays := make([]*sqltrace.Replay, len(i.Accounts))
	loads := make([]*target, len(i.Accounts))
	for n := range i.Accounts {
		if loads[n], err = s.creationFor(ctx, n, 1); err != nil {
			return nil, err
		}
	}
	recorded, err := i.watch(ctx, func() error {
		for _, load := range loads {
			for range 4 { // the first ones may prepare statements
				if err := load.once(ctx, 0); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for n := range i.Accounts {
		if replays[n], err = replayOf(recorded, func(transaction []sqltrace.Statement) bool {
			return mentions(transaction, "INSERT INTO ORDERS", i.Accounts[n].ID) ||
				mentions(transaction, "WITH", i.Accounts[n].ID)
		}); err != nil {
			return nil, err
		}
	}
	return replays, nil
}

// copyDatabase copies the database of a program that is not running, and returns its DSN.
func (i *installation) copyDatabase(ctx context.Context) (string, error) {
	address, err := url.Parse(i.dsn)
	if err != nil {
		return "", errors.New("the DSN cannot be read")
	}
	name := strings.TrimPrefix(address.Path, "/")
	create := fmt.Sprintf("CREATE DATABASE %s_base TEMPLATE %s", name, name)
	if err := rawsql.Run(ctx, i.database.DSN(), create); err != nil {
		return "", err
	}
	address.Path += "_base"
	return address.String(), nil
}

// postgresReads compares the detail with pgbench, and reads with a bare handler.
func postgresReads(ctx context.Context, s *suite) error {
	shop, plain, err := s.launchBesideBare(ctx, postgres, mostlyEnded(s.postgres))
	if err != nil {
		return err
	}
	details, same, err := shop.detailsBeside(ctx, plain)
	if err != nil {
		return err
	}
	recorded, err := shop.watch(ctx, func() error {
		for n := range 2 * batch { // each pooled connection prepares the statement once
			if err := details.once(ctx, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	text, err := shop.detailScript(recorded)
	if err != nil {
		return err
	}
	c, err := s.pgbenchSide(samePgbench, shop.dsn, text, 1)
	if err != nil {
		return err
	}
	among := fmt.Sprintf(", %s orders", count(s.postgres))
	a, b := details.side(detailName), same.side(bareHandler)
	if err := s.interleave(ctx, a, b, c); err != nil {
		return err
	}
	s.rates(postgresName+detailName+": pgbench"+among, requestUnit, atLeast(0.40), a, c)
	s.rates(postgresName+detailName+": bare"+among, requestUnit, goal{}, a, b)
	if err := s.saveProfile(ctx, details, postgresName+detailName+": pgbench"+among); err != nil {
		return err
	}
	for _, path := range []string{orderPage(1), brandsPath} {
		load, err := shop.get(ctx, path)
		if err != nil {
			return err
		}
		shown, _, _ := strings.Cut(strings.TrimPrefix(path, prefix), "?")
		name := fmt.Sprintf("%s%s %s", postgresName, http.MethodGet, shown)
		if !s.wanted(name) {
			continue
		}
		if err := s.compareWithBare(ctx, name, goal{}, load, plain); err != nil {
			return err
		}
	}
	return nil
}

// isCopy reports whether a text is the id of a copied order.
func isCopy(text string) bool { return len(text) == 36 && strings.HasPrefix(text, "00") }

// detailScript returns a script that reads the details of all copies of one order.
func (i *installation) detailScript(recorded [][]sqltrace.Statement) (string, error) {
	for _, transaction := range recorded {
		for _, statement := range transaction {
			text := strings.Join(strings.Fields(statement.Text), " ")
			if !strings.Contains(text, " orders ") {
				continue
			}
			found := false
			for k := range slices.Backward(statement.Args) { // $12 before $1
				value, ok := statement.Args[k].(string)
				if !ok {
					value = "NULL"
				} else if found = found || isCopy(value); isCopy(value) {
					value = fmt.Sprintf("('00' || lpad(CAST(:i AS TEXT), 6, '0') || '%s')", value[8:])
				} else {
					value = "'" + strings.ReplaceAll(value, "'", "''") + "'"
				}
				text = strings.ReplaceAll(text, fmt.Sprintf("$%d", k+1), value)
			}
			if found {
				return fmt.Sprintf("\\set i random(1, %d)\n%s;\n", i.Orders/batch-1, text), nil
			}
		}
	}
	return "", errors.New("the statement of the detail was not recorded")
}
