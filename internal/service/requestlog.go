package service

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

const (
	requestBlocks = 32    // that are read at a time
	requestScan   = 8_000 // blocks that one page looks through at most
	requestOrders = 100   // of one external id whose requests are found

	// longestRequest is how much later than its id a request may be stored: uploads take their time.
	longestRequest = 15 * time.Minute

	// flushTime is how long somebody who looks for requests waits for the latest ones to be stored.
	flushTime = 2 * time.Second
)

// storeRequests stores what this node has answered so far. Where the database does not take it now, the log of the
// program says so, and what is stored is shown without it.
func (s *Service) storeRequests(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	_ = s.flushRequests(ctx)
}

// RecordRequests stores requests that were answered.
func (s *Service) RecordRequests(ctx context.Context, blocks []*requestlog.Block) error {
	return s.store.Update(ctx, func(tx *store.Tx) error { return tx.InsertRequests(blocks, requestlog.MaxRequests) })
}

// Request returns a request of the actor's account in either environment, or requestlog.NotFound.
func (s *Service) Request(ctx context.Context, actor access.Actor, id string) (*requestlog.Entry, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	text, ok := uuid7.Parse(id)
	if !ok {
		return nil, requestlog.NotFound
	}
	wanted := uuid.MustParse(text)
	s.storeRequests(ctx)
	for _, env := range access.Environments {
		tenant := access.Tenant{AccountID: actor.Tenant.AccountID, Environment: env}
		if !actor.Sees(tenant) {
			continue
		}
		found, _, err := s.searchRequests(ctx, requestlog.Filter{Tenant: tenant, Before: nextID(wanted)}, 1)
		if err != nil {
			return nil, err
		}
		if len(found) == 1 && found[0].ID == wanted {
			return found[0], nil
		}
	}
	return nil, requestlog.NotFound
}

// nextID returns the id that follows another.
func nextID(id uuid.UUID) uuid.UUID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id
}

// Requests returns up to limit requests that the filter chooses, newest first, and the id to go on before; it is zero
// when there are no more. A page may have fewer than limit, or none, where many were looked through.
func (s *Service) Requests(
	ctx context.Context, actor access.Actor, f requestlog.Filter, limit int,
) ([]*requestlog.Entry, uuid.UUID, error) {
	if err := actor.RequireIn(access.ViewAccount, f.AccountID); err != nil {
		return nil, uuid.Nil, err
	}
	if f.Order != "" {
		found, err := s.FindOrders(ctx, actor, f.Order, requestOrders)
		if err != nil {
			return nil, uuid.Nil, err
		}
		for i := range found {
			f.Orders = append(f.Orders, found[i].ID)
		}
	}
	s.storeRequests(ctx)
	return s.searchRequests(ctx, f, limit)
}

func (s *Service) searchRequests(
	ctx context.Context, f requestlog.Filter, limit int,
) (found []*requestlog.Entry, more uuid.UUID, err error) {
	var after, until uuid.UUID
	end := f.Until
	if f.Before != uuid.Nil {
		if t := requestlog.TimeOf(f.Before); end.IsZero() || t.Before(end) {
			end = t
		}
	}
	if !end.IsZero() { // a block has what was answered later, too
		after = uuid.MustParse(uuid7.First(end.Add(longestRequest)))
	}
	if !f.Since.IsZero() {
		until = uuid.MustParse(uuid7.First(f.Since))
	}
	merged := requestMerge{filter: &f}
	for scanned := 0; scanned < requestScan; {
		blocks, err := s.store.RequestBlocks(ctx, f.Tenant, after, until, f.Before, requestBlocks)
		if err != nil {
			return nil, uuid.Nil, err
		}
		for i, b := range blocks {
			if found = merged.upTo(found, b.Last, limit); len(found) == limit {
				return found, found[limit-1].ID, nil
			}
			if err := merged.add(&blocks[i]); err != nil {
				return nil, uuid.Nil, err
			}
			after = b.Last
		}
		if scanned += len(blocks); len(blocks) < requestBlocks {
			if found = merged.upTo(found, uuid.Nil, limit+1); len(found) > limit {
				return found[:limit], found[limit-1].ID, nil
			}
			return found, uuid.Nil, nil
		}
	}
	return found, nextID(after), nil
}

