package main

import (
	"context"
	"errors"
	"fmt"
)

const growthName = "growth: "

// growth checks that nothing costs more among more orders: the same request takes its time among few, many and most.
func growth(ctx context.Context, s *suite) (err error) {
	sizes := []int{s.few, s.many}
	if s.most > 0 {
		sizes = append(sizes, s.most)
	}
	var shops []*shop
	defer func() { err = errors.Join(err, closeAll(shops)) }()
	for _, size := range sizes {
		i, err := s.filled(ctx, sqlite, mostlyEnded(size))
		if err != nil {
			return err
		}
		running, err := i.start(ctx)
		if err != nil {
			return errors.Join(err, i.remove())
		}
		shops = append(shops, running)
	}
	for _, operation := range []struct {
		name string
		load func(context.Context, *shop) (*target, error)
	}{
		{"GET /orders/{id}", func(ctx context.Context, s *shop) (*target, error) { return s.details(ctx) }},
		{"GET /orders, page 1", func(ctx context.Context, s *shop) (*target, error) { return s.list(ctx, 1) }},
		{"GET /orders, last page", func(ctx context.Context, s *shop) (*target, error) {
			return s.list(ctx, s.Orders/pageLimit)
		}},
		{"POST /orders", func(ctx context.Context, s *shop) (*target, error) { return s.creation(ctx, 1) }},
	} {
		name := func(n int) string {
			return fmt.Sprintf("%s%s at %s orders", growthName, operation.name, count(sizes[n]))
		}
		if !s.wanted(name(1)) && !s.wanted(name(len(sizes)-1)) {
			continue
		}
		sides := make([]*side, len(shops))
		for n, shop := range shops {
			load, err := operation.load(ctx, shop)
			if err != nil {
				return err
			}
			sides[n] = load.side(fmt.Sprintf("the time at %s", count(sizes[n])))
		}
		if err := s.interleave(ctx, sides...); err != nil {
			return err
		}
		for n := 1; n < len(sides); n++ {
			s.costs(name(n), requestUnit, atMost(1.2), sides[n], sides[0])
		}
	}
	return nil
}
