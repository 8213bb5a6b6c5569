package service

import (
	"context"

	"github.com/assayhq/assay/internal/store"
)

// newestPosition stands for everything that was written.
const newestPosition = "newest"

// Written returns how far the database has written, for ReadAfter; empty where all reads show everything anyway. Where
// the database does not say it is everything.
func (s *Service) Written(ctx context.Context) string {
	p, err := s.store.Position(ctx)
	switch {
	case err != nil:
		return newestPosition
	case p == 0:
		return ""
	}
	return p.String()
}

// ReadAfter returns a context in which lists show at least what was written up to a position: so that people see what
// they have done, although a replica is behind. The empty one is everything.
func (s *Service) ReadAfter(ctx context.Context, position string) context.Context {
	return store.ReadAfter(ctx, store.ParsePosition(position))
}
