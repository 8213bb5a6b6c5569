package main

import (
	"context"
)

const (
	requestLogName = "request log: "
	withoutLog     = "the same with --request-log-retention 0"
)

// requestLog measures what it costs to record requests: the same loads on two installations, of which one does not.
func requestLog(ctx context.Context, s *suite) error {
	on, err := s.launchFresh(ctx, sqlite)
	if err != nil {
		return err
	}
	off, err := s.launchFresh(ctx, sqlite, "ASSAY_REQUEST_LOG_RETENTION=0")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name, unit string
		load       func(*shop) (*target, error)
	}{
		{brandsName, requestUnit, func(x *shop) (*target, error) { return x.get(ctx, brandsPath) }},
		{"GET /balance", requestUnit, func(x *shop) (*target, error) { return x.get(ctx, prefix+"/balance") }},
		{createName, "orders/s", func(x *shop) (*target, error) { return x.creation(ctx, 1) }},
	} {
		name := requestLogName + f.name
		if !s.wanted(name) {
			continue
		}
		recorded, err := f.load(on)
		if err != nil {
			return err
		}
		base, err := f.load(off)
		if err != nil {
			return err
		}
		a, b := recorded.side(name), base.side(withoutLog)
		if err := s.interleave(ctx, a, b); err != nil {
			return err
		}
		s.rates(name, f.unit, atLeast(0.97), a, b)
		if err := s.saveProfile(ctx, recorded, name); err != nil {
			return err
		}
	}
	return nil
}
