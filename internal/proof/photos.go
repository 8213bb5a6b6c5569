package proof

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
)

// photoChecks is how many files are checked in parallel: enough to hide the latency of a media server.
const photoChecks = 8

// photos checks the file of every photo of an order, up to the order with the id last.
func (c *check) photos(ctx context.Context, q store.Queries, files media.Store, last string) error {
	done, left := progress.Begin(ctx, "photos of orders", progress.Items, c.report.Orders), c.report.Orders
	for after := ""; ; {
		page, next, err := c.photoPage(ctx, q, after, last)
		if err != nil {
			return err
		}
		if next == "" {
			return c.leftovers(ctx, files)
		}
		orders := min(pageSize, left) // of the page, whose photos stand for them in equal parts
		left -= orders
		if len(page) == 0 {
			done(orders)
		}
		var looked atomic.Int64
		looks, lookCtx := errgroup.WithContext(ctx)
		looks.SetLimit(photoChecks)
		for i := range page {
			looks.Go(func() error {
				err := c.photo(lookCtx, files, &page[i])
				n, of := looked.Add(1), int64(len(page))
				done(orders*n/of - orders*(n-1)/of)
				return err
			})
		}
		if err := looks.Wait(); err != nil {
			return err
		}
		after = next
		c.report.Photos += int64(len(page))
	}
}

// photoPage returns the photos of the next orders. A deep check compares them with the certificates, as both are at one
// moment: a Test order may get others.
func (c *check) photoPage(
	ctx context.Context, q store.Queries, after, last string,
) (page []store.OrderPhotoProof, next string, err error) {
	if !c.Deep {
		return q.OrderPhotosAfter(ctx, after, last, pageSize)
	}
	err = c.Store.Snapshot(ctx, func(q store.Queries) error {
		if page, next, err = q.OrderPhotosAfter(ctx, after, last, pageSize); err != nil || next == "" {
			return err
		}
		certified, err := q.CertifiedPhotos(ctx, after, next)
		if err == nil {
			c.certifiedPhotos(page, certified)
		}
		return err
	})
	return page, next, err
}

// certifiedPhotos compares the photos of authentic orders with those that their certificates list: each file once, in
// the order in which they were sent.
func (c *check) certifiedPhotos(page []store.OrderPhotoProof, certified map[string]*certificate.Issued) {
	photos := make(map[string][]store.OrderPhotoProof, len(certified)) // by order
	for i := range page {
		p := &page[i]
		same := func(q store.OrderPhotoProof) bool { return q.Name == p.Name }
		if certified[p.OrderID] != nil && !slices.ContainsFunc(photos[p.OrderID], same) {
			photos[p.OrderID] = append(photos[p.OrderID], *p)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(certified)) {
		facts, err := certified[id].Read()
		if err != nil {
			continue // told of with its order
		}
		if !slices.EqualFunc(photos[id], facts.Photos, func(p store.OrderPhotoProof, signed certificate.Photo) bool {
			return p.IndexCode == signed.IndexCode && p.Row.SHA256 == signed.SHA256
		}) {
			c.problem(CertDiffers, certified[id].ID, "the photos of order %s are not those that its certificate lists", id)
		}
	}
}

func (c *check) photo(ctx context.Context, files media.Store, p *store.OrderPhotoProof) error {
	problem := func(kind ProblemKind, format string, args ...any) {
		c.add(Problem{
			Kind: kind, AccountID: p.AccountID, Environment: string(p.Environment), ID: p.Name,
			Message: fmt.Sprintf("photo of order %s: %s", p.OrderID, fmt.Sprintf(format, args...)),
		})
	}
	switch {
	case !p.Known:
		problem(PhotoRow, "it is not among the uploaded photos")
	case p.Row.Tenant != p.Tenant:
		problem(PhotoRow, "it belongs to another account or environment")
	case !p.Row.Used:
		problem(PhotoRow, "it is not marked as used and would be deleted as unused")
	}
	kind, message, err := c.file(ctx, files, p)
	switch {
	case err != nil || kind == "":
		return err
	case kind == PhotoErased:
		c.leave(func() { problem(kind, "%s", message) }, p.Name)
		return nil
	}
	erased, err := c.erased(ctx, p.Name)
	if err == nil && !erased {
		problem(kind, "%s", message)
	}
	return err
}

// file looks at the file of a photo; an empty kind: it is as it should be.
func (c *check) file(
	ctx context.Context, files media.Store, p *store.OrderPhotoProof,
) (kind ProblemKind, message string, err error) {
	const missing = "its file is not in the media store"
	stat, err := files.Stat(ctx, p.Name)
	switch {
	case errors.Is(err, media.ErrNotFound) && p.Row.Erased:
		return "", "", nil
	case p.Row.Erased && err == nil:
		return PhotoErased, "it was erased, and its file is still there; the next sweep of the media store deletes it", nil
	case errors.Is(err, media.ErrNotFound):
		return PhotoMissing, missing, nil
	case err != nil:
		return "", "", err
	case p.Known && stat.Size != p.Row.Bytes:
		return PhotoSize, fmt.Sprintf("its file has %d bytes, %d were uploaded", stat.Size, p.Row.Bytes), nil
	case p.Known && c.Deep:
		switch sha, err := hashOf(ctx, files, p.Name); {
		case errors.Is(err, media.ErrNotFound): // since it was found
			return PhotoMissing, missing, nil
		case err != nil:
			return "", "", err
		case sha != p.Row.SHA256:
			return PhotoHash, "its file is not what was uploaded", nil
		}
	}
	return "", "", nil
}

// erased reports whether a photo was erased since its row was read.
func (c *check) erased(ctx context.Context, name string) (bool, error) {
	p, err := c.Store.Photo(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && p.Erased, err
}

// leftover is a file of an erased photo that was still there.
type leftover struct {
	name string
	tell func()
}

func (c *check) leave(tell func(), name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = append(c.left, leftover{name, tell})
}

// leftoverPatience is how long a check waits at its end for the files of erased photos: an erasure that runs deletes
// them after the rows.
const leftoverPatience, leftoverPause = 3 * time.Second, 100 * time.Millisecond

// leftovers tells of the files that nobody has deleted meanwhile.
func (c *check) leftovers(ctx context.Context, files media.Store) error {
	for until := time.Now().Add(leftoverPatience); len(c.left) > 0; {
		var still []leftover
		for _, l := range c.left {
			_, err := files.Stat(ctx, l.name)
			if err != nil && !errors.Is(err, media.ErrNotFound) {
				return err
			}
			if err == nil {
				still = append(still, l)
			}
		}
		if c.left = still; time.Now().After(until) {
			break
		}
		if err := pause.For(ctx, leftoverPause); err != nil {
			return err
		}
	}
	for _, l := range c.left {
		l.tell()
	}
	return nil
}

// hashOf reads a file to its end.
func hashOf(ctx context.Context, files media.Store, name string) (_ string, err error) {
	file, err := files.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), ctx.Err()
}
