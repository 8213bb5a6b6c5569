package certificate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/ttlcache"
)

// A PDF takes as much work as hundreds of pages, and anybody may ask for one: the last ones are kept for a while, and
// only so many are waited for.
const (
	pdfLife    = 10 * time.Minute
	pdfBytes   = 32 << 20 // of those that are kept
	pdfLine    = 32       // that are made, or wait for it
	pdfReaders = 4
	pdfTimeout = time.Minute
)

// pdfs draws each PDF once for all who ask for it.
type pdfs struct {
	kept    *ttlcache.Cache[string, []byte]
	flights singleflight.Group
	line    chan struct{}
	reading chan struct{} // limits how many have their photos in memory
	drawing chan struct{} // limits how many are drawn at once
}

func newPDFs() *pdfs {
	return &pdfs{
		kept:    ttlcache.NewWeighted[string](pdfLife, pdfBytes, func(b []byte) int { return len(b) }),
		line:    make(chan struct{}, pdfLine),
		reading: make(chan struct{}, pdfReaders),
		drawing: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
	}
}

var errLongLine = errors.New("too many PDFs are waited for")

// photoReader gets the photos of a PDF and returns what draws it.
type photoReader func(context.Context) (draw func() ([]byte, error), err error)

// get returns the PDF with the key, making it if it is not kept. What is made is kept also when nobody waits for it any
// more.
func (p *pdfs) get(ctx context.Context, key string, read photoReader) ([]byte, error) {
	if b, ok := p.kept.Get(key, time.Now()); ok {
		return b, nil
	}
	flight := p.flights.DoChan(key, func() (_ any, err error) {
		defer func() {
			if cause := recover(); cause != nil { // which would end the program
				err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
			}
		}()
		if b, ok := p.kept.Get(key, time.Now()); ok { // made since it was looked for
			return b, nil
		}
		return p.make(context.WithoutCancel(ctx), key, read)
	})
	select {
	case made := <-flight:
		if made.Err != nil {
			return nil, made.Err
		}
		return made.Val.([]byte), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pdfs) make(ctx context.Context, key string, read photoReader) ([]byte, error) {
	select {
	case p.line <- struct{}{}:
		defer func() { <-p.line }()
	default:
		return nil, fault.UnavailableError(errLongLine)
	}
	select {
	case p.reading <- struct{}{}:
		defer func() { <-p.reading }()
	case <-time.After(pdfTimeout):
		return nil, fault.UnavailableError(errLongLine)
	}
	ctx, cancel := context.WithTimeout(ctx, pdfTimeout)
	defer cancel()
	draw, err := read(ctx)
	if err != nil {
		return nil, err
	}
	p.drawing <- struct{}{} // no longer than those before take to be drawn
	defer func() { <-p.drawing }()
	b, err := draw()
	if err == nil {
		p.kept.Put(key, b, time.Now())
	}
	return b, err
}