// requestMerge puts the requests of blocks into the order of their ids. Blocks overlap: several nodes write them, and a
// request is in the block of the time when it ended.
type requestMerge struct {
	filter *requestlog.Filter
	wait   []*requestlog.Entry // the lowest first
}

func (m *requestMerge) add(b *store.StoredBlock) error {
	err := requestlog.Read(m.filter.Tenant, b.Body, func(e *requestlog.Entry) bool {
		if m.filter.Matches(e) {
			kept := *e
			m.wait = append(m.wait, &kept)
		}
		return true
	})
	slices.SortFunc(m.wait, func(a, b *requestlog.Entry) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return err
}

// upTo appends to found, up to limit, the requests that no block can precede whose last id is last.
func (m *requestMerge) upTo(found []*requestlog.Entry, last uuid.UUID, limit int) []*requestlog.Entry {
	for len(m.wait) > 0 && len(found) < limit {
		e := m.wait[len(m.wait)-1]
		if !requestlog.Less(last, e.ID) {
			break
		}
		found = append(found, e)
		m.wait = m.wait[:len(m.wait)-1]
	}
	return found
}

// maxUseRequests is how many requests of a tenant are looked through, at most, to tell how much a key was used.
const maxUseRequests = 200_000

// RequestUse is how often a key has called each operation, minute by minute.
type RequestUse struct {
	Begin   time.Time        // of the first minute
	Minutes []map[string]int // requests by route, the oldest minute first, the running one last
}

// RequestUse counts the requests of a key in the last minutes. It looks at the request log alone, and no further back
// than at maxUseRequests requests of all keys: the minutes may be fewer then.
func (s *Service) RequestUse(
	ctx context.Context, actor access.Actor, key *access.Key, minutes int,
) (*RequestUse, error) {
	if err := actor.RequireIn(access.ViewAccount, key.AccountID); err != nil {
		return nil, err
	}
	s.storeRequests(ctx)
	end := s.now().UTC().Truncate(time.Minute).Add(time.Minute)
	use := &RequestUse{Begin: end.Add(-time.Duration(minutes) * time.Minute), Minutes: make([]map[string]int, minutes)}
	for i := range use.Minutes {
		use.Minutes[i] = make(map[string]int)
	}
	until, after := uuid.MustParse(uuid7.First(use.Begin)), uuid.Nil
	for looked := 0; ; {
		blocks, err := s.store.RequestBlocks(ctx, key.Tenant, after, until, uuid.Nil, requestBlocks)
		if err != nil {
			return nil, err
		}
		for i := range blocks {
			after = blocks[i].Last
			n, err := use.add(key, blocks[i].Body)
			if err != nil {
				return nil, err
			}
			if looked += n; looked > maxUseRequests { // what follows is older, except what took long
				use.beginAt(requestlog.TimeOf(after).Truncate(time.Minute).Add(time.Minute))
				return use, nil
			}
		}
		if len(blocks) < requestBlocks {
			return use, nil
		}
	}
}

// add counts the requests of a key in a block, and returns how many the block has in all.
func (u *RequestUse) add(key *access.Key, block string) (all int, err error) {
	err = requestlog.Read(key.Tenant, block, func(e *requestlog.Entry) bool {
		all++
		if at := int(e.At().Sub(u.Begin) / time.Minute); e.KeyID == key.ID && e.Route != "" &&
			!e.At().Before(u.Begin) && at < len(u.Minutes) {
			u.Minutes[at][e.Route]++
		}
		return true
	})
	return all, err
}

// beginAt forgets the minutes before a time.
func (u *RequestUse) beginAt(begin time.Time) {
	gone := min(max(int(begin.Sub(u.Begin)/time.Minute), 0), len(u.Minutes)-1)
	u.Begin, u.Minutes = u.Begin.Add(time.Duration(gone)*time.Minute), u.Minutes[gone:]
}
