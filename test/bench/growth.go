package main

import (
	"context"
	"fmt"
	"slices"
)

const growthName = "growth: "

// growthOperation is a load on an installation.
type growthOperation struct {
	name string
	load func(context.Context, *shop) (*target, error)
}

// at returns the name of the figure among some orders.
func (o *growthOperation) at(orders int) string {
	return fmt.Sprintf("%s%s at %s orders", growthName, o.name, count(orders))
}

var growthOperations = []growthOperation{
	{"GET /orders/{id}", func(ctx context.Context, s *shop) (*target, error) { return s.details(ctx) }},
	{"GET /orders, page 1", func(ctx context.Context, s *shop) (*target, error) { return s.get(ctx, orderPage(1)) }},
	{"GET /orders, last page", func(ctx context.Context, s *shop) (*target, error) {
		return s.get(ctx, orderPage(s.Orders/pageLimit))
	}},
	{"POST /orders", func(ctx context.Context, s *shop) (*target, error) { return s.creation(ctx, 1) }},
}

// growth checks that nothing costs more among more orders: the same request takes its time among few, many and most.
func growth(ctx context.Context, s *suite) error {
	sizes := []int{s.few}
	for _, size := range []int{s.many, s.most} {
		if size > 0 && slices.ContainsFunc(growthOperations, func(o growthOperation) bool { return s.wanted(o.at(size)) }) {
			sizes = append(sizes, size)
		}
	}
	var shops []*shop
	for _, size := range sizes {
		running, err := s.launchFilled(ctx, sqlite, mostlyEnded(size))
		if err != nil {
			return err
		}
		shops = append(shops, running)
	}
	for _, operation := range growthOperations {
		if !slices.ContainsFunc(sizes[1:], func(size int) bool { return s.wanted(operation.at(size)) }) {
			continue
		}
		loads, sides := make([]*target, len(shops)), make([]*side, len(shops))
		for n, shop := range shops {
			load, err := operation.load(ctx, shop)
			if err != nil {
				return err
			}
			loads[n], sides[n] = load, load.side(fmt.Sprintf("the time at %s", count(sizes[n])))
		}
		if err := s.interleave(ctx, sides...); err != nil {
			return err
		}
		for n := 1; n < len(sides); n++ {
			s.costs(operation.at(sizes[n]), requestUnit, atMost(1.2), sides[n], sides[0])
			if err := s.saveProfile(ctx, loads[n], operation.at(sizes[n])); err != nil {
				return err
			}
		}
	}
	return nil
}
