package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"

	"github.com/assayhq/assay/internal/testkit/crowd"
	"golang.org/x/sync/errgroup"
)

const (
	fewOrders  = 1_000
	manyOrders = 200_000
	details    = 1_000 // ids in a load

	seedVariable = "ASSAY_BENCH_SEED"
)

// seed is the role that fills a database, in a process of its own because of its memory.
func seed(ctx context.Context) error {
	var w crowd.Wish
	if err := json.Unmarshal([]byte(os.Getenv(seedVariable)), &w); err != nil {
		return err
	}
	return crowd.Fill(ctx, w)
}

// depth checks that lists cost the same at any depth, and details the same among few and many orders. The databases
// are seeded concurrently, then measured sequentially.
func depth(ctx context.Context, s *suite) (err error) {
	few, many := map[engine]*shop{}, map[engine]*shop{}
	defer func() {
		for _, shops := range []map[engine]*shop{few, many} {
			for _, shop := range shops {
				err = errors.Join(err, shop.close())
			}
		}
	}()
	var mu sync.Mutex
	var seeding errgroup.Group
	for _, e := range []engine{sqlite, postgres} {
		if !s.wanted(lastPageName(e)) && !s.wanted(manyDetailName(e)) {
			continue
		}
		for shops, orders := range map[*map[engine]*shop]int{&few: fewOrders, &many: manyOrders} {
			seeding.Go(func() error {
				shop, err := s.seeded(ctx, e, crowd.Wish{Completed: orders})
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				(*shops)[e] = shop
				return nil
			})
		}
	}
	if err := seeding.Wait(); err != nil {
		return err
	}
	for e, shop := range many {
		if err := s.compareDepth(ctx, e, few[e], shop); err != nil {
			return err
		}
	}
	return nil
}

func lastPageName(e engine) string   { return fmt.Sprintf("depth: last page of %d %s", manyOrders, e) }
func manyDetailName(e engine) string { return fmt.Sprintf("depth: detail of %d %s", manyOrders, e) }

func (s *suite) compareDepth(ctx context.Context, e engine, few, many *shop) error {
	if err := s.compare(ctx, lastPageName(e), "the first page", many.pages(manyOrders/pageLimit),
		many.pages(1)); err != nil {
		return err
	}
	manyDetails, err := many.details(ctx)
	if err != nil {
		return err
	}
	fewDetails, err := few.details(ctx)
	if err != nil {
		return err
	}
	return s.compare(ctx, manyDetailName(e), fmt.Sprintf("%d orders", fewOrders), manyDetails, fewDetails)
}

// shop is a running installation with orders.
type shop struct {
	*installation
	server *server
	orders int
}

func (s *suite) seeded(ctx context.Context, e engine, wishes ...crowd.Wish) (*shop, error) {
	i, err := s.install(ctx, e)
	if err != nil {
		return nil, err
	}
	orders := 0
	for _, w := range wishes {
		if err := i.seed(ctx, w); err != nil {
			return nil, errors.Join(err, i.remove())
		}
		orders += w.Completed + w.Queued
	}
	running, err := i.start(ctx)
	if err != nil {
		return nil, errors.Join(err, i.remove())
	}
	return &shop{i, running, orders}, nil
}

func (s *shop) close() error { return errors.Join(s.server.stop(), s.remove()) }

func (i *installation) seed(ctx context.Context, w crowd.Wish) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w.Target, w.AccountID, w.KeyID = i.target(), i.account.ID, i.key.ID
	wish, err := json.Marshal(w)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), roleVariable+"=seed", seedVariable+"="+string(wish))
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("seed: %w\n%s", err, output)
	}
	return nil
}

// pages returns a load of one page of the list.
func (s *shop) pages(page int) *target {
	path := fmt.Sprintf("%s/orders?page=%d&limit=%d", prefix, page, pageLimit)
	return newTarget(s.server, http.MethodGet, []string{path}, s.header(), nil, http.StatusOK)
}

// details returns a load of order details spread over the list.
func (s *shop) details(ctx context.Context) (*target, error) {
	const limit = 50
	var paths []string
	pages := s.orders / limit
	step := max(1, pages*limit/details)
	for page := 1; page <= pages; page += step {
		answer, err := exchange(ctx, http.MethodGet,
			"http://"+s.server.http+prefix+"/orders?limit="+strconv.Itoa(limit)+"&page="+strconv.Itoa(page),
			s.header(), nil, http.StatusOK)
		if err != nil {
			return nil, err
		}
		var list struct{ Data []struct{ ID string } }
		if err := json.Unmarshal(answer, &list); err != nil {
			return nil, err
		}
		for _, item := range list.Data {
			paths = append(paths, prefix+"/orders/"+item.ID)
		}
	}
	return newTarget(s.server, http.MethodGet, paths, s.header(), nil, http.StatusOK), nil
}
