package main

import (
	"context"
	"fmt"
	"path/filepath"
)

const (
	createName      = "POST /orders"
	severalAccounts = 4
)

// creations compares the creation of Live orders, each with its own external id and idempotency key, on disk before the
// answer, with PocketBase creating one record and with a bare loop of the statements that the program itself runs.
func creations(ctx context.Context, s *suite) error {
	i, err := s.install(ctx, sqlite, severalAccounts)
	if err != nil {
		return err
	}
	if err := i.fill(ctx, mostlyEnded(s.few)); err != nil {
		return err
	}
	trace, err := i.record(ctx)
	if err != nil {
		return err
	}
	copied := filepath.Join(i.folder, "copy.db")
	if err := run(ctx, "cp", "--reflink=auto", i.target(), copied); err != nil {
		return err
	}
	shop, err := i.launch(ctx)
	if err != nil {
		return err
	}
	loop, err := s.startRole(ctx, "loop", traceVariable+"="+trace, databaseVariable+"="+copied)
	if err != nil {
		return err
	}
	s.later(loop.close)
	other, err := s.startPeer(ctx)
	if err != nil {
		return err
	}

	one, err := shop.creation(ctx, 1)
	if err != nil {
		return err
	}
	several, err := shop.creation(ctx, severalAccounts)
	if err != nil {
		return err
	}
	drafts, err := shop.drafts(ctx, 0, creationDrafts)
	if err != nil {
		return err
	}
	records, err := other.creations(drafts)
	if err != nil {
		return err
	}
	a, b := one.side(createName), several.side(createName)
	c, d := records.side("PocketBase creating one record"), loopSide("a bare loop of the same SQL in groups", loop)
	if err := s.interleave(ctx, a, b, c, d); err != nil {
		return err
	}
	const unit = "orders/s"
	s.rates(createName+": PocketBase", unit, atLeast(3), a, c)
	s.rates(fmt.Sprintf("%s, %d accounts: PocketBase", createName, severalAccounts), unit, atLeast(3), b, c)
	s.compareSides(createName+": p99, PocketBase", unit, atMost(0.5), a, c, func(a, b sample) float64 {
		return a.p99() / b.p99()
	})
	s.rates(createName+": bare SQL", unit, atLeast(0.85), a, d)
	s.rates(fmt.Sprintf("%s, %d accounts: bare SQL", createName, severalAccounts), unit, atLeast(0.85), b, d)
	return s.saveProfile(ctx, one, createName+": PocketBase", createName+": bare SQL")
}
