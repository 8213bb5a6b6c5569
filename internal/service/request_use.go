package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/store"
)

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
	end := s.now().UTC().Truncate(time.Minute).Add(time.Minute)
	use := &RequestUse{Begin: end.Add(-time.Duration(minutes) * time.Minute), Minutes: make([]map[string]int, minutes)}
	for i := range use.Minutes {
		use.Minutes[i] = make(map[string]int)
	}
	until, after := uuid.MustParse(store.FirstID(use.Begin)), uuid.Nil
	for looked := 0; ; {
		blocks, err := s.store.Lists(ctx).RequestBlocks(ctx, key.Tenant, after, until, uuid.Nil, requestBlocks)
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
