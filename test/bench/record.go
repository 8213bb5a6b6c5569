package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/cli"
	"github.com/assayhq/assay/internal/testkit/sqltrace"
	"golang.org/x/sync/errgroup"
)

// Variables of the roles record and loop.
const (
	traceVariable    = "ASSAY_BENCH_TRACE"
	programVariable  = "ASSAY_BENCH_PROGRAM"
	databaseVariable = "ASSAY_BENCH_DATABASE"
)

// serveRecorded is the role of the program's server, compiled into this program, that records its statements.
func serveRecorded(ctx context.Context) (err error) {
	file, err := os.Create(os.Getenv(traceVariable))
	if err != nil {
		return err
	}
	to := bufio.NewWriterSize(file, 1<<20)
	defer func() { err = errors.Join(err, to.Flush(), file.Close()) }()
	if err := sqltrace.RecordSQLite(to); err != nil {
		return err
	}
	if code := cli.Run(ctx, []string{"serve"}, cli.IO{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Program: os.Getenv(programVariable),
	}); code != 0 {
		return fmt.Errorf("the recorded server ended with %d", code)
	}
	return nil
}

// startRole starts this program in a role that serves.
func (s *suite) startRole(ctx context.Context, role string, environment ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(environment, roleVariable+"="+role)
	return startServer(ctx, cmd, filepath.Join(s.folder, role+".log"))
}

// record lets the program create orders in groups and returns the file with its statements. The server that was
// recorded has ended.
func (i *installation) record(ctx context.Context) (_ string, err error) {
	trace := filepath.Join(i.folder, "trace")
	running, err := i.suite.startRole(ctx, "record", append(i.environment(), traceVariable+"="+trace,
		programVariable+"="+i.suite.binary)...)
	if err != nil {
		return "", err
	}
	s := &shop{i, running}
	load, err := s.creation(ctx, 1)
	if err == nil {
		err = load.waves(ctx, 32, 40)
	}
	return trace, errors.Join(err, running.close())
}

// waves sends requests in groups of the same size, each after the answers to the last, so that groups of the same size
// are committed.
func (t *target) waves(ctx context.Context, size, count int) error {
	for range count {
		var wave errgroup.Group
		for n := range size {
			wave.Go(func() error {
				return t.once(ctx, n)
			})
		}
		if err := wave.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// once sends one request over a connection of its own.
func (t *target) once(ctx context.Context, n int) error {
	text, _ := t.requests[n%len(t.requests)].fresh(nil)
	c, err := t.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write(text); err != nil {
		return err
	}
	var body []byte
	status, err := readAnswer(bufio.NewReader(c), &body)
	if err == nil && status != t.status {
		err = fmt.Errorf("%s: status %d\n%s", firstLine(text), status, body)
	}
	return err
}

// group is a recorded transaction that creates some orders.
type group struct {
	replay *sqltrace.Replay
	orders int
}

// largestGroup returns the largest group of creations that was recorded at least twice.
func largestGroup(recorded [][]sqltrace.Statement) (*group, error) {
	first := map[string][]sqltrace.Statement{}
	best := new(group)
	for _, transaction := range recorded {
		var texts strings.Builder
		for _, statement := range transaction {
			texts.WriteString(statement.Text)
			texts.WriteByte('\n')
		}
		before, ok := first[texts.String()]
		if !ok {
			first[texts.String()] = transaction
			continue
		}
		if n := ordersIn(transaction); n > best.orders {
			replay, err := sqltrace.NewReplay(before, transaction, recorded)
			if err != nil {
				return nil, err
			}
			best = &group{replay, n}
		}
	}
	if best.orders == 0 {
		return nil, errors.New("no two recorded transactions create the same number of orders")
	}
	return best, nil
}

// ordersIn counts the orders that a transaction creates by their external ids, which are unique texts of this bench.
func ordersIn(transaction []sqltrace.Statement) int {
	found := map[string]bool{}
	high := strconv.FormatUint(uniques.Load(), 16)[:4] // all of this run begin alike
	for _, statement := range transaction {
		if !strings.Contains(statement.Text, "external_id") {
			continue
		}
		for _, arg := range statement.Args {
			text, _ := arg.(string)
			for word := range strings.FieldsFuncSeq(text, notHex) {
				if len(word) == len(unique) && strings.HasPrefix(word, high) {
					found[word] = true
				}
			}
		}
	}
	return len(found)
}

func notHex(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }

// serveLoop is the role of the bare loop: it answers with the number of orders that it created in the time that the
// path names in milliseconds.
func serveLoop(ctx context.Context) error {
	trace, err := os.Open(os.Getenv(traceVariable))
	if err != nil {
		return err
	}
	recorded, err := sqltrace.ReadSQLite(trace)
	if err = errors.Join(err, trace.Close()); err != nil {
		return err
	}
	largest, err := largestGroup(recorded)
	if err != nil {
		return err
	}
	loop, err := sqltrace.NewLoop(ctx, os.Getenv(databaseVariable), largest.replay)
	if err != nil {
		return err
	}
	defer func() { _ = loop.Close() }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			duration, err := time.ParseDuration(strings.TrimPrefix(r.URL.Path, "/"))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			turns, err := loop.Run(r.Context(), duration)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_ = json.NewEncoder(w).Encode(turns * largest.orders) // to a client that may be gone
		})}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(os.Stderr, "listening http=%s tls=- ops=-\ngroups of %d orders, %d statements\n", listener.Addr(),
		largest.orders, largest.replay.Len())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// loopSide is the bare loop as a side of a comparison.
func loopSide(name string, at *server) *side {
	return &side{name: name, round: func(ctx context.Context, d time.Duration) (sample, error) {
		before, err := processorTime(at.process.PID())
		if err != nil {
			return sample{}, err
		}
		started := time.Now()
		answer, err := exchange(ctx, http.MethodGet, "http://"+at.http+"/"+d.String(), nil, nil)
		if err != nil {
			return sample{}, err
		}
		took := time.Since(started)
		var orders int
		if err := json.Unmarshal(answer, &orders); err != nil {
			return sample{}, err
		}
		after, err := processorTime(at.process.PID())
		orders = max(1, orders)
		return sample{rate: float64(orders) / took.Seconds(), work: (after - before) / time.Duration(orders)}, err
	}}
}
