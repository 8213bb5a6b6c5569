// Package progress lets long work tell whoever has started it how far it is. The context carries who listens; where
// nobody does, telling costs nothing.
package progress

import (
	"context"
	"io"
)

// Unit is what is counted.
type Unit int

// The units.
const (
	Items Unit = iota // rows, photos, orders: the name of the part says which
	Bytes
)

// Reporter is told that a part of the work begins, with the number of items or bytes that it has, 0 where that is not
// known, and returns what takes those done. Parts follow each other; a part may be done by several goroutines.
type Reporter func(what string, unit Unit, total int64) (done func(n int64))

type key struct{}

// With returns a context whose work is told to the reporter.
func With(ctx context.Context, r Reporter) context.Context { return context.WithValue(ctx, key{}, r) }

// On reports whether somebody listens: only then is it worth counting what there is to do.
func On(ctx context.Context) bool { return reporter(ctx) != nil }

// Begin begins a part of the work.
func Begin(ctx context.Context, what string, unit Unit, total int64) (done func(n int64)) {
	if r := reporter(ctx); r != nil {
		return r(what, unit, total)
	}
	return nothing
}

// Step begins a part that cannot be counted.
func Step(ctx context.Context, what string) { Begin(ctx, what, Items, 0) }

// Reader returns r with its bytes counted.
func Reader(r io.Reader, done func(n int64)) io.Reader { return &reader{r, done} }

func reporter(ctx context.Context) Reporter {
	r, _ := ctx.Value(key{}).(Reporter)
	return r
}

func nothing(int64) {}

type reader struct {
	from io.Reader
	done func(int64)
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.done(int64(n))
	return n, err
}
