package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	nodesName = "nodes: "

	// pinnedCores are how many cores it takes to give each of two nodes one of its own beside PostgreSQL and the load.
	pinnedCores = 6
)

// twoNodes compares details read from two nodes with details read from one of them, with as many clients. Where there
// are cores for it, each node has one, and two do more; else both share what there is with PostgreSQL and the load, and
// only what an answer costs can be compared.
func twoNodes(ctx context.Context, s *suite) error {
	first, err := s.filled(ctx, postgres, mostlyEnded(s.postgres))
	if err != nil {
		return err
	}
	second := *first
	if second.folder, err = os.MkdirTemp(s.folder, "installation-"); err != nil {
		return err
	}
	pinned := runtime.NumCPU() >= pinnedCores
	var loads []*target
	for n, i := range []*installation{first, &second} {
		if pinned {
			i.core = strconv.Itoa(n)
		}
		node, err := i.launch(ctx)
		if err != nil {
			return err
		}
		load, err := node.details(ctx)
		if err != nil {
			return err
		}
		half := *load
		half.clients = connections / 2
		loads = append(loads, load, &half)
	}
	a := &side{name: "two nodes", round: func(ctx context.Context, d time.Duration) (sample, error) {
		return loadTogether(ctx, d, loads[1], loads[3])
	}}
	b := loads[0].side("one node with as many clients")
	if err := s.interleave(ctx, a, b); err != nil {
		return err
	}
	among := fmt.Sprintf("%s, %s orders", detailName, count(s.postgres))
	if pinned {
		s.rates(nodesName+among+", two with a core each", requestUnit, atLeast(1.6), a, b)
	}
	const most = 2 / 1.6 // on cores of their own, two nodes would do 1.6 times the work
	s.compareSides(nodesName+among+", CPU of an answer by two", requestUnit, atMost(most), a, b,
		func(a, b sample) float64 { return a.work.Seconds() / b.work.Seconds() })
	return nil
}

// loadTogether runs a round of several loads at the same time.
func loadTogether(ctx context.Context, d time.Duration, loads ...*target) (all sample, err error) {
	samples := make([]sample, len(loads))
	var group errgroup.Group
	for i, load := range loads {
		group.Go(func() (err error) {
			samples[i], err = load.load(ctx, d)
			return err
		})
	}
	err = group.Wait()
	for _, one := range samples {
		all.rate += one.rate
		all.work += one.work * time.Duration(len(one.latencies))
		all.latencies = append(all.latencies, one.latencies...)
	}
	all.work /= time.Duration(max(1, len(all.latencies)))
	return all, err
}
