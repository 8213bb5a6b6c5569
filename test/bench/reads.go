package main

import (
	"context"
	"fmt"
)

const (
	detailName   = "GET /orders/{id}"
	listName     = "GET /orders, page 1"
	deepListName = "GET /orders, deep page"
	depthName    = "GET /orders, deep page: time"
	brandsName   = "GET /catalog/brands"
	viewName     = "GET /orders/{id}: PocketBase"

	bareHandler = "a bare handler with the same bytes"
)

// reads compares single reads, among many orders with distinct facts, with a bare handler that sends the same bytes,
// and the detail with PocketBase viewing one record.
func reads(ctx context.Context, s *suite) error {
	shop, plain, err := s.launchBesideBare(ctx, sqlite, mostlyEnded(s.many))
	if err != nil {
		return err
	}
	among := fmt.Sprintf(", %s orders", count(s.many))

	if s.wanted(detailName+among) || s.wanted(viewName+among) {
		if err := s.thenClose(func() error { return s.detail(ctx, shop, plain, among) }); err != nil {
			return err
		}
	}
	deep := min(50_000, s.many/pageLimit)
	figures := []struct {
		name, path string
		goal       goal
	}{
		{listName + among, orderPage(1), atLeast(0.40)},
		{fmt.Sprintf("%s %s", deepListName, count(deep)) + among, orderPage(deep), atLeast(0.40)},
		{brandsName, brandsPath, atLeast(0.75)},
	}
	loads := make([]*target, len(figures))
	for n, f := range figures {
		if loads[n], err = shop.get(ctx, f.path); err != nil {
			return err
		}
	}
	first, last := loads[0], loads[1]
	for n, f := range figures {
		if !s.wanted(f.name) {
			continue
		}
		if err := s.compareWithBare(ctx, f.name, f.goal, loads[n], plain); err != nil {
			return err
		}
	}
	name := fmt.Sprintf("%s of %s", depthName, count(deep))
	if !s.wanted(name) {
		return nil
	}
	a, b := last.side(deepListName), first.side("page 1")
	if err := s.interleave(ctx, a, b); err != nil {
		return err
	}
	s.costs(name, requestUnit, atMost(1.1), a, b)
	return nil
}

// compareWithBare compares a load with a bare handler that sends the same bytes.
func (s *suite) compareWithBare(ctx context.Context, name string, g goal, t *target, plain *bare) error {
	base, err := plain.mirror(ctx, t)
	if err != nil {
		return err
	}
	a, b := t.side(name), base.side(bareHandler)
	if err := s.interleave(ctx, a, b); err != nil {
		return err
	}
	s.rates(name, requestUnit, g, a, b)
	return s.saveProfile(ctx, t, name)
}

// detail compares details with both bases in one go.
func (s *suite) detail(ctx context.Context, shop *shop, plain *bare, among string) error {
	details, same, err := shop.detailsBeside(ctx, plain)
	if err != nil {
		return err
	}
	records, err := s.peerViews(ctx)
	if err != nil {
		return err
	}
	a, b, c := details.side(detailName), same.side(bareHandler), records.side("PocketBase viewing one record")
	if err := s.interleave(ctx, a, b, c); err != nil {
		return err
	}
	s.rates(detailName+among, requestUnit, atLeast(0.50), a, b)
	s.rates(viewName+among, requestUnit, atLeast(6), a, c)
	return s.saveProfile(ctx, details, detailName+among, viewName+among)
}

// count writes a number with separators.
func count(n int) string {
	if n < 1_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", count(n/1_000), n%1_000)
}
